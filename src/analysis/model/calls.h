// The calls of a capture: Vulkan commands with their parameters, stored once each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/number_table.h"
#include "store/rows.h"

namespace tally::analysis {

struct Call {
  store::CallKind kind{};
  std::string_view name;  // "vkCmdDrawIndexed"
  std::span<const std::string> parameter_names;
  std::span<const int64_t> parameters;
};

class Calls {
 public:
  // Returns the number of an equal call, or adds the call and returns a new number.
  uint32_t intern(const store::FunctionRow& function, std::span<const std::string> parameter_names,
                  std::span<const int64_t> parameters);

  Call operator[](uint32_t call) const;
  uint32_t size() const { return static_cast<uint32_t>(calls_.size()); }

 private:
  struct Function {
    store::FunctionRow row;
    std::vector<std::string> parameters;
  };
  struct Entry {
    uint32_t function;
    uint32_t count;  // of parameters
    size_t first;    // in parameters_
  };

  static uint64_t hash_of(uint32_t function, std::span<const int64_t> parameters);
  uint32_t function_for(const store::FunctionRow& row, std::span<const std::string> parameters);
  std::span<const int64_t> parameters_of(const Entry& entry) const {
    return std::span(parameters_).subspan(entry.first, entry.count);
  }

  std::vector<Function> functions_;
  std::vector<Entry> calls_;
  std::vector<int64_t> parameters_;
  NumberTable numbers_;
};

}  // namespace tally::analysis
