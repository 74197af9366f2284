// What VK_EXT_debug_utils, VK_EXT_debug_marker and VK_EXT_private_data attach to objects of the
// layer. The driver must never receive a handle of the layer. Thread-safe.
#pragma once

#include <tally/vulkan_arm.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "counters/features/instrumentation/object.h"
#include "counters/shaders/internal_objects.h"
#include "counters/shaders/program.h"
#include "vk/handles.h"

namespace tally::counters {

class ObjectNames {
 public:
  void set_private_data(uint64_t object, VkPrivateDataSlot slot, uint64_t data) {
    const std::lock_guard lock(mutex_);
    private_data_[{object, vk::handle_bits(slot)}] = data;
  }
  // 0 if nothing was set, as specified.
  uint64_t private_data(uint64_t object, VkPrivateDataSlot slot) const {
    const std::lock_guard lock(mutex_);
    const auto found = private_data_.find({object, vk::handle_bits(slot)});
    return found == private_data_.end() ? 0 : found->second;
  }
  void remove(uint64_t object) {
    const std::lock_guard lock(mutex_);
    private_data_.erase(private_data_.lower_bound({object, 0}),
                        private_data_.upper_bound({object, ~uint64_t{0}}));
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> private_data_;
};

// Moves records to results, at the end of a primary command buffer: the GPU sums the shards, adds
// the sums to memory that the processor caches, and leaves zeros in the records. The host then
// reads a few bytes a command, over no bus, and the records' memory needs no other zeroing.
// Thread-safe.
//
// Executions of a command buffer follow each other, so each finds the records as it needs them. Not
// gathered, and read where they are, are the records of command buffers with simultaneous use and
// of secondary ones, those that queries read too, and few bytes that the host can map: it reads
// them over the bus in less time than the GPU takes for a dispatch.

struct RecordedRange {
  std::shared_ptr<Instrumentation> object;
  RecordRange* range = nullptr;
};

class RecordGather {
 public:
  RecordGather(VkDevice device, const DeviceTable& next, const PushOffsets& offsets)
      : next_(next), programs_(device, next, offsets) {}
  ~RecordGather() { programs_.destroy(program_); }
  RecordGather(const RecordGather&) = delete;
  RecordGather& operator=(const RecordGather&) = delete;

  // A command buffer with fewer bytes of mapped records is not worth it.
  static constexpr uint64_t kMinBytes = 4096;

  // Records it for the ranges, outside of a render pass. On failure they are read where they are.
  VkResult record(const InternalCommands& commands, std::span<const RecordedRange> ranges);
  // Adds counters to others, and zeroes them. Where they are is written to memory of the object.
  VkResult move(const InternalCommands& commands, std::vector<GatherRun>& runs,
                Instrumentation& object);

 private:
  VkResult prepare();

  const DeviceTable& next_;
  std::mutex mutex_;  // held while the pipeline is created
  InternalPipelines programs_;
  InternalPipeline program_;
};

// Draws that the driver counts: the plain pipeline runs within a pipeline statistics query, whose
// results, the invocations of the vertex and the fragment shader, become the draw's record. For
// pipelines whose shaders only need a counter of their invocations.

// A device's state. Thread-safe.
struct InvocationQueries {
  InvocationQueries(VkDevice device, const DeviceTable& next, bool has_one_queue)
      : pools(device, next, VK_QUERY_TYPE_PIPELINE_STATISTICS,
              VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT |
                  VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT,
              0),
        one_queue(has_one_queue) {}

  OwnQueries pools;
  const bool one_queue;  // executions of a command buffer follow each other
  // The application has pools of this type: a command buffer can have one active query of a type.
  std::atomic<bool> application_queries = false;
};

// In one command buffer. Used by one thread at a time. Steady state: no allocation.
class InvocationRecorder {
 public:
  InvocationRecorder(InvocationQueries& queries, VkCommandBuffer commands, const DeviceTable& next)
      : queries_(queries), commands_(commands), next_(next) {}
  ~InvocationRecorder() { reset(); }
  InvocationRecorder(const InvocationRecorder&) = delete;
  InvocationRecorder& operator=(const InvocationRecorder&) = delete;

  // So many draws of a recording at most.
  static constexpr uint32_t kMaxDraws = 1024;

  const InvocationQueries& queries() const { return queries_; }
  void reset();
  // Before the draw that counts into the record at this offset of the page, and after it.
  VkResult begin(const RecordPage& page, VkDeviceSize offset);
  void end();
  bool in_draw() const { return in_draw_; }
  // True if it may count another draw. The application may create a pool while it records.
  bool may_begin() const {
    return draws_ != kMaxDraws && !queries_.application_queries.load(std::memory_order_relaxed);
  }
  // True if there are draws since the last finish().
  bool unfinished() const { return !runs_.empty(); }
  // Outside of render passes: fills the records of the draws since the last call. `sums`: the
  // command buffer may be executed several times, so it adds to the records; that takes memory of
  // the object.
  VkResult finish(RecordGather* sums, const InternalCommands& commands, Instrumentation& object);

 private:
  // Draws whose queries and records follow each other.
  struct Run {
    size_t pool = 0;
    uint32_t first = 0;  // query
    uint32_t count = 0;
    Chunk* chunk = nullptr;
    VkDeviceSize offset = 0;  // in the chunk
  };

  void copy(const Run& run, VkBuffer target, VkDeviceSize offset) const;
  void barrier(VkPipelineStageFlags from, VkAccessFlags made, VkPipelineStageFlags to,
               VkAccessFlags seen) const;
  VkResult add(RecordGather& sums, const InternalCommands& commands, Instrumentation& object);

  InvocationQueries& queries_;
  VkCommandBuffer commands_;
  const DeviceTable& next_;
  std::vector<OwnQueries::Pool> pools_;
  std::vector<Run> runs_;  // since the last finish()
  uint32_t draws_ = 0;     // of the recording
  bool in_draw_ = false;
};

// A device's state for VK_ARM_shader_instrumentation, and for all records that shaders write.

struct InstrumentationState {
  InstrumentationState(bool is_enabled, const ShardTable& shard_table)
      : enabled(is_enabled), shards(shard_table) {}

  const bool enabled;  // the application enabled the feature
  const ShardTable shards;
  // Null where the host reads records where they are, and the driver counts no draws.
  std::unique_ptr<RecordGather> gather;
  std::unique_ptr<InvocationQueries> invocations;  // null where the driver counts no draws
  vk::HandleMap<VkShaderInstrumentationARM, std::shared_ptr<Instrumentation>> objects;
  ObjectNames names;

  // Deferred destruction: keeps an object that was destroyed while in use, and releases the kept
  // objects that no submitted work uses any more. Null only releases.
  void defer_destruction(std::shared_ptr<Instrumentation> object) {
    const std::lock_guard lock(mutex_);
    std::erase_if(destroyed_, [](const auto& kept) { return !kept->in_use(); });
    if (object) destroyed_.push_back(std::move(object));
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::vector<std::shared_ptr<Instrumentation>> destroyed_;
};

// VK_ARM_shader_instrumentation while a command buffer is recorded: the active object, and the
// records of the commands. Used by one thread at a time. Steady state: no lock, no allocation.

class InstrumentationRecorder {
 public:
  explicit InstrumentationRecorder(const ShardTable& shards) : shards_(shards) {}

  void reset();
  void begin(const std::shared_ptr<Instrumentation>& object);
  void end();
  bool active() const { return active_ != nullptr; }
  // Objects that commands of this command buffer, or of executed secondaries, write to.
  const std::vector<std::shared_ptr<Instrumentation>>& objects() const { return objects_; }
  void execute(const InstrumentationRecorder& secondary);
  // The ranges of this command buffer whose records can be gathered at its end.
  std::vector<RecordedRange> gatherable() const;
  // Queries read the records of the active range.
  void share() { range_->stays = true; }
  // The size of all records since the last reset.
  uint64_t bytes() const { return bytes_; }

  const ShardTable& shards() const { return shards_; }

  // --- commands, while active
  uint32_t take_index() { return active_->take_index(); }
  // Cuts zeroed memory for a record from the open page, or from a new one.
  VkResult reserve(uint64_t bytes, uint32_t shards_log2, VkDeviceSize& offset);
  VkDeviceAddress address_of(VkDeviceSize offset) const { return page_.page.address + offset; }
  const RecordPage& page() const { return page_.page; }
  void append(uint32_t result_index, VkDeviceSize offset, uint32_t shards_log2,
              const std::shared_ptr<const Program>& program);
  // A pair of record pointers in a descriptor set.
  VkResult next_words(WordPage& page, uint32_t& index);

  // --- consecutive draws: the record that would extend the last run
  const InstrumentationRecord& next() const { return range_->next(); }
  bool next_fits(uint64_t bytes) const {
    return next().offset * probe::kRecordAlignment == page_.used &&
           page_.page.size - page_.used >= bytes;
  }
  VkDeviceAddress next_address() const { return page_.page.address + page_.used; }
  // False if another command buffer took the result index in between.
  bool append_next(uint64_t bytes) {
    if (!active_->take_index(next().result_index)) return false;
    page_.use(bytes);  // zeroed before other threads see the record
    bytes_ += bytes;
    range_->append_next();
    return true;
  }

 private:
  void close_pages();
  void add_object(const std::shared_ptr<Instrumentation>& object);

  const ShardTable& shards_;
  std::shared_ptr<Instrumentation> active_;
  RecordRange* range_ = nullptr;
  Instrumentation::OpenPage page_;
  Instrumentation::OpenWords words_;
  const Program* kept_program_ = nullptr;  // the last one that the range keeps alive
  std::vector<std::shared_ptr<Instrumentation>> objects_;
  std::vector<RecordedRange> ranges_;
  uint64_t bytes_ = 0;
};

}  // namespace tally::counters
