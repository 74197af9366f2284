// The costs of a shader by function, source line and call.
//
// A block's counts do not say which caller they ran for. Where a function has several callers, its
// costs are apportioned in proportion to the calls, in integers that sum to the function's costs
// exactly.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analysis/cost/command_costs.h"
#include "analysis/model/metrics.h"
#include "analysis/model/shader_code.h"

namespace tally::analysis {

// The cost of a source line itself, without the functions that it calls. A metric of a cost class
// goes to the line of each instruction; other metrics go to the first line of their block.
struct SelfCost {
  spirv::SourceLocation location;  // line 0: no line is known
  uint32_t inlined = kNone;        // the source function, if it is not the containing function
  std::vector<uint64_t> metrics;
};

struct CallCost {
  uint32_t caller, callee;         // indices into BlockMap::functions()
  spirv::SourceLocation location;  // of the call; line 0: not known
  uint64_t count = 0;
  std::vector<uint64_t> metrics;  // of the callee and what it calls, for these calls
};

// The functions and calls of a shader. `code` must outlive it.
class ShaderCalls {
 public:
  struct Call {
    uint32_t caller, callee;  // indices into BlockMap::functions()
    uint32_t block;
    spirv::SourceLocation location;
  };
  explicit ShaderCalls(const ShaderCode& code);

  const ShaderCode& code() const { return code_; }
  uint32_t entry() const { return entry_; }
  // Callees before their callers.
  const std::vector<uint32_t>& order() const { return order_; }
  // Ordered by callee, as order() has them. Calls of a function that is not yet finished (a
  // recursion, which shaders must not have) are left out.
  const std::vector<Call>& calls() const { return calls_; }

 private:
  void find_calls(uint32_t block, const std::vector<uint32_t>& rank);

  const ShaderCode& code_;
  uint32_t entry_ = 0;
  std::vector<uint32_t> order_;
  std::vector<Call> calls_;
  std::map<uint32_t, uint32_t> function_of_id_;
};

class CallCosts {
 public:
  // `shader` must outlive it.
  CallCosts(const ShaderCalls& shader, std::span<const BlockValues> values,
            const std::vector<Metric>& metrics);

  // Indexed by function of the block map: its lines, in the order of their locations.
  const std::vector<std::vector<SelfCost>>& functions() const { return functions_; }
  // Callees before their callers, with their metrics. Takes time for each.
  std::vector<CallCost> calls_with_costs() const;

  // Visits the lines' own costs once for each path of calls from the entry point. Shaders with very
  // many paths have each function directly below the entry point.
  using Visit = std::function<void(std::span<const uint32_t> path, const SelfCost& cost)>;
  void visit_paths(const Visit& visit) const;

 private:
  class PathVisit;

  void add_self_costs(std::span<const BlockValues> values, const std::vector<Metric>& metrics);
  void find_calls(std::span<const BlockValues> values);

  const ShaderCalls& shader_;
  size_t metric_count_;
  std::vector<std::vector<SelfCost>> functions_;
  std::vector<CallCost> calls_;  // without metrics
};

}  // namespace tally::analysis
