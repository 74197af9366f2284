#include "analysis/diff/profile.h"

#include <algorithm>

namespace tally::analysis {

std::string name_of_pass(const Item& pass) {
  return pass.place.empty() ? pass.name : pass.place + " / " + pass.name;
}

uint64_t value_at(const std::vector<uint64_t>& values, std::optional<size_t> metric) {
  return metric && *metric < values.size() ? values[*metric] : 0;
}

const SourceText* file_of(const ShaderItem& shader, uint32_t file) {
  return file < shader.files.size() ? &shader.files[file] : nullptr;
}

std::optional<size_t> Profile::invocations_of(const std::string& stage) const {
  std::string id = "invocations_" + stage;
  std::ranges::replace(id, ' ', '_');
  return find_metric(metrics, id);
}

std::vector<Hash128> differing_commands(const Profile& before, const Profile& after) {
  std::vector<Hash128> keys;
  auto a = before.command_digests.begin();
  auto b = after.command_digests.begin();
  const auto a_end = before.command_digests.end();
  const auto b_end = after.command_digests.end();
  while (a != a_end || b != b_end) {
    if (b == b_end || (a != a_end && a->key < b->key)) {
      keys.push_back((a++)->key);
    } else if (a == a_end || b->key < a->key) {
      keys.push_back((b++)->key);
    } else {
      if (a->content != b->content) keys.push_back(a->key);
      ++a, ++b;
    }
  }
  return keys;
}

}  // namespace tally::analysis
