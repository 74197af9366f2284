#include "analysis/fleet/fleet_rows.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "base/hash.h"
#include "base/settings.h"

namespace tally::analysis {
namespace {

std::string key_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += std::string(part) + '\0';
  return to_string(hash_bytes(std::as_bytes(std::span(text))));
}

// Sums the items that have one key.
class CountSums {
 public:
  void add(const std::string& kind, const Item& item, const std::string& code,
           const std::vector<Metric>& metrics) {
    const std::string& identity =
        item.identity.names.empty() ? item.identity.hash : item.identity.names;
    Sum& sum = sums_[key_of({kind, identity})];
    if (sum.name.empty()) sum.name = item.name, sum.place = item.place;
    if (!code.empty()) sum.codes.insert(code);
    for (size_t m = 0; m < item.values.size(); ++m) {
      const bool is_counted = metrics[m].device == nullptr;  // else it depends on a table
      if (item.values[m] == 0 || !is_counted) continue;
      uint64_t& value = sum.values[metrics[m].id];
      value = saturating_sum(value, item.values[m]);
    }
  }

  std::vector<FleetCount> rows() const {
    std::vector<FleetCount> rows;
    for (const auto& [key, sum] : sums_) {
      for (const auto& [metric, value] : sum.values)
        rows.push_back({key, sum.name, sum.place, sum.code(), metric, value});
    }
    return rows;
  }

 private:
  struct Sum {
    std::string name, place;
    std::set<std::string> codes;
    std::map<std::string, uint64_t> values;  // by metric

    std::string code() const {
      if (codes.size() <= 1) return codes.empty() ? std::string() : *codes.begin();
      std::string all;
      for (const std::string& one : codes) all += one;
      return key_of({all});
    }
  };
  std::map<std::string, Sum> sums_;
};

std::string name_below(const std::string& name, const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(name).lexically_normal();
  if (!path.has_root_directory() || folder.empty()) return path.generic_string();
  const auto relative = path.lexically_relative(std::filesystem::path(folder).lexically_normal());
  const bool is_below = !relative.empty() && *relative.begin() != "..";
  return is_below ? relative.generic_string() : path.generic_string();
}

// Lines of equal text are told apart by their order, counted from the first line of the file. A
// file may have several texts, such as one for each set of definitions; equal lines are one.
class LineSums {
 public:
  explicit LineSums(const std::string& folder) : folder_(folder) {}

  void add(const FileCoverage& file) {
    const std::string name = name_below(file.recorded_name, folder_);
    const std::vector<std::string> texts = lines_of_text(file.text);
    std::map<std::string, uint32_t> seen;  // lines of this text so far
    uint32_t next = 1;
    for (const auto& [number, executions] : file.lines) {
      std::string text;
      for (; next <= number && next <= texts.size(); ++next) {
        text = trimmed(texts[next - 1]);
        ++seen[text];
      }
      if (number > texts.size()) text.clear();
      const std::string which =
          text.empty() ? "line " + std::to_string(number) : std::to_string(seen[text]);
      FleetLine& line = lines_[key_of({"line", name, text, which})];
      if (line.number == 0) line = {{}, name, number, text, 0};
      line.number = std::min(line.number, number);
      line.executions = saturating_sum(line.executions, executions);
    }
  }

  std::vector<FleetLine> rows() && {
    std::vector<FleetLine> rows;
    for (auto& [key, line] : lines_) {
      line.key = key;
      rows.push_back(std::move(line));
    }
    return rows;
  }

 private:
  const std::string& folder_;
  std::map<std::string, FleetLine> lines_;  // by key
};

}  // namespace

FleetRows make_fleet_rows(const Profile& profile, const Coverage& coverage,
                          const std::string& folder) {
  CountSums passes, shaders;
  for (const Item& pass : profile.passes) passes.add("pass", pass, {}, profile.metrics);
  for (const ShaderItem& shader : profile.shaders) {
    const std::string& identity = shader.identity.hash;  // begins with the hash of the SPIR-V
    shaders.add("shader", shader, identity.substr(0, identity.find('\n')), profile.metrics);
  }
  LineSums lines(folder);
  for (const FileCoverage& file : coverage.files) lines.add(file);
  return {passes.rows(), shaders.rows(), std::move(lines).rows()};
}

}  // namespace tally::analysis
