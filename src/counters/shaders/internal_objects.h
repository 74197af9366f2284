// Query pools and compute pipelines of the layer. The only input of these pipelines is an address
// in a push constant, in the bytes that the layer reserves in the application's layouts
// (layouts/pipeline_layout.h). So they change nothing but the bound compute pipeline and those
// bytes.
//
// Push constants invalidate the descriptor heaps that are bound, and push data invalidate
// descriptor sets. So where descriptor heaps are enabled, each pipeline exists a second time, with
// heaps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "counters/base/device_table.h"
#include "probe/query.h"

namespace tally::counters {

// Where the 8 bytes of the address are.
struct PushOffsets {
  uint32_t constants = 0;
  uint32_t data = 0;
  bool heaps = false;  // descriptor heaps are enabled
};

struct InternalPipeline {
  VkPipeline sets = VK_NULL_HANDLE;
  VkPipeline heaps = VK_NULL_HANDLE;  // null where heaps are not enabled
};

// A command buffer that the layer records a dispatch into.
struct InternalCommands {
  VkCommandBuffer handle = VK_NULL_HANDLE;
  bool uses_heaps = false;  // it uses descriptor heaps
};

// The kind of descriptors that the application's shaders use, according to the last command that
// changed it: a command of one kind invalidates all state of the other, also the application's.
// Always None where descriptor heaps are not enabled.
enum class DescriptorKind : uint8_t {
  None,
  Sets,  // descriptor sets or descriptor buffers, with push constants
  Heaps  // descriptor heaps, with push data
};
struct DescriptorMode {
  DescriptorKind kind = DescriptorKind::None;
  bool uses_heaps() const { return kind == DescriptorKind::Heaps; }
};

class InternalPipelines {
 public:
  InternalPipelines(VkDevice device, const DeviceTable& next, const PushOffsets& offsets)
      : device_(device), next_(next), offsets_(offsets) {}
  ~InternalPipelines();
  InternalPipelines(const InternalPipelines&) = delete;
  InternalPipelines& operator=(const InternalPipelines&) = delete;

  // Creates `pipeline` if it is null. The caller owns it and destroys it before this object. The
  // code has its push constant at byte 96. `constants` are the specialization constants from ID 0
  // on.
  VkResult make(std::span<const uint32_t> code, std::span<const uint32_t> constants,
                InternalPipeline& pipeline);
  void destroy(const InternalPipeline& pipeline) const;

  // Binds the pipeline and pushes the address, for the dispatch that follows.
  void use(const InternalCommands& commands, const InternalPipeline& pipeline,
           uint64_t address) const;

 private:
  VkResult make_layout();
  VkResult make_one(std::span<const uint32_t> code, std::span<const uint32_t> constants, bool heaps,
                    VkPipeline& pipeline);

  VkDevice device_;
  const DeviceTable& next_;
  PushOffsets offsets_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
};

// Pipelines that do nothing. Their handles stand for pipelines of the application that the driver
// does not have yet. Thread-safe.

class StandIns {
 public:
  StandIns(VkDevice device, const DeviceTable& next) : programs_(device, next, {}) {}

  // The caller owns the pipeline.
  VkResult make(VkPipeline& pipeline);

 private:
  std::mutex mutex_;  // held while a pipeline is created
  InternalPipelines programs_;
};

// The compute pipeline that writes timestamps where the driver has none
// (glsl/query_timestamp.comp). Created with the device.

// Timestamp units per tick of the shader clock.
struct ClockScale {
  uint32_t whole = 1;
  uint32_t fraction = 0;  // of 2^32
};

// How a timestamp is computed from the clock.
struct ClockReading {
  ClockScale scale;
  uint64_t start = 0;          // the timestamp when the clock is 0
  VkDeviceAddress lately = 0;  // for a 32-bit clock: see CoarseTime
};

class ClockProgram {
 public:
  ClockProgram(VkDevice device, const DeviceTable& next, const PushOffsets& offsets)
      : next_(next), programs_(device, next, offsets) {}
  ~ClockProgram() { programs_.destroy(pipeline_); }
  ClockProgram(const ClockProgram&) = delete;
  ClockProgram& operator=(const ClockProgram&) = delete;

  // Replaces a pipeline that was created for another reading.
  VkResult make(const ClockReading& reading);
  // Writes the timestamp that the probe::QueryTimestamp at the address describes.
  void write(const InternalCommands& commands, VkDeviceAddress parameters) const;

 private:
  const DeviceTable& next_;
  InternalPipelines programs_;
  InternalPipeline pipeline_;
};

// The compute pipelines of emulated queries (glsl/query_*.comp), created at first use. Thread-safe.

class QueryPrograms {
 public:
  QueryPrograms(VkDevice device, const DeviceTable& next, const PushOffsets& offsets,
                uint32_t subgroup_size)
      : next_(next), lanes_(std::clamp(subgroup_size, 8u, 64u)), programs_(device, next, offsets) {}
  ~QueryPrograms();
  QueryPrograms(const QueryPrograms&) = delete;
  QueryPrograms& operator=(const QueryPrograms&) = delete;

  VkResult prepare();

  // Executes the record operations of the batch (probe/query.h) at the address.
  void add_records(const InternalCommands& commands, VkDeviceAddress batch,
                   const probe::QueryBatch& header) const;
  // Executes its indirect operations.
  void add_indirects(const InternalCommands& commands, VkDeviceAddress batch, uint32_t count) const;
  // Processes spans of transform feedback. Their header (probe/query.h) is at the address.
  void follow_feedback(const InternalCommands& commands, VkDeviceAddress spans) const;
  void finish(const InternalCommands& commands, VkDeviceAddress batch, uint32_t count) const;
  // Writes the results of `count` queries.
  void copy(const InternalCommands& commands, VkDeviceAddress parameters, uint32_t count) const;

 private:
  uint32_t groups_for(uint32_t invocations) const { return (invocations + lanes_ - 1) / lanes_; }
  void run(const InternalCommands& commands, const InternalPipeline& program,
           VkDeviceAddress address, uint32_t groups) const;

  const DeviceTable& next_;
  const uint32_t lanes_;  // workgroup size of the record and finish operations
  std::mutex mutex_;      // held while pipelines are created
  InternalPipelines programs_;
  InternalPipeline records_;
  InternalPipeline small_records_;
  InternalPipeline finish_;
  InternalPipeline indirects_;
  InternalPipeline copy_;
  InternalPipeline feedback_;
};

// The compute pipelines of counters by region (glsl/region_*.comp), created at first use.
// Thread-safe.

class RegionPrograms {
 public:
  RegionPrograms(VkDevice device, const DeviceTable& next, const PushOffsets& offsets)
      : next_(next), programs_(device, next, offsets) {}
  ~RegionPrograms();
  RegionPrograms(const RegionPrograms&) = delete;
  RegionPrograms& operator=(const RegionPrograms&) = delete;

  VkResult prepare();

  // A workgroup processes kTile x kTile regions.
  static constexpr uint32_t kTile = 8;
  // Writes the values of the subpass with the RegionBlock at `block` to the application's buffers.
  void write_values(const InternalCommands& commands, VkDeviceAddress block, uint32_t columns,
                    uint32_t rows, uint32_t layers) const;
  // Takes the accumulators of the draws in a list (glsl/region_draws.comp), for write_values.
  void add_draws(const InternalCommands& commands, VkDeviceAddress list, uint32_t columns,
                 uint32_t rows, uint32_t layers) const;
  // Links or unlinks the secondary command buffers of a list.
  void link(const InternalCommands& commands, VkDeviceAddress list, bool unlink) const;

 private:
  void run(const InternalCommands& commands, const InternalPipeline& program,
           VkDeviceAddress address, uint32_t columns, uint32_t rows, uint32_t layers) const;

  const DeviceTable& next_;
  std::mutex mutex_;  // held while pipelines are created
  InternalPipelines programs_;
  InternalPipeline values_;
  InternalPipeline draws_;
  InternalPipeline links_;
};

// Query pools of one type, which recordings use. Needs hostQueryReset. Thread-safe.
class OwnQueries {
 public:
  static constexpr uint32_t kQueries = 256;  // of each VkQueryPool

  // A VkQueryPool that one recording uses, from the first query on.
  struct Pool {
    VkQueryPool handle = VK_NULL_HANDLE;
    uint32_t used = 0;

    bool has(uint32_t queries) const { return kQueries - used >= queries; }
  };

  // `flags`: for vkCmdBeginQuery.
  OwnQueries(VkDevice device, const DeviceTable& next, VkQueryType type,
             VkQueryPipelineStatisticFlags statistics, VkQueryControlFlags flags)
      : device_(device), next_(next), type_(type), statistics_(statistics), flags_(flags) {}
  ~OwnQueries();
  OwnQueries(const OwnQueries&) = delete;
  OwnQueries& operator=(const OwnQueries&) = delete;

  VkQueryControlFlags flags() const { return flags_; }
  VkResult acquire(VkQueryPool& pool);
  // Call where no command that uses it is pending. A recording may have run without its end, so
  // the queries that it used are reset again.
  void release(const Pool& pool);

 private:
  VkDevice device_;
  const DeviceTable& next_;
  VkQueryType type_;
  VkQueryPipelineStatisticFlags statistics_;
  VkQueryControlFlags flags_;
  std::mutex mutex_;  // guards what follows
  std::vector<VkQueryPool> all_;
  std::vector<VkQueryPool> free_;
};

}  // namespace tally::counters
