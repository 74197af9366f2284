#include "counters/shader/query_programs.h"

#include <algorithm>

#include "query_copy.comp.h"
#include "query_feedback.comp.h"
#include "query_finish.comp.h"
#include "query_indirect.comp.h"
#include "query_records.comp.h"
#include "query_small_records.comp.h"

namespace tally::counters {
namespace {

constexpr uint32_t kMaxGroups = 65535;  // the same in glsl/query.glsl
constexpr uint32_t kCopyLanes = 64;

}  // namespace

QueryPrograms::~QueryPrograms() {
  programs_.destroy(records_);
  programs_.destroy(small_records_);
  programs_.destroy(finish_);
  programs_.destroy(indirects_);
  programs_.destroy(copy_);
  programs_.destroy(feedback_);
}

VkResult QueryPrograms::prepare() {
  const std::lock_guard lock(mutex_);
  VkResult result = programs_.make(query_records_comp, {&lanes_, 1}, records_);
  if (result == VK_SUCCESS) {
    result = programs_.make(query_small_records_comp, {&lanes_, 1}, small_records_);
  }
  if (result == VK_SUCCESS) result = programs_.make(query_finish_comp, {&lanes_, 1}, finish_);
  if (result == VK_SUCCESS) result = programs_.make(query_indirect_comp, {}, indirects_);
  if (result == VK_SUCCESS) result = programs_.make(query_copy_comp, {}, copy_);
  if (result == VK_SUCCESS) result = programs_.make(query_feedback_comp, {}, feedback_);
  return result;
}

void QueryPrograms::run(const InternalCommands& commands, const InternalPipeline& program,
                        VkDeviceAddress address, uint32_t groups) const {
  programs_.use(commands, program, address);
  next_.CmdDispatch(commands.handle, std::min(groups, kMaxGroups),
                    (groups + kMaxGroups - 1) / kMaxGroups, 1);
}

void QueryPrograms::add_records(const InternalCommands& commands, VkDeviceAddress batch,
                                const probe::QueryBatch& header) const {
  if (header.records != 0) run(commands, records_, batch, header.records);
  if (header.small_records != 0) {
    run(commands, small_records_, batch, groups_for(header.small_records));
  }
}

void QueryPrograms::add_indirects(const InternalCommands& commands, VkDeviceAddress batch,
                                  uint32_t count) const {
  run(commands, indirects_, batch, count);
}

void QueryPrograms::follow_feedback(const InternalCommands& commands, VkDeviceAddress spans) const {
  run(commands, feedback_, spans, 1);
}

void QueryPrograms::finish(const InternalCommands& commands, VkDeviceAddress batch,
                           uint32_t count) const {
  run(commands, finish_, batch, groups_for(count));
}

void QueryPrograms::copy(const InternalCommands& commands, VkDeviceAddress parameters,
                         uint32_t count) const {
  run(commands, copy_, parameters, (count + kCopyLanes - 1) / kCopyLanes);
}

}  // namespace tally::counters
