#include "cli/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>

#include "analysis/dataset/dataset.h"
#include "analysis/diff/make_profile.h"
#include "analysis/model/model.h"
#include "analysis/tables/analyzer.h"
#include "cli/command.h"
#include "cli/files.h"
#include "platform/process.h"
#include "report/html/page.h"

namespace tally::cli {
namespace {

constexpr size_t kDefaultWidth = 120;
constexpr size_t kMinWidth = 60;
constexpr long kMaxWidth = 10'000;  // of COLUMNS

}  // namespace

size_t terminal_width() {
  if (const char* const columns = std::getenv("COLUMNS")) {
    const long width = std::strtol(columns, nullptr, 10);
    if (width > 0 && width <= kMaxWidth)
      return std::max<size_t>(static_cast<size_t>(width), kMinWidth);
  }
  const std::optional<size_t> width = platform::terminal_width();
  return width ? std::max(*width, kMinWidth) : kDefaultWidth;
}

CLI::Validator whole_number() {
  const auto problem = [](const std::string& text) {
    const bool is_number =
        std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
    return is_number ? std::string() : text + " is not a whole number";
  };
  return CLI::Validator(problem, "");
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  return CLI::IsMember(words).description("").name(fmt::format("{}", fmt::join(words, " ")));
}

std::vector<std::string> words_of(CLI::Option& option) {
  std::vector<std::string> words;
  try {
    std::istringstream names(option.get_validator()->get_name());
    for (std::string word; names >> word;) words.push_back(word);
  } catch (const CLI::OptionNotFound&) {  // it has no validator
  }
  return words;
}

void add_source_option(CLI::App& command, analysis::SourceChoice& choice) {
  const std::vector<std::string> names(std::begin(analysis::kSourceChoiceNames),
                                       std::end(analysis::kSourceChoiceNames));
  const auto choose = [&choice, names](const std::string& name) {
    const auto chosen = std::ranges::find(names, name);
    choice = static_cast<analysis::SourceChoice>(chosen - names.begin());
  };
  command
      .add_option_function<std::string>("--source", choose,
                                        "Lines to show: auto (debug information, else GLSL by "
                                        "SPIRV-Cross, else SPIR-V), debug, glsl or spirv")
      ->check(one_of(names))
      ->type_name("KIND");
}

void add_device_option(CLI::App& command, std::shared_ptr<const analysis::DeviceCosts>& device) {
  const auto load = [&device](const std::string& file) {
    auto costs = analysis::DeviceCosts::load(file);
    if (!costs) throw CLI::ParseError(costs.error().message, kFailed);
    device = std::move(*costs);
  };
  command
      .add_option_function<std::string>(
          "--device", load,
          "Take the weights of cost from this file instead of a generic GPU; a file made by tally "
          "calibrate also predicts times")
      ->type_name("FILE");
}

int write_out(const std::function<void(const report::Output&)>& write) {
  int error = 0;
  write([&](std::string_view piece) {
    if (error == 0 && std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size())
      error = errno;
  });
  return error == 0
             ? print("")
             : fail({fmt::format("cannot write to standard output: {}", std::strerror(error))});
}

namespace {

namespace fs = std::filesystem;

// The captures of the current folder, the newest first. An empty file is the reserved name of a
// capture that is still to come.
std::vector<std::string> captures_here() {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator entry(".", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() != ".tally" || !entry->is_regular_file(ignored) ||
        entry->file_size(ignored) == 0)
      continue;
    found.emplace_back(entry->last_write_time(ignored), entry->path().filename().string());
  }
  std::ranges::sort(found, std::greater());
  std::vector<std::string> names;
  for (const auto& [time, name] : found) names.push_back(name);
  return names;
}

}  // namespace

Status default_to_newest(std::string& file) {
  if (!file.empty()) return {};
  const std::vector<std::string> captures = captures_here();
  if (captures.empty())
    return Error{
        "there is no capture (*.tally) in this folder: name one, or make one with tally run"};
  file = captures.front();
  say(file + " is the newest capture in this folder");
  return {};
}

Status default_to_newest(std::vector<std::string>& files) {
  if (!files.empty()) return {};
  std::string file;
  Status found = default_to_newest(file);
  if (found.ok()) files.push_back(file);
  return found;
}

Status default_to_newest(std::string& before, std::string& after) {
  if (!after.empty()) return {};
  if (!before.empty()) {
    TALLY_TRY(default_to_newest(after));
    std::error_code ignored;
    if (!fs::equivalent(before, after, ignored)) return {};
    return Error{before + " is itself the newest capture in this folder: name the one to compare"};
  }
  const std::vector<std::string> captures = captures_here();
  if (captures.size() < 2)
    return Error{"fewer than two captures (*.tally) in this folder: name two"};
  before = captures[1];
  after = captures[0];
  say(fmt::format("{} and {} are the newest captures in this folder", before, after));
  return {};
}

Result<analysis::Profile> load_profile(const std::string& file,
                                       const analysis::ProfileOptions& options,
                                       const std::shared_ptr<const analysis::DeviceCosts>& device) {
  ProgressLine progress("reading " + file);
  const auto model =
      TALLY_TRY(analysis::open_model(file, {.frames = {}, .shader = {}, .device = device}));
  if (model.commands.empty())
    return Error{file + ": " + why_no_rows(model, analysis::By::Draw, {})};
  auto profile = TALLY_TRY(with_context(
      make_profile(model, options, [&](double part) { progress.update(part); }), file));
  return profile;
}

namespace {

Result<analysis::Dataset> dataset_of(const analysis::Model& model, const analysis::Model* old,
                                     const HtmlReport& report) {
  ProgressLine progress("reading " + report.capture);
  return analysis::make_dataset(model, old, report.sources,
                                [&](double fraction) { progress.update(fraction); });
}

}  // namespace

Result<int> write_html_report(const HtmlReport& report) {
  if (const auto reason = report::why_no_html(); !reason.empty()) return Error{std::string(reason)};
  const auto model = TALLY_TRY(analysis::open_model(report.capture, report.selection));
  if (const std::string nothing = analysis::why_selection_is_empty(model); !nothing.empty()) {
    say(report.capture + ": " + nothing);
    return kNo;
  }
  std::optional<analysis::Model> old;
  if (!report.against.empty())
    old = TALLY_TRY(analysis::open_model(report.against, report.selection));
  auto file = TALLY_TRY(ExportFile::open(report.file, report.capture, report.force));
  const auto dataset =
      TALLY_TRY(with_context(dataset_of(model, old ? &*old : nullptr, report), report.capture));
  TALLY_TRY(with_context(report::write_html(dataset, TALLY_VERSION,
                                            [&](std::string_view piece) { file.write(piece); }),
                         report.file));
  TALLY_TRY(file.finish());
  if (!report.quiet) file.say_written("page");
  return kDone;
}

}  // namespace tally::cli
