// The passes of performance queries in submissions: which pass the command buffers make, and what
// the driver gets. `Submit` is VkSubmitInfo or VkSubmitInfo2.
#pragma once

#include <vulkan/vulkan_core.h>

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "counters/recording/command_buffer.h"
#include "vk/chain.h"

namespace tally::counters {

inline void visit_buffers(const VkSubmitInfo& submit, const auto& visit) {
  for (uint32_t i = 0; i < submit.commandBufferCount; ++i) visit(submit.pCommandBuffers[i]);
}
inline void visit_buffers(const VkSubmitInfo2& submit, const auto& visit) {
  for (uint32_t i = 0; i < submit.commandBufferInfoCount; ++i)
    visit(submit.pCommandBufferInfos[i].commandBuffer);
}

inline const VkPerformanceQuerySubmitInfoKHR* pass_info(const void* chain) {
  return vk::find_in_chain<VkPerformanceQuerySubmitInfoKHR>(
      chain, VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);
}

// Selects the pass that the command buffers make. Returns the passes where the driver's differs
// from the application's.
template <typename Submit>
std::optional<MixedPass> set_pass(const DeviceState& state, const Submit& submit) {
  std::optional<MixedPass> mixed;
  visit_buffers(submit, [&](VkCommandBuffer commands) {
    const auto known = state.command_buffers.find(commands);
    if (!known || !known->driver_queries()) return;
    const std::optional<MixedPass> pass = known->driver_queries()->take_pass();
    if (!mixed) mixed = pass;
  });
  const VkPerformanceQuerySubmitInfoKHR* info = pass_info(submit.pNext);
  const uint32_t pass = mixed ? mixed->ours : info ? info->counterPassIndex : 0;
  visit_buffers(submit, [&](VkCommandBuffer commands) {
    const auto known = state.command_buffers.find(commands);
    if (known && known->queries()) known->queries()->passes().select(pass);
  });
  return mixed;
}

// True if the work has queries whose counters are all the driver's.
template <typename Submit>
bool has_driver_only(const DeviceState& state, const Submit& submit) {
  bool any = false;
  visit_buffers(submit, [&](VkCommandBuffer commands) {
    const auto known = state.command_buffers.find(commands);
    any = any || (known && known->driver_queries() && known->driver_queries()->has_driver_only());
  });
  return any;
}

// The command buffers of a submission, with those that the layer executes before and after them.
class SubmittedBuffers {
 public:
  template <typename Submit>
  SubmittedBuffers(const DeviceState& state, const Submit& submit, const MixedPass& pass) {
    visit_buffers(submit, [&](VkCommandBuffer commands) {
      const auto known = state.command_buffers.find(commands);
      if (known && known->driver_queries()) {
        known->driver_queries()->append(all_);
        const VkCommandBuffer ahead = known->driver_queries()->ahead_of(pass);
        if (ahead != VK_NULL_HANDLE) ahead_.push_back(ahead);
      } else {
        all_.push_back(commands);
      }
    });
  }
  bool has_ahead() const { return !ahead_.empty(); }
  void write_ahead(VkSubmitInfo& submit) const {
    submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
              .commandBufferCount = static_cast<uint32_t>(ahead_.size()),
              .pCommandBuffers = ahead_.data()};
  }
  void write_ahead(VkSubmitInfo2& submit) {
    for (const VkCommandBuffer commands : ahead_) {
      ahead_infos_.push_back(
          {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = commands});
    }
    submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
              .commandBufferInfoCount = static_cast<uint32_t>(ahead_infos_.size()),
              .pCommandBufferInfos = ahead_infos_.data()};
  }
  void write_to(VkSubmitInfo& submit) const {
    submit.commandBufferCount = static_cast<uint32_t>(all_.size());
    submit.pCommandBuffers = all_.data();
  }
  void write_to(VkSubmitInfo2& submit) {
    size_t at = 0;
    for (const VkCommandBuffer commands : all_) {
      VkCommandBufferSubmitInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                     .commandBuffer = commands};
      const bool theirs = at < submit.commandBufferInfoCount &&
                          submit.pCommandBufferInfos[at].commandBuffer == commands;
      infos_.push_back(theirs ? submit.pCommandBufferInfos[at++] : info);
    }
    submit.commandBufferInfoCount = static_cast<uint32_t>(infos_.size());
    submit.pCommandBufferInfos = infos_.data();
  }

 private:
  std::vector<VkCommandBuffer> all_;
  std::vector<VkCommandBuffer> ahead_;
  std::vector<VkCommandBufferSubmitInfo> infos_;
  std::vector<VkCommandBufferSubmitInfo> ahead_infos_;
};

// Submissions as the driver gets them. The pass structs are removed where no query has counters of
// the driver. Where a query has counters of both, the driver gets its own pass index and the
// command buffers of the layer.
template <typename Submit>
class PassSubmissions {
 public:
  // `state`: null where no feature is enabled on the device.
  PassSubmissions(const DeviceState* state, std::span<const Submit> submits) : submits_(submits) {
    const QueryState* queries = state ? state->queries.get() : nullptr;
    if (!queries || !queries->emulated.performance) return;
    for (size_t i = 0; i < submits.size(); ++i) {
      const auto mixed = set_pass(*state, submits[i]);
      if (mixed) {
        change(i, mixed);
        SubmittedBuffers& buffers = buffers_.emplace_back(*state, submits[i], *mixed);
        buffers.write_to(copies_[i]);
        if (buffers.has_ahead()) {
          Submit ahead;
          buffers.write_ahead(ahead);
          inserted_.push_back({i, ahead});
        }
      } else if (pass_info(submits[i].pNext) && !has_driver_only(*state, submits[i])) {
        change(i, mixed);
      }
    }
    if (inserted_.empty()) return;
    together_.assign(submits_.begin(), submits_.end());
    for (size_t k = inserted_.size(); k > 0; --k) {
      const Inserted& one = inserted_[k - 1];
      together_.insert(together_.begin() + static_cast<ptrdiff_t>(one.before), one.submit);
    }
  }
  // The application's submissions.
  std::span<const Submit> get() const { return submits_; }
  // The same with those that the layer executes in between. They go to the driver in one call,
  // which succeeds or fails as a whole.
  std::span<const Submit> with_ahead() const {
    return together_.empty() ? submits_ : std::span<const Submit>(together_);
  }

 private:
  struct Inserted {
    size_t before;
    Submit submit;
  };
  void change(size_t i, const std::optional<MixedPass>& pass) {
    if (copies_.empty()) copies_.assign(submits_.begin(), submits_.end());
    submits_ = copies_;
    vk::ChainCopy& chain = chains_.emplace_back(copies_[i].pNext);
    chain.remove(VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);
    if (pass) {
      chain.add(VkPerformanceQuerySubmitInfoKHR{
          .sType = VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR,
          .counterPassIndex = pass->drivers});
    }
    copies_[i].pNext = chain.head();
  }

  std::span<const Submit> submits_;
  std::vector<Submit> copies_;
  std::vector<vk::ChainCopy> chains_;
  std::deque<SubmittedBuffers> buffers_;  // a deque, since the submissions point into them
  std::vector<Inserted> inserted_;
  std::vector<Submit> together_;  // empty where nothing is inserted
};

}  // namespace tally::counters
