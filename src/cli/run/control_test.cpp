// How commands find a run, among addresses that others have bound.
#include "cli/run/control.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "cli/testing/test_folder.h"

namespace tally::cli {
namespace {

constexpr uid_t kNobody = 65534;

UniqueFd bound_socket(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0;
  return bound ? std::move(socket) : UniqueFd();
}

std::vector<std::string> addresses_of(pid_t run) {
  std::vector<std::string> found;
  std::ifstream list("/proc/net/unix");
  const std::string prefix = fmt::format("tally-run/{}/pid/{}", ::geteuid(), run);
  for (std::string line; std::getline(list, line);) {
    const size_t at = line.find(prefix);
    if (at != std::string::npos) found.push_back(line.substr(at));
  }
  return found;
}

using Control = Folder;

TEST_F(Control, the_addresses_of_a_run_cannot_be_guessed) {
  const std::string file = write("a.tally", "capture");
  std::set<std::string> names;
  for (int run = 0; run < 2; ++run) {
    const auto server = ControlServer::start(file, [](const std::string&) { return "yes"; });
    ASSERT_TRUE(server.ok()) << server.error().message;
    const auto addresses = addresses_of(::getpid());
    ASSERT_EQ(addresses.size(), 1u);
    EXPECT_TRUE(names.insert(addresses.front()).second) << "the same process and file again";
  }
}

// Some do not listen, some let nobody connect, some accept and never answer.
TEST_F(Control, addresses_of_another_user_are_passed_over) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const std::string file = write("a.tally", "capture");
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  const std::vector<std::string> prefixes = {
      fmt::format("tally-run/0/pid/{}/", ::getpid()),
      fmt::format("tally-run/0/file/{}:{}/", info.st_dev, info.st_ino)};
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    bool done = ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
    std::vector<UniqueFd> sockets;
    for (const std::string& prefix : prefixes) {
      for (const char* decoy : {"", "0", "1", "ffffffffffffffffffffffffffffffff"}) {
        sockets.push_back(bound_socket(prefix + decoy));
        if (*decoy != '0') done = done && ::listen(sockets.back().get(), 0) == 0;
      }
    }
    if (::write(ready[1], done ? "+" : "-", 1) != 1) ::_exit(1);
    ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, '+');
  {
    const auto server =
        ControlServer::start(file, [](const std::string& request) { return "did " + request; });
    ASSERT_TRUE(server.ok()) << server.error().message;
    for (const std::string& target : {std::to_string(::getpid()), file}) {
      const auto asked = ask_run(target, "frames");
      ASSERT_TRUE(asked.ok()) << asked.error().message;
      EXPECT_EQ(*asked, "did frames");
    }
  }
  for (const std::string& target : {std::to_string(::getpid()), file})
    EXPECT_FALSE(ask_run(target, "frames").ok()) << "nothing but the other user's";
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace tally::cli
