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

// Whether the work has queries whose counters are all the driver's.
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
  const std::vector<VkCommandBuffer>& ahead() const { return ahead_; }
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
        if (!buffers.ahead().empty()) cuts_.push_back({i, &buffers.ahead()});
      } else if (pass_info(submits[i].pNext) && !has_driver_only(*state, submits[i])) {
        change(i, mixed);
      }
    }
  }
  std::span<const Submit> get() const { return submits_; }

  // Submits in parts where the layer has to execute commands in between: `next(part, fence)`
  // submits one part.
  template <typename Next>
  VkResult submit(const DeviceTable& table, VkQueue queue, VkFence fence, const Next& next) const {
    size_t begin = 0;
    for (const Cut& cut : cuts_) {
      VkResult result = VK_SUCCESS;
      if (cut.at != begin) result = next(submits_.subspan(begin, cut.at - begin), VK_NULL_HANDLE);
      const VkSubmitInfo ahead{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = static_cast<uint32_t>(cut.commands->size()),
                               .pCommandBuffers = cut.commands->data()};
      if (result == VK_SUCCESS) result = table.QueueSubmit(queue, 1, &ahead, VK_NULL_HANDLE);
      if (result != VK_SUCCESS) return result;
      begin = cut.at;
    }
    return next(submits_.subspan(begin), fence);
  }

 private:
  struct Cut {
    size_t at;
    const std::vector<VkCommandBuffer>* commands;
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
  std::deque<SubmittedBuffers> buffers_;  // a deque, since cuts_ and copies_ point into them
  std::vector<Cut> cuts_;
};

}  // namespace tally::counters
