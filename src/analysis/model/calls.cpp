#include "analysis/model/calls.h"

#include <algorithm>

#include "base/hash.h"

namespace tally::analysis {

uint32_t Calls::function_for(const store::FunctionRow& row,
                             std::span<const std::string> parameters) {
  for (uint32_t i = 0; i < functions_.size(); ++i) {
    const Function& function = functions_[i];
    if (function.row.id == row.id && std::ranges::equal(function.parameters, parameters)) return i;
  }
  functions_.push_back({row, {parameters.begin(), parameters.end()}});
  return static_cast<uint32_t>(functions_.size() - 1);
}

uint32_t Calls::intern(const store::FunctionRow& function,
                       std::span<const std::string> parameter_names,
                       std::span<const int64_t> parameters) {
  const uint32_t number = function_for(function, parameter_names);
  size_t hash = number;
  for (const int64_t parameter : parameters) {
    hash = hash_combine(hash, std::hash<int64_t>{}(parameter));
  }
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const Entry& entry = calls_[known->second];
    if (entry.function == number && std::ranges::equal(parameters_of(entry), parameters)) {
      return known->second;
    }
  }
  calls_.push_back({number, static_cast<uint32_t>(parameters.size()), parameters_.size()});
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
  by_hash_.emplace(hash, size() - 1);
  return size() - 1;
}

Call Calls::operator[](uint32_t call) const {
  const Entry& entry = calls_[call];
  const Function& function = functions_[entry.function];
  return {function.row.kind, function.row.name, function.parameters, parameters_of(entry)};
}

}  // namespace tally::analysis
