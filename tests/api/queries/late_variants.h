// Shared by the tests of variants that are made late: draws of one triangle over the whole target,
// whose fragment shader is orange.frag, on the test driver.
#pragma once

#include <functional>
#include <string>

#include "api/queries/scenes.h"
#include "orange.frag.h"
#include "support/environment.h"
#include "support/instrumentation.h"

namespace tally::test {

class LateVariantsTest : public QueryTypes {
 protected:
  static constexpr uint64_t kPixels = 64 * 64;
  using Draw = std::function<void(VkCommandBuffer)>;

  void TearDown() override { unset_variable("TALLY_TEST_REFUSE_INSTRUMENTED"); }

  void draw_uncounted(const Draw& draw_all) {
    const RenderTarget target(context());
    context().run([&](VkCommandBuffer commands) {
      target.begin(commands);
      draw_all(commands);
      target.end(commands);
    });
    EXPECT_EQ(target.read().at(0) & 0xff0000ff, 0xff0000ff);
  }
  uint64_t fragments_of(const Draw& draw_all) { return drawn(draw_all).at(kFragmentInvocations); }
  uint64_t instrumented_fragments(const Draw& draw_all) {
    const RenderTarget target(context());
    const Instrumentation instrumentation(context());
    instrumentation.run([&](VkCommandBuffer commands) {
      target.begin(commands);
      draw_all(commands);
      target.end(commands);
    });
    return Counts(instrumentation, kFragment, orange_frag).invocations();
  }
  size_t notices(const std::string& text) {
    const std::vector<Message> messages = context().messages();
    return static_cast<size_t>(std::ranges::count_if(messages, [&](const Message& message) {
      return message.text.find(text) != std::string::npos;
    }));
  }
};

}  // namespace tally::test
