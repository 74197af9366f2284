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

uint64_t Calls::hash_of(uint32_t function, std::span<const int64_t> parameters) {
  uint64_t hash = function;
  for (const int64_t parameter : parameters)
    hash = hash_combine(hash, static_cast<uint64_t>(parameter));
  return hash_combine(hash, parameters.size());
}

uint32_t Calls::intern(const store::FunctionRow& function,
                       std::span<const std::string> parameter_names,
                       std::span<const int64_t> parameters) {
  const uint32_t number = function_for(function, parameter_names);
  const uint32_t call = numbers_.find_or_add(
      hash_of(number, parameters), size(),
      [&](uint32_t other) {
        const Entry& entry = calls_[other];
        return entry.function == number && std::ranges::equal(parameters_of(entry), parameters);
      },
      [&](uint32_t other) {
        return hash_of(calls_[other].function, parameters_of(calls_[other]));
      });
  if (call == size()) {
    calls_.push_back({number, static_cast<uint32_t>(parameters.size()), parameters_.size()});
    parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
  }
  return call;
}

Call Calls::operator[](uint32_t call) const {
  const Entry& entry = calls_[call];
  const Function& function = functions_[entry.function];
  return {function.row.kind, function.row.name, function.parameters, parameters_of(entry)};
}

}  // namespace tally::analysis
