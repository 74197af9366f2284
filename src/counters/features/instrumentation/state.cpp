#include "counters/features/instrumentation/state.h"

#include <cstring>

#include "gather_records.comp.h"

namespace tally::counters {
namespace {

// The same in glsl/gather_records.comp.
struct Header {
  uint32_t runs = 0;
  uint32_t groups = 0;
};
static_assert(sizeof(GatherRun) == 48);
constexpr uint32_t kInvocationsLog2 = 7;
constexpr uint32_t kMaxSharesLog2 = 5;

constexpr uint32_t kMaxGroups = 65535;

// Returns the number of workgroups.
uint32_t share_out(std::vector<GatherRun>& runs) {
  uint32_t groups = 0;
  for (GatherRun& run : runs) {
    // Records that follow each other without a gap are one.
    if (run.shards_log2 == 0 && run.source_distance == run.counters * probe::kCounterBytes &&
        run.target_distance == run.source_distance) {
      run.counters *= run.records;
      run.records = 1;
    }
    const uint32_t together_log2 = kInvocationsLog2 - std::min(run.shards_log2, kMaxSharesLog2);
    run.first_group = groups;
    run.groups_of_record = (run.counters + (1u << together_log2) - 1) >> together_log2;
    groups += run.records * run.groups_of_record;
  }
  return groups;
}

}  // namespace

VkResult RecordGather::prepare() {
  const std::lock_guard lock(mutex_);
  return programs_.make(gather_records_comp, {}, program_);
}

VkResult RecordGather::record(const InternalCommands& commands,
                              std::span<const RecordedRange> ranges) {
  VkResult result = prepare();
  std::vector<GatherRun> runs;
  std::vector<RecordRange::Results> results(ranges.size());
  for (size_t i = 0; i < ranges.size() && result == VK_SUCCESS; ++i) {
    result = ranges[i].object->plan_gather(*ranges[i].range, results[i], runs);
  }
  if (result != VK_SUCCESS || runs.empty()) return result;
  const Header header{static_cast<uint32_t>(runs.size()), share_out(runs)};
  RecordRange::Results place;
  RecordPage page;
  result = ranges.front().object->reserve_results(sizeof header + runs.size() * sizeof(GatherRun),
                                                  place, page);
  if (result != VK_SUCCESS) return result;
  std::byte* const target = page.chunk->host() + page.offset + place.offset;
  std::memcpy(target, &header, sizeof header);
  std::memcpy(target + sizeof header, runs.data(), runs.size() * sizeof(GatherRun));
  page.chunk->flush(page.offset + place.offset, place.bytes);

  const auto barrier = [&](VkPipelineStageFlags from, VkAccessFlags made, VkPipelineStageFlags to,
                           VkAccessFlags seen) {
    const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, made, seen};
    next_.CmdPipelineBarrier(commands.handle, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
  };
  barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_SHADER_WRITE_BIT,
          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
          VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
  programs_.use(commands, program_, page.address + place.offset);
  next_.CmdDispatch(commands.handle, std::min(header.groups, kMaxGroups),
                    (header.groups + kMaxGroups - 1) / kMaxGroups, 1);
  barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
          VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  for (size_t i = 0; i < ranges.size(); ++i) {
    ranges[i].object->gathered(*ranges[i].range, results[i]);
  }
  return VK_SUCCESS;
}

}  // namespace tally::counters
