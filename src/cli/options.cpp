#include "cli/options.h"

#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "analysis/model/load_model.h"
#include "analysis/tables/analyzer.h"
#include "cli/command.h"

namespace tally::cli {
namespace {

constexpr size_t kDefaultWidth = 120;
constexpr size_t kMinWidth = 60;

}  // namespace

size_t terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
    return std::max<size_t>(size.ws_col, kMinWidth);
  return kDefaultWidth;
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
      .add_option_function<std::string>(
          "--source", choose,
          "Lines to show: auto (debug information, else GLSL that SPIRV-Cross makes of "
          "the SPIR-V, else SPIR-V), debug, glsl or spirv")
      ->check(one_of(names))
      ->type_name("KIND");
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

Result<analysis::Profile> load_profile(const std::string& file,
                                       const analysis::ProfileOptions& options) {
  auto reader = store::Reader::open(file);
  if (!reader) return reader.error();
  ProgressLine progress("reading " + file);
  const auto model = analysis::load_model(std::move(*reader), {});
  if (!model) return with_context(model.error(), file);
  if (model->commands.empty())
    return Error{file + ": " + why_no_rows(*model, analysis::By::Draw, {})};
  auto profile = make_profile(*model, options, [&](double part) { progress.update(part); });
  if (!profile) return with_context(profile.error(), file);
  return profile;
}

}  // namespace tally::cli
