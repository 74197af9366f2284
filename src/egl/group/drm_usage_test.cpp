#include "egl/group/process_group.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace tally::egl {
namespace {

namespace fs = std::filesystem;
using Sums = std::map<std::string, uint64_t>;

// A folder like /proc/<pid>: links in fd, text files in fdinfo.
class DrmUsageOf : public testing::Test {
 protected:
  DrmUsageOf() {
    char folder[] = "/tmp/tally-proc-XXXXXX";
    folder_ = mkdtemp(folder);
    fs::create_directory(folder_ / "fd");
    fs::create_directory(folder_ / "fdinfo");
  }
  ~DrmUsageOf() override { fs::remove_all(folder_); }

  void descriptor(const std::string& number, const std::string& opened, const std::string& info) {
    fs::create_symlink(opened, folder_ / "fd" / number);
    std::ofstream(folder_ / "fdinfo" / number) << info;
  }
  DrmUsage read() { return read_drm_usage(folder_); }

  fs::path folder_;
};

// In the formats of i915, amdgpu and xe.
const char* const kIntel =
    "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t531\ndrm-driver:\ti915\ndrm-client-id:\t7\n"
    "drm-pdev:\t0000:00:02.0\ndrm-total-system0:\t100 KiB\ndrm-resident-system0:\t80 KiB\n"
    "drm-engine-render:\t25662044495 ns\ndrm-engine-video:\t5 ns\ndrm-engine-capacity-video:\t2\n";
const char* const kAmd =
    "drm-driver:\tamdgpu\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t4 MiB\n"
    "drm-resident-vram:\t4096 KiB\ndrm-memory-gtt: \t2048 KiB\ndrm-engine-gfx:\t1000 ns\n";

TEST_F(DrmUsageOf, engines_and_memory_are_summed_over_devices) {
  descriptor("3", "/dev/dri/renderD128", kIntel);
  descriptor("4", "/dev/dri/card1", kAmd);
  const DrmUsage usage = read();
  EXPECT_EQ(usage.engine_ns, (Sums{{"gfx", 1000}, {"render", 25662044495}, {"video", 5}}));
  EXPECT_EQ(usage.memory_bytes, (Sums{{"gtt", 2 << 20}, {"system0", 80 << 10}, {"vram", 4 << 20}}));
}

TEST_F(DrmUsageOf, a_client_counts_once_however_many_descriptors_share_it) {
  descriptor("3", "/dev/dri/renderD128", kAmd);
  descriptor("9", "/dev/dri/renderD128", kAmd);
  EXPECT_EQ(read().engine_ns, (Sums{{"gfx", 1000}}));
}

TEST_F(DrmUsageOf, the_same_client_number_on_another_device_is_another_client) {
  std::string other = kAmd;
  other.replace(other.find("03:00.0"), 7, "04:00.0");
  descriptor("3", "/dev/dri/renderD128", kAmd);
  descriptor("4", "/dev/dri/renderD129", other);
  EXPECT_EQ(read().engine_ns, (Sums{{"gfx", 2000}}));
}

TEST_F(DrmUsageOf, other_descriptors_are_not_read) {
  descriptor("0", "/dev/null", kIntel);
  descriptor("1", "socket:[42]", kIntel);
  EXPECT_TRUE(read().engine_ns.empty());
}

TEST_F(DrmUsageOf, text_that_is_no_usage_gives_nothing) {
  descriptor("3", "/dev/dri/card0", "drm-driver:\tast\npos:\t0\n");
  descriptor("4", "/dev/dri/card1",
             "drm-client-id:\t1\ndrm-engine-x:\nnonsense\ndrm-engine-y: many ns\ndrm-engine-");
  const DrmUsage usage = read();
  EXPECT_TRUE(usage.engine_ns.empty());
  EXPECT_TRUE(usage.memory_bytes.empty());
}

TEST(DrmUsageOfNothing, a_folder_that_is_not_there_gives_nothing) {
  EXPECT_TRUE(read_drm_usage("/nowhere").engine_ns.empty());
}

}  // namespace
}  // namespace tally::egl
