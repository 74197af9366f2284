// The costs of a shader by function, source line and call.
//
// A block's counts do not say which caller they ran for. Where a function has several callers, its
// costs are apportioned in proportion to the calls, in integers that sum to the function's costs
// exactly.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "analysis/cost/command_costs.h"
#include "analysis/model/metrics.h"
#include "analysis/model/shader_code.h"

namespace tally::analysis {

// A function of the module without what was inlined into it, or what was inlined for one call in
// it.
struct Frame {
  uint32_t name;                   // index into ShaderCalls::names()
  uint32_t parent;                 // the frame it is inlined into; kNone: a function of the module
  uint32_t function;               // that contains it: an index into BlockMap::functions()
  uint32_t first_block = kNone;    // with its code, or code that is inlined into it
  spirv::SourceLocation location;  // of the call that was inlined; line 0: not known
};

// The functions and calls of a shader. `code` must outlive it.
class ShaderCalls {
 public:
  struct Call {
    uint32_t caller;  // a frame
    uint32_t callee;  // an index into BlockMap::functions()
    uint32_t block;
    spirv::SourceLocation location;  // of the call; line 0: not known
  };
  explicit ShaderCalls(const ShaderCode& code);

  const ShaderCode& code() const { return code_; }
  const FunctionTable& functions() const { return functions_; }
  // The names of functions(), then those of functions that have no code but what is inlined
  // into them. Functions of one name have one number.
  const std::vector<std::string>& names() const { return names_; }
  // The functions of the module, as the block map has them, then what is inlined, each after its
  // parent.
  const std::vector<Frame>& frames() const { return frames_; }
  bool is_inlined(uint32_t frame) const { return frames_[frame].parent != kNone; }
  // The frame of the i-th line of a block.
  uint32_t frame_of(const spirv::Block& block, size_t line) const {
    return frame_of_line_[block.first_line + line];
  }
  // The frames in a function of the module, each after its parent.
  const std::vector<uint32_t>& frames_in(uint32_t function) const { return frames_in_[function]; }

  uint32_t entry() const { return entry_; }
  // Callees before their callers.
  const std::vector<uint32_t>& order() const { return order_; }
  // Ordered by callee, as order() has them. Calls of a function that is not yet finished (a
  // recursion, which shaders must not have) are left out.
  const std::vector<Call>& calls() const { return calls_; }

 private:
  void find_frames();
  void find_calls();
  uint32_t number_of(const std::string& name);
  uint32_t frame_for(uint32_t instance, uint32_t name);
  uint32_t add_frame(const Frame& frame);

  const ShaderCode& code_;
  uint32_t entry_ = 0;
  FunctionTable functions_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> number_of_name_;
  std::vector<Frame> frames_;
  std::vector<uint32_t> frame_of_instance_;  // see spirv::LineCost
  // Frames of code in an instance that is of another function, by instance and name.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> other_frames_;
  std::vector<uint32_t> frame_of_line_;  // as the block map has its lines
  std::vector<std::vector<uint32_t>> frames_in_;
  std::vector<uint32_t> order_;
  std::vector<Call> calls_;
};

// The cost of a source line itself, without the functions that it calls. A metric of a cost class
// goes to the line of each instruction; other metrics go to the first line of their block.
struct SelfCost {
  spirv::SourceLocation location;  // line 0: no line is known
  std::vector<uint64_t> metrics;
};

struct CallCost {
  uint32_t caller;                 // a frame
  uint32_t callee;                 // an index into BlockMap::functions()
  spirv::SourceLocation location;  // of the call; line 0: not known
  uint64_t count = 0;
  std::vector<uint64_t> metrics;  // of the callee and what it calls, for these calls
};

class CallCosts {
 public:
  // `shader` must outlive it.
  CallCosts(const ShaderCalls& shader, std::span<const BlockValues> values,
            const std::vector<Metric>& metrics);

  // The lines of each frame, in the order of their locations.
  const std::vector<std::vector<SelfCost>>& frames() const { return frames_; }
  // Callees before their callers, with their metrics. Takes time for each.
  std::vector<CallCost> calls_with_costs() const;

  // A path of calls: frames from the entry point on.
  using Path = std::span<const uint32_t>;
  struct Visitor {
    // Once for each path, before its costs. `calls`: of its last frame, for this path. For inlined
    // code, the executions of its first block.
    std::function<void(Path path, uint64_t calls)> enter = nullptr;
    // The own costs of a line of its last frame.
    std::function<void(Path path, const SelfCost& cost)> cost;
  };
  // Returns false if the shader has very many paths: then each frame is directly below the entry
  // point.
  bool visit_paths(const Visitor& visitor) const;

 private:
  class PathVisit;

  void add_self_costs(std::span<const BlockValues> values, const std::vector<Metric>& metrics);
  void find_calls(std::span<const BlockValues> values);

  const ShaderCalls& shader_;
  size_t metric_count_;
  std::vector<std::vector<SelfCost>> frames_;
  std::vector<uint64_t> entered_;  // by frame: the executions of its first block
  std::vector<CallCost> calls_;    // without metrics
};

}  // namespace tally::analysis
