#include "analysis/findings/findings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/model/model.h"
#include "analysis/testing/test_scene.h"
#include "store/testing/test_capture.h"

namespace tally::analysis {
namespace {

using store::RowId;
using testing::HasSubstr;

class FindingsTest : public testing::Test {
 protected:
  // A shader whose branch always goes the same way; `uncounted` more dispatches run it uncounted.
  Findings find(int uncounted) {
    const std::string file = directory_.file(fmt::format("{}.tally", uncounted));
    TestScene scene(file);
    const RowId shader = scene.add_shader("aa", "scene.comp");
    const RowId pipeline = scene.add_pipeline("p1", "one", shader),
                other = scene.add_uncounted_pipeline("p2", shader, "no memory");
    scene.begin_frame(0);
    scene.dispatch(pipeline, {}, {}, {5000, 5000, 0, 5000});
    for (int i = 0; i < uncounted; ++i) scene.dispatch_uncounted(other);
    scene.finish();
    auto model = load_model(std::move(*store::Reader::open(file)), {});
    EXPECT_TRUE(model.ok());
    ShaderCodes codes(*model);
    ShaderSources sources(*model, codes);
    auto findings = find_findings(*model, codes, sources, Variants(*model, codes), {});
    EXPECT_TRUE(findings.ok());
    return std::move(*findings);
  }

  static const CostFinding& of(const Findings& findings, std::string_view rule) {
    const auto found = std::ranges::find(
        findings.list, rule, [](const CostFinding& finding) { return finding.rule->id; });
    EXPECT_NE(found, findings.list.end()) << rule;
    return *found;
  }

  store::TestDirectory directory_;
};

TEST_F(FindingsTest, have_a_share_of_work_that_was_counted_completely) {
  const Findings findings = find(0);
  EXPECT_EQ(findings.no_share_because, "");
  EXPECT_EQ(of(findings, "small-workgroup").share, 1);
  EXPECT_THAT(of(findings, "one-way-branch").text, HasSubstr("1 branch of scene.comp always"));
}

TEST_F(FindingsTest, have_no_share_where_a_part_ran_uncounted_and_say_what_was_counted) {
  const Findings findings = find(2);
  EXPECT_EQ(findings.no_share_because, "2 of 3 commands ran a shader that was not counted");
  ASSERT_FALSE(findings.list.empty());
  for (const CostFinding& finding : findings.list) EXPECT_EQ(finding.share, 0) << finding.text;
  EXPECT_THAT(of(findings, "one-way-branch").text,
              HasSubstr("1 branch of scene.comp (counted in 1 of 3 commands) always"));
}

}  // namespace
}  // namespace tally::analysis
