// Tests of snapshots and limits.
#include "analysis/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "store/testing/test_capture.h"

namespace tally::analysis {
namespace {

using testing::HasSubstr;

constexpr const char* kHead = "tally-snapshot 1\ndriver \"GPU; d 1\"\nframes 3\n";

std::string error_of(const std::string& text) {
  const auto parsed = parse_snapshot("f", text);
  return parsed ? "none" : parsed.error().message;
}

std::string limits_error(const std::string& text) {
  const auto parsed = parse_limits("f", text);
  return parsed ? "none" : parsed.error().message;
}

TEST(Snapshots, are_read_as_they_are_written) {
  Snapshot snapshot{"GPU; \"d\" 1\\2", "0.1.0", 3, {}};
  snapshot.counts[{"shader", "a \"b\" \\c # d", "instructions"}] =
      std::numeric_limits<uint64_t>::max();
  snapshot.counts[{"pass", "main 64x64", "draws"}] = 1;
  const std::string text = snapshot_text(snapshot);
  EXPECT_THAT(text, HasSubstr("frames 3\npass \"main 64x64\" draws 1\nshader \"a \\\"b\\\" "));
  const auto read = parse_snapshot("f", text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->counts, snapshot.counts);
  EXPECT_EQ(read->driver, snapshot.driver);
  EXPECT_EQ(read->frames, 3u);
  EXPECT_EQ(snapshot_text(*read), text);
}

TEST(Snapshots, that_are_wrong_are_refused_with_file_and_line) {
  const std::string head = kHead;
  EXPECT_EQ(error_of(head), "none");
  EXPECT_EQ(error_of(""), "f:1: empty; it begins with \"tally-snapshot 2\"");
  EXPECT_EQ(error_of("{}"), "f:1: not a file that begins with \"tally-snapshot 2\"");
  EXPECT_EQ(error_of("tally-snapshot 3\n"),
            "f:1: tally-snapshot of version 3; this tally reads version 2");
  EXPECT_EQ(error_of("tally-snapshot 1\nframes 3\n"), "f:1: has no driver");
  EXPECT_EQ(error_of(head + "frames 3\n"), "f:4: frames is already in line 3");
  EXPECT_EQ(error_of(head + "<<<<<<< mine\n"), "f:4: a marker of an unresolved merge");
  EXPECT_EQ(error_of(head + "\n=======\n"), "f:5: a marker of an unresolved merge");
  EXPECT_EQ(error_of(head + "pass a draws 1\npass \"a\" draws 2\n"),
            "f:5: the same count as in line 4");
  EXPECT_EQ(error_of(head + "function a draws 1\n"), "f:4: 'function' is neither pass nor shader");
  EXPECT_EQ(error_of(head + "line a\n"), "f:4: 'line' belongs to no shader");
  EXPECT_EQ(error_of(head + "code a 1f 1 2\nline a\n"), "f:5: 'line' belongs to no file");
  EXPECT_EQ(error_of(head + "code a g 1 2\n"), "f:4: 'g' is not a hash");
  EXPECT_EQ(error_of(head + "code a 1 1 2\nfile f\nline a 1\n"),
            "f:6: not \"line TEXT [EXECUTIONS INSTRUCTIONS CODE [ENTRIES ITERATIONS]]\"");
  EXPECT_EQ(error_of(head + "on \"GPU; d 1\"\n"), "f:1: has driver GPU; d 1 twice");
  EXPECT_EQ(error_of(head + "pass a draws\n"), "f:4: not \"pass NAME METRIC COUNT\"");
  EXPECT_EQ(error_of(head + "pass a \"d raws\" 1\n"), "f:4: 'd raws' is not the id of a metric");
  EXPECT_EQ(error_of(head + "pass a draws -1\n"), "f:4: '-1' is not a count");
  EXPECT_EQ(error_of(head + "pass a draws 18446744073709551616\n"),
            "f:4: '18446744073709551616' is not a count");
  EXPECT_EQ(error_of(head + "pass \"a draws 1\n"), "f:4: a quoted name has no end");
  EXPECT_EQ(error_of(head + "pass \"a\"draws 1\n"), "f:4: a space is missing after a quoted name");
  EXPECT_THAT(error_of(head + "pass a\x01 draws 1\n"), HasSubstr("f:4: control characters"));
  EXPECT_THAT(error_of(head + "pass a\xff draws 1\n"), HasSubstr("f:4: control characters"));
}

TEST(Limits, that_are_wrong_are_refused_with_file_and_line) {
  const std::string head = "# of the scene\ntally-limits 1\n";
  EXPECT_EQ(limits_error(head + "pass * draws exact # as it is\n"), "none");
  EXPECT_EQ(limits_error(head + "pass * draws\n"), "f:3: not \"KIND NAME METRIC LIMIT\"");
  EXPECT_EQ(limits_error(head + "draw * draws exact\n"),
            "f:3: 'draw' is not pass, shader, function, line, executable or time");
  EXPECT_EQ(limits_error(head + "pass * draws +1\n"),
            "f:3: '+1' is not exact, +N%, ratchet, ignore or <=N");
  EXPECT_EQ(limits_error(head + "pass * draws +1.23456%\n"),
            "f:3: '+1.23456%' is not a percentage of up to 4 decimals");
  EXPECT_EQ(limits_error(head + "pass * draws +x%\n"),
            "f:3: '+x%' is not a percentage of up to 4 decimals");
  EXPECT_EQ(limits_error(head + "pass * draws <=many\n"), "f:3: 'many' is not a count");
  EXPECT_EQ(limits_error(head + "line a.frag:3 executions +1%\n"),
            "f:3: 'line' can only have a limit <=N: snapshots do not hold it");
  EXPECT_EQ(limits_error(head + "time a GPU <=2.5ms\ntime b * <=1s\n"), "none");
  EXPECT_EQ(limits_error(head + "time a GPU exact\n"),
            "f:3: 'time' can only have a limit <=N: snapshots do not hold it");
  for (const char* const wrong : {"5", ".5ms", "5.ms", "0.1ns", "-1ms", "1.2.3s", "9999999999999s"})
    EXPECT_EQ(limits_error(head + "time a GPU <=" + wrong + "\n"),
              std::string("f:3: '") + wrong + "' is not a time like 2.5ms (ns, us, ms or s)");
  EXPECT_EQ(limits_error(head + "pass * * ignore\npass * * +1%\n"),
            "f:4: the same rule as in line 3");
}

Limit limit(const std::string& text) {
  const auto limits = parse_limits("f", "tally-limits 1\npass a draws " + text + "\n");
  EXPECT_TRUE(limits.ok()) << limits.error().message;
  return limits->rules.front();
}

TEST(Limits, allow_exactly_what_they_say) {
  EXPECT_TRUE(allows(limit("exact"), 5, 5));
  EXPECT_FALSE(allows(limit("exact"), 5, 4));
  EXPECT_TRUE(allows(limit("+1%"), 1000, 1010));
  EXPECT_FALSE(allows(limit("+1%"), 1000, 1011));
  EXPECT_TRUE(allows(limit("+1%"), 1000, 0));
  EXPECT_FALSE(allows(limit("+1%"), 0, 1));
  EXPECT_TRUE(allows(limit("+0.0001%"), 1'000'000, 1'000'001));
  EXPECT_FALSE(allows(limit("+0.0001%"), 999'999, 1'000'000));
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  EXPECT_TRUE(allows(limit("+1%"), kMax - 1, kMax));
  EXPECT_TRUE(allows(limit("ratchet"), 5, 4));
  EXPECT_FALSE(allows(limit("ratchet"), 5, 6));
  EXPECT_TRUE(allows(limit("<=7"), 0, 7));
  EXPECT_FALSE(allows(limit("<=7"), 9, 8));
  EXPECT_TRUE(allows(limit("ignore"), 1, 2));
}

class Check : public testing::Test {
 protected:
  Check() {
    profile_.metrics = {{.id = "draws", .title = "draws", .description = {}},
                        {.id = "instructions", .title = "instructions", .description = {}}};
    set("main 64x64", 2, 100);
    set("bloom 64x64", 3, 50);
    snapshot_ = make_snapshot(profile_, "0.1.0");
  }

  void set(const std::string& name, uint64_t draws, uint64_t instructions) {
    const auto known = std::ranges::find(profile_.passes, name, &Item::name);
    Item& item = known == profile_.passes.end() ? profile_.passes.emplace_back() : *known;
    item.name = name;
    item.values = {draws, instructions};
  }

  Result<CheckResult> result(const std::string& rules = {}) const {
    const auto limits = TALLY_TRY(parse_limits("f", "tally-limits 1\n" + rules));
    return check(snapshot_, limits, profile_, capped_, "0.1.0");
  }

  // "main 64x64 draws 2>3 exact; ..."
  std::string findings(const std::string& rules = {}) const {
    const auto checked = result(rules);
    if (!checked) return checked.error().message;
    std::string text;
    for (const Finding& f : checked->findings)
      text += f.key.name + " " + f.key.metric + " " + std::to_string(f.before) + ">" +
              std::to_string(f.after) + " " + f.limit.text + "; ";
    return text;
  }

  Profile profile_;
  Snapshot snapshot_;
  CappedCounts capped_;
};

TEST_F(Check, finds_any_other_count_by_default) {
  EXPECT_EQ(findings(), "");
  set("main 64x64", 1, 101);
  EXPECT_EQ(findings(), "main 64x64 draws 2>1 exact; main 64x64 instructions 100>101 exact; ");
}

TEST_F(Check, finds_what_is_new_and_what_is_gone) {
  set("shadow 64x64", 1, 0);
  std::erase_if(profile_.passes, [](const Item& item) { return item.name == "bloom 64x64"; });
  EXPECT_EQ(findings(),
            "bloom 64x64 draws 3>0 exact; bloom 64x64 instructions 50>0 exact; "
            "shadow 64x64 draws 0>1 exact; ");
}

// A shader of the profile, whose main() has one line.
void add_shader(Profile& profile, const std::string& hash, const std::string& text,
                uint64_t instructions) {
  ShaderItem shader;
  shader.name = "a.frag";
  shader.place = shader.stage = "fragment";
  shader.identity.hash = hash;
  shader.values = {0, instructions};
  shader.commands_of_passes[0] = 2;
  shader.files = {{"shaders/a.frag", {"void main() {", "  // a comment", "  " + text, "}"}}};
  LineItem line{.file = 0, .line = 3, .values = {0, instructions}};
  line.instructions = instructions / 10;
  shader.lines = {line};
  profile.shaders = {shader};
}

TEST_F(Check, names_the_edited_line_that_the_snapshot_had) {
  add_shader(profile_, "1", "color = f(0.6);", 100);
  snapshot_ = make_snapshot(profile_, "0.1.0");
  EXPECT_THAT(snapshot_text(snapshot_), HasSubstr("line \"color = f(0.6);\" 0 100 10\n"));
  const auto read = parse_snapshot("f", snapshot_text(snapshot_));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(snapshot_text(*read), snapshot_text(snapshot_));
  snapshot_ = *read;
  add_shader(profile_, "2", "color = f(0.4);", 120);
  const auto checked = result();
  ASSERT_TRUE(checked.ok());
  ASSERT_EQ(checked->causes.list.size(), 1u);
  EXPECT_EQ(cause_text(checked->causes, checked->causes.list[0]),
            "a.frag:3 was edited (f(0.6) -> f(0.4)); instructions +20.0 %");
  EXPECT_FALSE(checked->same_program);
}

DeviceSummary device(const std::string& name) {
  DeviceSummary device;
  device.name = name;
  return device;
}

TEST_F(Check, says_that_the_driver_changed_counts_of_the_same_program) {
  add_shader(profile_, "1", "color = f(0.6);", 100);
  profile_.summary.devices = {device("old")};
  snapshot_ = make_snapshot(profile_, "0.1.0");
  profile_.summary.devices = {device("new")};
  set("main 64x64", 2, 130);
  auto checked = result();
  ASSERT_TRUE(checked.ok());
  EXPECT_TRUE(checked->by_driver);
  EXPECT_EQ(findings(), "main 64x64 instructions 100>130 exact; ");

  snapshot_ = checked->updated;
  EXPECT_THAT(snapshot_text(snapshot_),
              testing::EndsWith("on \"new; \"\npass \"main 64x64\" instructions 130\n"));
  EXPECT_EQ(findings(), "") << "the snapshot knows the driver";
  profile_.summary.devices = {device("old")};
  EXPECT_EQ(findings(), "main 64x64 instructions 100>130 exact; ")
      << "the first driver's counts are as they were";

  add_shader(profile_, "2", "color = f(0.6);", 100);
  checked = result();
  ASSERT_TRUE(checked.ok());
  EXPECT_TRUE(checked->updated.others.empty()) << "of a program that is no more";
}

TEST_F(Check, another_program_on_another_driver_is_not_blamed_on_the_driver) {
  add_shader(profile_, "1", "color = f(0.6);", 100);
  profile_.summary.devices = {device("old")};
  snapshot_ = make_snapshot(profile_, "0.1.0");
  profile_.summary.devices = {device("new")};
  add_shader(profile_, "2", "color = f(0.4);", 120);
  const auto checked = result();
  ASSERT_TRUE(checked.ok());
  EXPECT_FALSE(checked->by_driver);
}

TEST_F(Check, takes_the_last_rule_that_matches_and_every_cap) {
  set("main 64x64", 2, 104);
  EXPECT_EQ(findings("pass * * exact\npass main* instructions +4%\n"), "");
  EXPECT_EQ(findings("pass main* instructions +4%\npass * * exact\n"),
            "main 64x64 instructions 100>104 exact; ");
  EXPECT_EQ(findings("pass main* * ignore\npass * instructions <=103\n"),
            "main 64x64 instructions 100>104 <=103; ");
}

TEST_F(Check, refuses_a_limit_that_matches_nothing) {
  EXPECT_EQ(findings("\npass moan* draws exact\n"), "f:3: no count matches this limit");
  EXPECT_EQ(findings("line a.frag:3 executions <=5\n"), "f:2: no count matches this limit");
}

TEST_F(Check, update_takes_new_counts_but_never_raises_a_ratchet) {
  set("main 64x64", 1, 200);
  set("bloom 64x64", 4, 60);
  const auto checked = result("pass main* * ratchet\npass bloom* draws ignore\n");
  ASSERT_TRUE(checked.ok());
  const Counts expected = {{{"pass", "bloom 64x64", "instructions"}, 60},
                           {{"pass", "main 64x64", "draws"}, 1},
                           {{"pass", "main 64x64", "instructions"}, 100}};
  EXPECT_EQ(checked->updated.counts, expected);
  ASSERT_EQ(checked->remaining().size(), 1u);
  EXPECT_EQ(checked->remaining()[0].key.metric, "instructions");
}

TEST_F(Check, limits_of_lines_and_functions_name_their_place) {
  ShaderItem shader;
  shader.name = "a.frag";
  shader.place = shader.stage = "fragment";
  shader.values = {0, 900};
  shader.files = {{"shaders/a.frag", {}}};
  shader.functions = {{"shade", "shaders/a.frag", 7, {0, 500}}};
  shader.lines = {{0, 8, 0, {0, 400}}};
  profile_.shaders.push_back(shader);
  const auto checked = result(
      "shader * * ignore\nfunction a.frag:shade instructions <=400\nline a.frag:8 * <=400\n");
  ASSERT_TRUE(checked.ok()) << checked.error().message;
  ASSERT_EQ(checked->findings.size(), 1u);
  EXPECT_EQ(checked->findings[0].file, "shaders/a.frag");
  EXPECT_EQ(checked->findings[0].line, 7u);
}

TEST_F(Check, statistics_of_the_drivers_compiler_have_limits) {
  const store::TestDirectory directory;
  const std::string path = directory.file("blur.tally");
  store::write_test_capture(path);
  ASSERT_TRUE(add_statistics(*store::Reader::open(path), capped_).ok());
  const Counts expected = {{{"executable", "blur fragment", "registers"}, 40},
                           {{"executable", "blur fragment", "occupancy"}, 1}};
  EXPECT_EQ(capped_.counts, expected) << "0.75, rounded up";
  EXPECT_EQ(findings("executable blur* registers <=40\n"), "");
  EXPECT_EQ(findings("executable \"blur fragment\" registers <=39\n"),
            "blur fragment registers 0>40 <=39; ");
  EXPECT_EQ(findings("executable blur* spills <=0\n"), "f:2: no count matches this limit");
}

// A device whose passes take 1 us of fixed cost, and whose dispatches nobody has measured.
Prediction prediction_of(const std::string& pass, const std::string& dispatch) {
  DeviceModel device{.name = "GPU"};
  device.pass.value = 1e-6;
  ProgramErrors errors{.programs = 9, .works = 9, .low = -0.1, .high = 0.1, .spearman = 1};
  errors.max_modelled = 1;
  errors.bounds = {"fixed cost"};
  device.errors[static_cast<size_t>(WorkKind::Pass)] = errors;
  Prediction prediction{std::make_shared<const DeviceModel>(device)};
  for (const auto& [name, kind] :
       {std::pair(pass, WorkKind::Pass), std::pair(dispatch, WorkKind::Dispatch)}) {
    CapturedWork& work = prediction.works.works.emplace_back();
    work.name = name;
    work.work.kind = kind;
    work.work.invocations = 1;
    prediction.times.push_back(device.time_of(work.work));
  }
  return prediction;
}

TEST_F(Check, a_predicted_time_fails_only_where_its_whole_interval_is_beyond_the_limit) {
  add_times(prediction_of("main 64x64", "blur"), capped_);
  const uint64_t low = capped_.counts.at({"time", "main 64x64", "GPU"});
  EXPECT_EQ(low, 905u) << "1 us / e^0.1";
  EXPECT_EQ(findings("time main* GPU <=0.905us\n"), "");
  EXPECT_EQ(findings("time main* G* <=904ns\n"), "main 64x64 GPU 0>905 <=904ns; ");
}

TEST_F(Check, refuses_a_limit_of_a_time_that_is_not_predicted) {
  EXPECT_EQ(findings("time main* GPU <=1ms\n"),
            "f:2: no predicted time matches this limit: --device names the device file");
  add_times(prediction_of("main 64x64", "blur"), capped_);
  EXPECT_EQ(findings("time blur GPU <=1ms\n"),
            "f:2: blur has no predicted time on GPU: order only");
  EXPECT_EQ(findings("time main* Other <=1ms\n"),
            "f:2: no predicted time matches this limit: --device names the device file");
}

}  // namespace
}  // namespace tally::analysis
