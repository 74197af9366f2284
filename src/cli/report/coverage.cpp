// `tally coverage`: the coverage of shader sources, as a summary or for other tools.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/coverage/coverage.h"
#include "analysis/model/model.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"
#include "platform/files.h"
#include "report/table/reports.h"

namespace tally::cli {
namespace {

constexpr size_t kWidth = 120;

struct CoverageOptions {
  std::vector<std::string> files;
  std::string output;
  std::string format = "lcov";
  std::string sources;
};

// The beginning of a file of each format: only such a file is replaced.
std::string_view signature_of(const std::string& format) {
  return format == "lcov" ? "TN:" : "<?xml";
}

Status may_write(const std::string& path, const std::string& format) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const std::string_view signature = signature_of(format);
  std::array<char, 8> head{};
  const UniqueFd file(platform::open_to_read(path));
  if (const auto size = platform::size_of_regular_file(file.get())) {
    const ssize_t read = platform::read_at(file.get(), head.data(), signature.size(), 0);
    if (*size == 0 ||
        (read > 0 && signature == std::string_view(head.data(), static_cast<size_t>(read))))
      return {};
  }
  return Error{
      fmt::format("{}: exists and is not a file of {}; refusing to replace it", path, format)};
}

Result<analysis::Coverage> read_captures(const std::vector<std::string>& files) {
  analysis::CoverageBuilder builder;
  for (const std::string& file : files) {
    const auto model = TALLY_TRY(analysis::open_model(file));
    ProgressLine progress("reading " + file);
    TALLY_TRY(with_context(builder.add(model, [&](double fraction) { progress.update(fraction); }),
                           file));
  }
  return std::move(builder).finish();
}

// Writes the texts, and returns the path of each file: where its text now is, else its name.
Result<report::CoveragePaths> write_sources(const analysis::Coverage& coverage,
                                            const std::string& folder) {
  report::CoveragePaths paths = report::recorded_paths(coverage);
  std::set<std::string> taken;
  for (size_t i = 0; i < coverage.files.size(); ++i) {
    const analysis::FileCoverage& file = coverage.files[i];
    if (file.text.empty()) continue;
    std::string name = safe_relative_path(file.name);
    while (!taken.insert(name).second) name += "_";
    const auto path = TALLY_TRY(write_source(folder, name, file.text));
    paths.paths[i] = path;
  }
  return paths;
}

std::string why_nothing(const analysis::Coverage& coverage) {
  if (!coverage.files.empty()) return {};
  return coverage.uncovered.empty()
             ? "the captures have no shaders"
             : "no shader of the captures has debug information with source lines";
}

Result<int> write_output(const analysis::Coverage& coverage, const CoverageOptions& options) {
  TALLY_TRY(may_write(options.output, options.format));
  auto paths = TALLY_TRY(options.sources.empty() ? report::recorded_paths(coverage)
                                                 : write_sources(coverage, options.sources));
  const std::string text = options.format == "lcov"
                               ? report::lcov_tracefile(coverage, paths)
                               : report::cobertura_xml(coverage, paths, TALLY_VERSION);
  TALLY_TRY(replace_file(options.output, text));
  if (const std::string left_out = report::lines_left_out(coverage); !left_out.empty())
    say(left_out);
  say_written("coverage", options.output);
  return kDone;
}

Result<int> run(const CoverageOptions& options) {
  const auto coverage = TALLY_TRY(read_captures(options.files));
  if (const std::string nothing = why_nothing(coverage); !nothing.empty()) {
    say(nothing);
    return kNo;
  }
  if (!options.output.empty()) return write_output(coverage, options);
  std::string text;
  report::write_coverage_summary(coverage, kWidth, [&](std::string_view piece) { text += piece; });
  return print(text);
}

}  // namespace

void add_coverage(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CoverageOptions>();
  CLI::App* command = app.add_subcommand(
      "coverage", "Show which shader lines ran, or write coverage for other tools");
  command->add_option(
      "FILE", options->files,
      "Captures made by tally run; counts are summed (default: the newest in this folder)");
  CLI::Option* output =
      command->add_option("-o,--output", options->output, "Coverage file to write")
          ->type_name("FILE");
  command->add_option("--format", options->format, "lcov or cobertura")
      ->check(one_of({"lcov", "cobertura"}))
      ->type_name("FORMAT")
      ->needs(output);
  command
      ->add_option("--sources", options->sources,
                   "Write the source texts of the captures below this folder, and name them in the "
                   "output")
      ->type_name("FOLDER")
      ->needs(output);
  command->footer(
      "Examples: tally coverage game.tally\n"
      "          tally coverage a.tally b.tally -o shaders.info --sources src\n"
      "          genhtml --branch-coverage shaders.info -o html");
  command->callback([options, &chosen] {
    chosen = [options]() -> Result<int> {
      TALLY_TRY(default_to_newest(options->files));
      return run(*options);
    };
  });
}

}  // namespace tally::cli
