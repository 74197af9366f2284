#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxNumbers = 10'000;

// Creates the file unless it exists, so that processes never share a name. Returns whether
// it was created.
Result<bool> take(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0 && errno != EEXIST) return Error{path + ": " + std::strerror(errno)};
  if (file >= 0) ::close(file);
  return file >= 0;
}

}  // namespace

Result<std::string> choose_output(const std::string& asked, const std::string& application,
                                  bool force) {
  std::string stem = fs::path(application).filename().string();
  if (stem.empty()) stem = "capture";
  const std::string plain = asked.empty() ? stem + ".tally" : asked;
  if (force) return plain;
  const auto taken = take(plain);
  if (!taken) return taken.error();
  if (*taken) return plain;
  if (!asked.empty()) {
    return Error{
        fmt::format("{} exists; choose another name with -o, or replace it with --force", asked)};
  }
  for (int number = 2; number < kMaxNumbers; ++number) {
    std::string numbered = fmt::format("{}-{}.tally", stem, number);
    const auto made = take(numbered);
    if (!made) return made.error();
    if (*made) return numbered;
  }
  return Error{
      fmt::format("{}.tally and its numbered names all exist; choose a name with -o", stem)};
}

}  // namespace tally::cli
