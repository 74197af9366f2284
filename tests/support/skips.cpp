// On lavapipe 25.0, which has nearly everything that Tally counts, a test that is skipped fails
// if the drivers are required (TALLY_REQUIRE_DRIVERS=1): it would hide a feature that the layer
// has lost. The table below lists what this driver lacks itself. Programs link this file to have
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace tally::test {
namespace {

// Parts of the messages of tests that may be skipped there.
constexpr std::string_view kAllowed[] = {
    // Tests of features that this driver lacks or gets wrong.
    "no descriptor heaps",
    "no fragment shading rate",
    "no inherited queries",
    "no queues that synchronize themselves",
    "no replay of handles",
    "the device has one queue",
    "the driver reads behind its state",
    "the driver runs such a stage twice",
    "lavapipe makes one query available, not one a view",
    "this driver's pipelines are not allocated through them",
    // Tests that run in another way, or that only the validation layer can see.
    "a part of other tests",
    "runs in a process of its own",
    "is seen by the validation layer alone",
    "not with the validation layer below",
};

bool is_allowed(std::string_view message) {
  return std::ranges::any_of(kAllowed, [&](std::string_view text) {
    return message.find(text) != std::string_view::npos;
  });
}

class SkipCheck : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& info) override {
    const testing::TestResult& result = *info.result();
    for (int i = 0; i < result.total_part_count(); ++i) {
      const testing::TestPartResult& part = result.GetTestPartResult(i);
      if (part.skipped() && !is_allowed(part.summary()))
        ADD_FAILURE() << "skipped on a driver that should have it: " << part.summary();
    }
  }
};

bool equals(const char* variable, std::string_view value) {
  const char* const set = std::getenv(variable);
  return set != nullptr && set == value;
}

[[maybe_unused]] const bool kIsChecked = [] {
  const bool wanted =
      equals("TALLY_REQUIRE_DRIVERS", "1") && equals("TALLY_TEST_DRIVER", "lavapipe-new");
  if (wanted) testing::UnitTest::GetInstance()->listeners().Append(new SkipCheck);
  return wanted;
}();

}  // namespace
}  // namespace tally::test
