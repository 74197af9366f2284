// The messages and exit statuses of report, list and doctor, for all kinds of wrong input.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "program.h"
#include "report/html/page.h"
#include "report/table/display_text.h"
#include "store/format/sqlite.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

using testing::HasSubstr;

class Commands : public testing::Test {
 protected:
  platform::CapturedRun tally(const std::vector<std::string>& arguments,
                              const std::vector<std::string>& variables = {}) {
    return run_tally(folder_.path(), arguments, variables);
  }

  void expect_refused(const std::vector<std::string>& arguments, const std::string& because,
                      int status = 2) {
    test::expect_refused(tally(arguments), because, status);
  }

  // The same with status 1: there is nothing to show.
  void expect_nothing(const std::vector<std::string>& arguments, const std::string& because) {
    expect_refused(arguments, because, 1);
  }

  void change(const std::string& file, const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.file(file).c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  void damage_table(const std::string& file, const std::string& table) {
    int64_t page = 0, bytes = 0;
    {
      const auto database = store::Database::open(folder_.file(file), store::Database::Mode::Read);
      ASSERT_TRUE(database.ok());
      page = *database->integer("SELECT rootpage FROM sqlite_schema WHERE name = '" + table + "'");
      bytes = *database->integer("PRAGMA page_size");
    }
    std::fstream damaged(folder_.file(file), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp((page - 1) * bytes);
    damaged << std::string(static_cast<size_t>(bytes), '\xAA');
  }

  store::TestDirectory folder_;
};

TEST_F(Commands, version_is_the_projects) {
  const auto run = tally({"--version"});
  EXPECT_EQ(run.end.shell_status(), 0);
  EXPECT_THAT(run.standard_output, testing::StartsWith("tally " TALLY_VERSION "\nbuild: "));
  EXPECT_THAT(run.standard_output, HasSubstr("\nSPIR-V 1."));
  EXPECT_THAT(run.standard_output, HasSubstr("\nVulkan registry 1."));
}

TEST_F(Commands, help_names_every_command) {
  const auto run = tally({"--help"});
  EXPECT_EQ(run.end.shell_status(), 0);
  for (const char* command : {"run", "report", "coverage", "list", "doctor"})
    EXPECT_THAT(run.standard_output, HasSubstr(command));
}

TEST_F(Commands, no_command_and_help_list_the_commands_with_a_line_each) {
  const auto run = tally({}, {"COLUMNS=100"});
  EXPECT_EQ(run.end.shell_status(), 0);
  EXPECT_THAT(run.standard_output,
              HasSubstr("\n  report                      Show a capture as tables, "));
  EXPECT_EQ(tally({"help"}, {"COLUMNS=100"}).standard_output, run.standard_output);
  EXPECT_EQ(tally({"help", "report"}).standard_output, tally({"report", "--help"}).standard_output);
  EXPECT_EQ(tally({"version"}).standard_output, tally({"--version"}).standard_output);
  expect_refused({"help", "frobnicate"}, "unknown command or option 'frobnicate'");
}

TEST_F(Commands, a_slip_in_a_name_is_answered_with_the_name_that_was_meant) {
  store::write_test_capture(folder_.file("a.tally"));
  expect_refused({"reprot"}, "'reprot'; did you mean report? (see tally --help)");
  expect_refused({"help", "reprot"}, "did you mean report?");
  expect_refused({"report", "--hetmap", "x.png"}, "(did you mean --heatmap?)");
  expect_refused({"run", "--regoins", "--", "app"}, "(did you mean --regions?)");
  expect_refused({"report", "a.tally", "--by", "draw", "--sort", "executoins"},
                 "there is no column 'executoins'; did you mean executions? The columns are ");
  expect_refused({"diff", "a.tally", "a.tally", "--sort", "executoins"},
                 "did you mean executions?");
}

TEST_F(Commands, a_heading_names_its_column_and_the_column_to_sort_by_is_shown) {
  store::write_test_capture(folder_.file("a.tally"));
  const auto by_id = tally({"report", "a.tally", "--by", "draw", "--sort", "gpu_time"});
  EXPECT_EQ(by_id.end.shell_status(), 0) << by_id.standard_error;
  const auto by_heading = tally({"report", "a.tally", "--by", "draw", "--sort", "GPU time"});
  EXPECT_EQ(by_heading.standard_output, by_id.standard_output) << by_heading.standard_error;
  const auto narrow =
      tally({"report", "a.tally", "--by", "draw", "--sort", "GPU time"}, {"COLUMNS=60"});
  EXPECT_THAT(narrow.standard_output, HasSubstr("GPU time"));
}

TEST_F(Commands, help_fits_the_width_of_the_terminal) {
  for (const size_t width : {70, 80, 100}) {
    for (const char* command : {"run", "report", "check", "export"}) {
      const auto run = tally({command, "--help"}, {fmt::format("COLUMNS={}", width)});
      std::istringstream lines(run.standard_output);
      size_t longest = 0;
      for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
      EXPECT_LE(longest, width) << command;
      EXPECT_GT(longest, width * 3 / 4) << command;
    }
  }
}

TEST_F(Commands, unknown_commands_and_options_are_refused) {
  expect_refused({"--", "app"}, "name a command first");
  expect_refused({"frobnicate"}, "frobnicate");
  expect_refused({"report", "--bogus", "x.tally"}, "--bogus");
  expect_refused({"report", "x.tally", "--by", "colour"}, "colour");
  expect_refused({"report", "x.tally", "--format", "xml"}, "xml");
  expect_refused({"list", "--bogus"}, "--bogus");
  expect_refused({"doctor", "extra"}, "extra");
}

TEST_F(Commands, files_that_are_no_capture_are_refused) {
  expect_refused({"report", "missing.tally"}, "missing.tally: No such file or directory");
  std::ofstream(folder_.file("text.tally"))
      << "Not a capture, but long enough to have been one, one might have thought.";
  expect_refused({"report", "text.tally"}, "not a Tally capture");
  change("other.db", "CREATE TABLE t (x)");
  expect_refused({"report", "other.db"}, "an SQLite database, but not a Tally capture");
  expect_refused({"report", "."}, "not a regular file");
}

TEST_F(Commands, predictions_without_a_device_or_counts_are_refused) {
  store::write_test_capture(folder_.file("a.tally"));
  expect_refused({"predict", "a.tally"}, "--device is required");
  expect_refused({"predict", "--device", "missing.json", "a.tally"}, "missing.json: No such file");
  std::ofstream(folder_.file("weights.json")) << R"({"name": "mine", "weights": {}})";
  expect_refused({"predict", "--device", "weights.json", "a.tally"},
                 "weights.json: this is not a device file of tally calibrate");
  expect_refused({"calibrate", "-o", "weights.json", "--programs", "a.tally"},
                 "weights.json: this is not a device file of tally calibrate");
}

TEST_F(Commands, captures_of_another_format_are_refused) {
  store::write_test_capture(folder_.file("old.tally"));
  change("old.tally", "PRAGMA user_version = 0");
  expect_refused({"report", "old.tally"}, "capture again");
  change("old.tally", "PRAGMA user_version = 99");
  expect_refused({"report", "old.tally"}, "reads formats up to");
}

TEST_F(Commands, columns_and_ranges_that_do_not_exist_are_refused) {
  store::write_test_capture(folder_.file("a.tally"));
  expect_refused({"report", "a.tally", "--by", "draw", "--sort", "colour"},
                 "there is no column 'colour'");
  expect_refused({"report", "a.tally", "--by", "draw", "--columns", "call,colour"},
                 "there is no column 'colour'");
  expect_refused({"report", "a.tally", "--frames", "5-2"}, "'5-2' is not a range of frames");
}

TEST_F(Commands, options_that_would_change_nothing_are_refused) {
  store::write_test_capture(folder_.file("a.tally"));
  const auto refused = [&](std::vector<std::string> options, const std::string& because) {
    options.insert(options.begin(), {"report", "a.tally"});
    expect_refused(options, because);
  };
  refused({"--annotate", "blur", "--by", "line"}, "excludes --annotate");
  refused({"--annotate", "blur", "--disassemble", "blur"}, "excludes --disassemble");
  refused({"--heatmap", "x.png", "--by", "region"}, "excludes --heatmap");
  refused({"--merge", "--by", "shader"}, "--merge needs --by pass, line or function");
  refused({"--merge"}, "--merge needs --by pass, line or function");
  refused({"--merge", "--by", "draw"}, "--each shows every draw");
  refused({"--each", "--by", "pass"}, "--each needs --by draw");
  refused({"--pass", "1", "--by", "pass"},
          "--pass needs --by region, --by region-draw or --heatmap");
}

TEST_F(Commands, numbers_below_zero_are_refused) {
  store::write_test_capture(folder_.file("a.tally"));
  expect_refused({"report", "a.tally", "--top", "-1"}, "-1 is not a whole number");
  expect_refused({"report", "a.tally", "--width", "-1"}, "-1 is not a whole number");
  expect_refused({"report", "a.tally", "--by", "region", "--pass", "-1"},
                 "-1 is not a whole number");
}

TEST_F(Commands, an_empty_answer_is_a_sentence_that_says_why) {
  store::write_test_capture(folder_.file("a.tally"));
  for (const char* by : {"shader", "draw", "line"}) {
    expect_nothing({"report", "a.tally", "--by", by, "--shader", "nothing"},
                   "a.tally: no shader of the capture matches 'nothing'");
    expect_nothing({"report", "a.tally", "--by", by, "--frames", "7"},
                   "a.tally: the capture has nothing in frame 7; it has frame 0");
  }
  expect_nothing({"report", "a.tally", "--annotate", "nothing"},
                 "no shader of the capture matches 'nothing'");
  expect_nothing({"report", "a.tally", "--by", "region", "--pass", "9"}, "no pass with number 9");
  expect_nothing({"report", "a.tally", "--heatmap", "x.png", "--pass", "9"},
                 "no pass with number 9");
  EXPECT_EQ(tally({"report", "a.tally", "--shader", "blur"}).end.shell_status(), 0);
}

TEST_F(Commands, an_empty_answer_is_json_all_the_same) {
  store::write_test_capture(folder_.file("a.tally"));
  const auto run =
      tally({"report", "a.tally", "--by", "draw", "--frames", "7", "--format", "json"});
  EXPECT_EQ(run.end.shell_status(), 1);
  EXPECT_THAT(run.standard_error, HasSubstr("nothing in frame 7"));
  EXPECT_TRUE(nlohmann::json::parse(run.standard_output)["tables"].empty());
}

TEST_F(Commands, heatmaps_are_json_where_that_is_asked_for) {
  store::write_test_capture(folder_.file("a.tally"));
  const auto run = tally({"report", "a.tally", "--heatmap", "x.png", "--counter",
                          "fragment_invocations", "--format", "json"});
  ASSERT_EQ(run.end.shell_status(), 0) << run.standard_error;
  const auto json = nlohmann::json::parse(run.standard_output);
  EXPECT_EQ(json["heatmap"]["file"], "x.png");
  EXPECT_EQ(json["heatmap"]["counter"], "fragment_invocations");
  EXPECT_EQ(json["heatmap"]["total"], 10 + uint64_t{~0u} + 7);
  EXPECT_EQ(json["heatmap"]["columns"], 2);
  EXPECT_EQ(json["capture"]["file"], "a.tally");
}

// An older capture, a newer one, and the name that a capture still to come has reserved.
class NewestCapture : public Commands {
 protected:
  void make_captures() {
    store::write_test_capture(folder_.file("new.tally"));
    store::write_test_capture(folder_.file("old.tally"));
    const auto now = std::filesystem::last_write_time(folder_.file("old.tally"));
    std::filesystem::last_write_time(folder_.file("new.tally"), now + std::chrono::hours(1));
    std::ofstream(folder_.file("later.tally")).flush();
    std::filesystem::last_write_time(folder_.file("later.tally"), now + std::chrono::hours(2));
  }
};

TEST_F(NewestCapture, is_read_where_no_file_is_named_and_standard_error_says_so) {
  make_captures();
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"report"},
                                             {"report", "--by", "draw", "--format", "json"},
                                             {"coverage"},
                                             {"snapshot"},
                                             {"export", "--format", "csv"}}) {
    const auto chosen = tally(arguments);
    std::vector<std::string> with_file = arguments;
    with_file.emplace_back("new.tally");
    const auto named = tally(with_file);
    EXPECT_EQ(chosen.end.shell_status(), named.end.shell_status()) << arguments[0];
    EXPECT_EQ(chosen.standard_output, named.standard_output) << arguments[0];
    EXPECT_EQ(chosen.standard_error,
              "tally: new.tally is the newest capture in this folder\n" + named.standard_error)
        << arguments[0];
  }
}

TEST_F(NewestCapture, is_compared_with_the_one_before_or_the_one_that_is_named) {
  make_captures();
  const auto both = tally({"diff"});
  EXPECT_EQ(both.end.shell_status(), 0);
  EXPECT_EQ(both.standard_output, tally({"diff", "old.tally", "new.tally"}).standard_output);
  EXPECT_EQ(both.standard_error,
            "tally: old.tally and new.tally are the newest captures in this folder\n");
  EXPECT_EQ(tally({"diff", "old.tally"}).standard_output, both.standard_output);
  const auto itself = tally({"diff", "new.tally"});
  EXPECT_EQ(itself.end.shell_status(), 2);
  EXPECT_THAT(itself.standard_error, HasSubstr("new.tally is itself the newest capture"));
  ASSERT_EQ(tally({"snapshot", "old.tally", "-o", "a.snapshot"}).end.shell_status(), 0);
  const auto checked = tally({"check", "a.snapshot"});
  EXPECT_EQ(checked.end.shell_status(), 0) << checked.standard_error;
  EXPECT_THAT(checked.standard_error, HasSubstr("new.tally is the newest capture"));
}

TEST_F(NewestCapture, none_is_one_clear_error) {
  for (const char* command : {"report", "coverage", "snapshot"})
    expect_refused({command}, "there is no capture (*.tally) in this folder");
  expect_refused({"export", "--format", "csv"}, "there is no capture (*.tally) in this folder");
  expect_refused({"diff"}, "fewer than two captures (*.tally) in this folder");
}

TEST_F(Commands, a_written_file_is_named_with_its_size_and_address) {
  store::write_test_capture(folder_.file("a.tally"));
  store::write_test_capture(folder_.file("b.tally"));
  const std::pair<std::vector<std::string>, std::string> written[] = {
      {{"report", "a.tally", "--html", "my page.html"}, "page: my page.html"},
      {{"report", "a.tally", "--heatmap", "a.png"}, "heatmap: a.png"},
      {{"export", "a.tally", "--format", "csv", "-o", "a.csv"}, "export: a.csv"},
      {{"snapshot", "a.tally", "-o", "a.snapshot"}, "snapshot: a.snapshot"},
      {{"merge", "a.tally", "b.tally", "-o", "ab.tally"}, "capture: ab.tally"}};
  for (const auto& [arguments, line] : written) {
    if (line.starts_with("page") && !report::why_no_html().empty()) continue;
    const auto run = tally(arguments);
    EXPECT_EQ(run.end.shell_status(), 0) << run.standard_error;
    const std::string name = line.substr(line.find(": ") + 2);
    std::string address = "file://" + folder_.file(name);
    if (const size_t space = address.find(' '); space != address.npos)
      address.replace(space, 1, "%20");
    const auto size = static_cast<double>(std::filesystem::file_size(folder_.file(name)));
    EXPECT_EQ(run.standard_error,
              fmt::format("tally: {} ({}), {}\n", line, report::bytes_text(size), address));
  }
}

TEST_F(Commands, an_existing_page_or_picture_is_replaced_only_with_force) {
  store::write_test_capture(folder_.file("a.tally"));
  std::vector<std::pair<std::string, std::string>> outputs = {{"--heatmap", "a.png"}};
  if (report::why_no_html().empty()) outputs.emplace_back("--html", "a.html");
  for (const auto& [option, file] : outputs) {
    std::ofstream(folder_.file(file)) << "mine";
    expect_refused({"report", "a.tally", option, file},
                   file + " exists; choose another name, or replace it with --force");
    EXPECT_EQ(std::filesystem::file_size(folder_.file(file)), 4u);
    EXPECT_EQ(tally({"report", "a.tally", option, file, "--force"}).end.shell_status(), 0);
    EXPECT_GT(std::filesystem::file_size(folder_.file(file)), 4u);
    expect_refused({"report", "a.tally", option, "a.tally", "--force"}, "the capture itself");
  }
  expect_refused({"report", "a.tally", "--force"}, "--force needs --html or --heatmap");
}

TEST_F(Commands, a_damaged_capture_is_named) {
  store::write_test_capture(folder_.file("a.tally"));
  damage_table("a.tally", "batch_count");  // which is not read before it is needed
  expect_refused({"report", "a.tally", "--by", "line"}, "a.tally: the capture is damaged");
}

TEST_F(Commands, rows_that_refer_to_nothing_end_no_report_by_a_signal) {
  for (const char* damage :
       {"UPDATE frame SET device = 999", "DELETE FROM device", "DELETE FROM region_counter",
        "DELETE FROM metric", "UPDATE pass_regions SET x = 9223372036854775807",
        "UPDATE label SET parent = id", "DELETE FROM pipeline_shader", "DELETE FROM function",
        "UPDATE batch_count SET executions = '[1,'", "UPDATE batch_count SET block = -1",
        "UPDATE batch_other SET value = '[9,9,9]'", "UPDATE command_batch SET size = 1024",
        "UPDATE command_batch SET positions = '-1'", "UPDATE command_batch SET parameters = '{'",
        "UPDATE command_batch SET execution = 99, pipeline = 99, pass = 99",
        "UPDATE capture SET start_monotonic_ns = -9223372036854775807"}) {
    store::write_test_capture(folder_.file("a.tally"));
    change("a.tally", damage);
    for (const char* options :
         {"", "--by draw", "--by pass", "--by shader", "--by line", "--by block", "--by pipeline",
          "--by frame", "--by label", "--by counter", "--by region", "--heatmap x.png --force"}) {
      const auto run =
          run_script(folder_.path(), std::string("\"$TALLY\" report a.tally ") + options);
      EXPECT_LE(run.end.shell_status(), 2) << damage << ' ' << options;
    }
    std::filesystem::remove(folder_.file("a.tally"));
  }
}

TEST_F(Commands, damaged_spirv_is_no_reason_to_fail) {
  store::write_test_capture(folder_.file("a.tally"));  // its module is two words long
  EXPECT_EQ(tally({"report", "a.tally"}).end.shell_status(), 0);
  expect_refused({"report", "a.tally", "--annotate", "blur"}, "blur.spv");
}

TEST_F(Commands, names_cannot_send_control_characters_to_the_terminal) {
  store::write_test_capture(folder_.file("a.tally"));
  change("a.tally", "UPDATE module SET name = 'red' || char(27) || '[31m' || char(10) || 'line'");
  const auto run = tally({"report", "a.tally", "--by", "shader"});
  EXPECT_EQ(run.standard_output.find('\x1b'), std::string::npos);
  EXPECT_THAT(run.standard_output, HasSubstr("red\xEF\xBF\xBD[31m\xEF\xBF\xBDline"));
  change("a.tally", "UPDATE metric SET name = 'x' || char(27) || '[31m' WHERE name = 'fma'");
  const auto title = tally({"report", "a.tally", "--by", "draw", "--sort", "x_31m"});
  EXPECT_EQ(title.standard_output.find('\x1b'), std::string::npos);
  EXPECT_THAT(title.standard_output, HasSubstr("x\xEF\xBF\xBD[31m"));
}

TEST_F(Commands, output_that_cannot_be_written_is_an_error) {
  store::write_test_capture(folder_.file("a.tally"));
  ASSERT_EQ(tally({"snapshot", "a.tally", "-o", "a.counts"}).end.shell_status(), 0);
  for (const char* command :
       {"--help", "--version", "run --help", "report a.tally", "report --format json a.tally",
        "report --by draw a.tally", "diff a.tally a.tally", "export --format csv a.tally",
        "export --format jsonl -o - a.tally", "snapshot a.tally", "list", "doctor"}) {
    const auto closed = run_script(folder_.path(), fmt::format("\"$TALLY\" {} >&-", command));
    EXPECT_EQ(closed.end.shell_status(), 2) << command << closed.standard_error;
    EXPECT_THAT(closed.standard_error, HasSubstr("Bad file descriptor")) << command;
    const auto full = run_script(folder_.path(), fmt::format("\"$TALLY\" {} >/dev/full", command));
    EXPECT_EQ(full.end.shell_status(), 2) << command << full.standard_error;
    EXPECT_THAT(full.standard_error, HasSubstr("No space left")) << command;
    const auto neither = run_script(folder_.path(), fmt::format("\"$TALLY\" {} >&- 2>&-", command));
    EXPECT_EQ(neither.end.shell_status(), 2) << command;
  }
}

TEST_F(Commands, a_file_beyond_the_limit_is_an_error_and_is_not_left) {
  store::write_test_capture(folder_.file("a.tally"));
  for (const char* command : {"report --html page.html a.tally", "snapshot -o a.counts a.tally",
                              "export --format csv -o a.csv a.tally"}) {
    const auto run = run_script(folder_.path(), fmt::format("ulimit -f 0; \"$TALLY\" {}", command));
    EXPECT_EQ(run.end.shell_status(), 2) << command << run.standard_error;
    EXPECT_THAT(run.standard_error, HasSubstr("File too large")) << command;
    const auto files = run_script(folder_.path(), "ls");
    EXPECT_EQ(files.standard_output, "a.tally\n") << command;
  }
}

TEST_F(Commands, list_shows_what_tally_adds) {
  const auto run = tally({"list", "--format", "json"});
  ASSERT_EQ(run.end.shell_status(), 0) << run.standard_error;
  const auto json = nlohmann::json::parse(run.standard_output);
  ASSERT_FALSE(json["devices"].empty());
  for (const auto& device : json["devices"]) {
    const auto& interface = device["interfaces"][0];
    EXPECT_EQ(interface["name"], "VK_ARM_shader_instrumentation");
    // The layer offers the extension exactly where nothing is missing that we know to be needed.
    EXPECT_EQ(interface["with_tally"].get<bool>(),
              interface["native"].get<bool>() || device["missing"].empty());
    EXPECT_EQ(device["metrics"].empty(), !interface["with_tally"].get<bool>());
  }
}

TEST_F(Commands, list_without_device_says_so) {
  const auto run =
      tally({"list"}, {"VK_DRIVER_FILES=/nonexistent.json", "VK_ICD_FILENAMES=/nonexistent.json"});
  EXPECT_EQ(run.end.shell_status(), 1);
  EXPECT_TRUE(run.standard_output.starts_with("EGL")) << "only EGL is left";
  EXPECT_THAT(run.standard_error, HasSubstr("tally doctor says more"));
}

TEST_F(Commands, doctor_finds_a_driver_manifest_that_is_missing) {
  const auto run = tally(
      {"doctor"}, {"VK_DRIVER_FILES=/nonexistent.json", "VK_ICD_FILENAMES=/nonexistent.json"});
  EXPECT_EQ(run.end.shell_status(), 1);
  EXPECT_THAT(run.standard_output, HasSubstr("PROBLEM  driver: /nonexistent.json cannot be read"));
  EXPECT_THAT(run.standard_output, HasSubstr("mesa-vulkan-drivers"));
}

TEST_F(Commands, doctor_is_content_where_captures_work) {
  const auto run = tally({"doctor", "--format", "json"});
  EXPECT_EQ(run.end.shell_status(), 0) << run.standard_output;
  EXPECT_TRUE(nlohmann::json::parse(run.standard_output)["ready"].get<bool>());
}

TEST_F(Commands, moved_away_layers_are_noticed) {
  const auto run =
      run_script(folder_.path(), "mkdir bin && cp \"$TALLY\" bin/ && bin/tally run -- true");
  EXPECT_EQ(run.end.shell_status(), 2);
  EXPECT_THAT(run.standard_error, HasSubstr("VK_LAYER_TALLY_counters was not found"));
}

}  // namespace
}  // namespace tally::test
