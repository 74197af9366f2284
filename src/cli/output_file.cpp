#include "cli/output_file.h"

#include <fmt/format.h>

#include <filesystem>

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostNumbers = 10'000;

bool is_taken(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

}  // namespace

Result<std::string> choose_output(const std::string& asked, const std::string& application,
                                  bool force) {
  if (!asked.empty()) {
    if (!force && is_taken(asked)) {
      return Error{
          fmt::format("{} exists; choose another name with -o, or replace it with --force", asked)};
    }
    return asked;
  }
  std::string stem = fs::path(application).filename().string();
  if (stem.empty()) stem = "capture";
  if (const std::string plain = stem + ".tally"; force || !is_taken(plain)) return plain;
  for (int number = 2; number < kMostNumbers; ++number) {
    std::string numbered = fmt::format("{}-{}.tally", stem, number);
    if (!is_taken(numbered)) return numbered;
  }
  return Error{
      fmt::format("{}.tally and its numbered names all exist; choose a name with -o", stem)};
}

}  // namespace tally::cli
