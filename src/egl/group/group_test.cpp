#include "egl/group/group.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <future>
#include <string>
#include <thread>

#include "egl/gl/gpu_queries.h"
#include "egl/gl/hot.h"
#include "egl/group/group_list.h"
#include "egl/group/process_group.h"
#include "platform/files.h"

namespace tally::egl {
namespace {

TEST(Groups, the_api_group_lists_the_catalogues_counters_in_the_order_of_their_counts) {
  const ApiGroup group;
  ASSERT_EQ(group.counters().size(), kApiCounterCount);
  const auto info = [&](ApiCounter counter) {
    return group.counters()[static_cast<size_t>(counter)];
  };
  EXPECT_EQ(info(ApiCounter::DrawCalls).name, "Draw calls");
  EXPECT_EQ(info(ApiCounter::DrawCalls).unit, "calls");
  EXPECT_EQ(info(ApiCounter::DrawCalls).denominator, 1u);
  EXPECT_EQ(info(ApiCounter::TextureBytes).unit, "bytes");
  EXPECT_EQ(info(ApiCounter::Errors).name, "GL errors");
  EXPECT_EQ(info(ApiCounter::Flushes).name, "Flushes");
}

TEST(Groups, times_are_listed_in_microseconds_and_memory_in_kilobytes) {
  const FrameGroup frame;
  EXPECT_EQ(frame.counters()[2].name, "Time in frames");
  EXPECT_EQ(frame.counters()[2].unit, "us");
  EXPECT_EQ(frame.counters()[2].denominator, 1000u);
  EXPECT_EQ(frame.counters()[4].kind, CounterInfo::Kind::Extreme);
  const ProcessGroup process;
  EXPECT_EQ(process.counters()[4].name, "Resident memory");
  EXPECT_EQ(process.counters()[4].unit, "KB");
  EXPECT_EQ(process.counters()[4].denominator, 1024u);
  EXPECT_EQ(process.counters()[4].kind, CounterInfo::Kind::Level);
  EXPECT_EQ(process.counters()[5].unit, "threads");
  EXPECT_EQ(process.counters()[5].minimum, 1u);
}

TEST(Groups, the_process_has_a_thread_and_memory) {
  ProcessGroup process;
  std::promise<void> end;
  const std::shared_future<void> ended(end.get_future());
  const auto wait = [=] { ended.wait(); };
  std::thread first(wait);  // with it, a sanitizer starts one of its own
  const auto before = process.read();
  EXPECT_GE(before[4], 1u << 20);
  EXPECT_LT(before[4], uint64_t{1} << 40);
  std::thread second(wait);
  EXPECT_EQ(process.read()[5], before[5] + 1);
  end.set_value();
  first.join();
  second.join();
}

TEST(ProcessFiles, stay_open_until_the_application_closes_them_or_forks) {
  ProcessFile file("/proc/self/stat");
  std::array<char, 1024> memory{};
  const auto process = [&] {
    const std::string_view text = file.read(memory);
    return std::string(text.substr(0, text.find(' ')));
  };
  const std::string own = std::to_string(getpid());
  const int expected = KeptFd(::dup(STDERR_FILENO)).get();  // the next free number
  EXPECT_EQ(process(), own);
  EXPECT_EQ(process(), own);
  const int zero = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  EXPECT_GE(::fcntl(expected, F_GETFD), 0) << "the file did not stay open";
  EXPECT_EQ(::dup2(zero, expected), expected);
  ::close(zero);
  EXPECT_EQ(process(), own) << "opened again";
  EXPECT_EQ(::lseek(expected, 0, SEEK_CUR), 0) << "a file of the application stays open";
  ::close(expected);
  const pid_t child = ::fork();
  if (child == 0) _exit(process() == std::to_string(getpid()) ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "a child process reads its own";
}

TEST(Groups, the_gpu_group_lists_the_kinds_that_a_context_has) {
  GpuGroup group;
  group.add_kinds(bit_of(QueryKind::ClippingOutput) | bit_of(QueryKind::GpuTime));
  ASSERT_EQ(group.counters().size(), 2u);
  EXPECT_EQ(group.counters()[0].name, "GPU time");
  EXPECT_EQ(group.counters()[0].unit, "us");
  EXPECT_EQ(group.counters()[1].name, "Primitives left by clipping");
  EXPECT_EQ(group.counters()[1].unit, "primitives");
}

}  // namespace
}  // namespace tally::egl
