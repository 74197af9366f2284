#include "cli/report/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>
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

constexpr size_t kMaxComponents = 32;
constexpr size_t kMaxLength = 120;  // of a component

std::string safe_component(std::string_view part) {
  std::string safe;
  for (const char c : part.substr(0, kMaxLength)) {
    const auto byte = static_cast<unsigned char>(c);
    safe += byte < 0x20 || byte == 0x7f || c == ':' ? '_' : c;
  }
  return safe;
}

std::vector<std::string> safe_components(std::string_view name) {
  std::vector<std::string> parts;
  while (!name.empty()) {
    const size_t slash = std::min(name.find_first_of("/\\"), name.size());
    const std::string_view part = name.substr(0, slash);
    name.remove_prefix(std::min(slash + 1, name.size()));
    if (!part.empty() && part != "." && part != "..") parts.push_back(safe_component(part));
  }
  if (parts.empty()) parts.emplace_back("unnamed");
  if (parts.size() > kMaxComponents)
    parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(kMaxComponents));
  return parts;
}

Error system_error(const std::string& path) {
  return Error{fmt::format("{}: {}", path, std::strerror(errno))};
}

bool has_text(int file, std::string_view text) {
  if (platform::size_of_regular_file(file) != text.size()) return false;
  std::array<char, 65536> buffer;
  for (size_t at = 0; at < text.size();) {
    const std::string_view piece = text.substr(at, buffer.size());
    const ssize_t size = platform::read_at(file, buffer.data(), piece.size(), at);
    if (size != static_cast<ssize_t>(piece.size()) ||
        piece != std::string_view(buffer.data(), piece.size())) {
      return false;
    }
    at += piece.size();
  }
  return true;
}

// Follows no links: a folder that the user gave may hold some that lead elsewhere.
Status write_new(const platform::Folder& folder, const std::string& name, const std::string& path,
                 std::string_view text) {
  auto file = PartialFile::create(folder, name);
  if (!file) return with_context(file.error(), path);
  file->write(text);
  const int error = file->finish(platform::Existing::Keep);
  if (error == 0) return {};
  if (error != EEXIST) return Error{path + ": " + std::strerror(error)};
  const UniqueFd existing(folder.open_to_read(name));
  if (existing && has_text(existing.get(), text)) return {};
  return Error{path + ": exists with another text; refusing to replace it"};
}

}  // namespace

std::string safe_relative_path(std::string_view name) {
  return fmt::format("{}", fmt::join(safe_components(name), "/"));
}

Result<std::string> write_source(const std::string& folder, std::string_view name,
                                 std::string_view text) {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::absolute(folder, error).lexically_normal();
  std::filesystem::create_directories(root, error);
  if (error) return Error{fmt::format("{}: {}", folder, error.message())};
  std::optional<platform::Folder> at = platform::Folder::open(root.string());
  if (!at) return system_error(folder);
  const std::vector<std::string> parts = safe_components(name);
  std::filesystem::path path = root;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    path /= parts[i];
    std::optional<platform::Folder> next = at->make_folder(parts[i]);
    if (!next) return system_error(path.string());
    at = std::move(next);
  }
  path /= parts.back();
  if (Status written = write_new(*at, parts.back(), path.string(), text); !written)
    return written.error();
  return path.string();
}

// `tally coverage`: the coverage of shader sources, as a summary or for other tools.

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
    const auto model = analysis::open_model(file);
    if (!model) return model.error();
    ProgressLine progress("reading " + file);
    const Status added = builder.add(*model, [&](double fraction) { progress.update(fraction); });
    if (!added) return with_context(added.error(), file);
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
    const auto path = write_source(folder, name, file.text);
    if (!path) return path.error();
    paths.paths[i] = *path;
  }
  return paths;
}

std::string why_nothing(const analysis::Coverage& coverage) {
  if (!coverage.files.empty()) return {};
  return coverage.uncovered.empty()
             ? "the captures have no shaders"
             : "no shader of the captures has debug information with source lines";
}

int write_output(const analysis::Coverage& coverage, const CoverageOptions& options) {
  if (Status allowed = may_write(options.output, options.format); !allowed)
    return fail(allowed.error());
  auto paths = options.sources.empty() ? report::recorded_paths(coverage)
                                       : write_sources(coverage, options.sources);
  if (!paths) return fail(paths.error());
  const std::string text = options.format == "lcov"
                               ? report::lcov_tracefile(coverage, *paths)
                               : report::cobertura_xml(coverage, *paths, TALLY_VERSION);
  const Status written = replace_file(options.output, text);
  if (!written) return fail(written.error());
  if (const std::string left_out = report::lines_left_out(coverage); !left_out.empty())
    say(left_out);
  say_written("coverage", options.output);
  return kDone;
}

int run(const CoverageOptions& options) {
  const auto coverage = read_captures(options.files);
  if (!coverage) return fail(coverage.error());
  if (const std::string nothing = why_nothing(*coverage); !nothing.empty()) {
    say(nothing);
    return kNo;
  }
  if (!options.output.empty()) return write_output(*coverage, options);
  std::string text;
  report::write_coverage_summary(*coverage, kWidth, [&](std::string_view piece) { text += piece; });
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
    chosen = [options] {
      Status found = default_to_newest(options->files);
      return found.ok() ? run(*options) : fail(found.error());
    };
  });
}

}  // namespace tally::cli
