// Groups the commands of one execution into batches of columns (store/stream.h). A batch holds
// commands with the same function, pipeline and pass, and with values of the same stages and
// blocks. The commands of a batch need not be consecutive.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "capture/record/recording.h"
#include "capture/send/packet_builder.h"
#include "capture/submit/submission.h"

namespace tally::capture {

// The values of a command, as the driver returned them. A program executes the same dispatches over
// and over: most have the values of an earlier one, which the receiver knows.
struct ValueSet {
  Id id = 0;
  std::vector<uint64_t> words;
};

// Value sets that the receiver knows, of commands and of whole batches: the draws of a frame often
// have the values of those of the frame before. One object for a device; the emission lock guards
// it.
class ValueSets {
 public:
  // Null if the pipeline has no such set.
  std::shared_ptr<const ValueSet> find(Id pipeline, std::span<const uint64_t> words,
                                       size_t block_words);
  // After find() has found none: true unless the pipeline's values seldom repeat.
  bool wants(Id pipeline) const;
  void add(Id pipeline, std::shared_ptr<const ValueSet> set);

  // The number of a set. 0: the values are not to be shared.
  struct OfBatch {
    Id id = 0;
    bool is_known = false;
  };
  // The set with the values of a batch of the pipeline.
  OfBatch of_batch(Id pipeline, std::span<const stream::BatchValues> values,
                   StreamConnection& connection);

  // The sets that are not used any more since the last call.
  std::vector<Id> take_forgotten() { return std::exchange(forgotten_, {}); }

 private:
  void make_room(size_t bytes);
  void forget(const ValueSet& set);

  struct OfPipeline {
    std::vector<std::shared_ptr<const ValueSet>> sets;  // the last one that was found comes first
    uint32_t misses = 0;                                // since one was found
    uint32_t batch_misses = 0;                          // likewise, of batches
  };
  struct BatchSet {
    Id id = 0;
    stream::Bytes values;  // the pipeline, then the messages
  };
  std::unordered_map<Id, OfPipeline> pipelines_;
  std::unordered_map<Hash128, BatchSet> batches_;
  std::vector<Id> forgotten_;
  size_t bytes_ = 0;
};

class CommandBatches {
 public:
  CommandBatches(PacketBuilder& packet, StreamConnection& connection, ValueSets& sets,
                 const Execution& execution, const MetricLayout& layout);

  void add(const CommandSlice& slice);
  void flush();

 private:
  // Identifies the block of a column.
  struct BlockId {
    uint32_t sub = 0;
    uint32_t stage = 0;
    uint32_t block = 0;
    bool operator==(const BlockId&) const = default;
  };
  // A returned metric with values that differ from executions x cost.
  struct Other {
    uint32_t metric = 0;  // index in MetricLayout::returned
    store::Column values;
  };
  struct Block {
    BlockId id;
    Shader* shader = nullptr;         // null: unknown
    std::span<const uint64_t> costs;  // of the returned metrics; empty: not learned yet
    store::Column executions;
    std::vector<Other> others;
  };
  // Shared by the commands of a batch.
  struct Head {
    store::Function function{};
    Pipeline* pipeline = nullptr;
    stream::PassOf pass_of = stream::PassOf::None;
    uint32_t pass = 0;
    uint32_t subpass = 0;
    uint16_t topology = CommandRun::kNoTopology;
    uint16_t patch_control_points = 0;
    bool primitive_restart = false;
    bool counted = false;
    bool repeats = false;
    uint64_t time_sample = 0;  // the number of a launch
    bool read = false;         // the driver returned what it has counted, if anything
    bool operator==(const Head&) const = default;
  };
  struct Batch {
    Head head;
    std::shared_ptr<Pipeline> pipeline;
    stream::CommandBatch message;
    std::vector<Block> blocks;
    // The values of all commands. Its blocks are those of the first command, and only sent if the
    // receiver does not know the set.
    std::shared_ptr<const ValueSet> set;
    size_t max_size = 0;
  };

  stream::CommandBatch describe(const Head& head) const;
  Head head_of(const CommandSlice& slice) const;
  bool takes(const Batch& batch, const Head& head, std::span<const uint64_t> words) const;
  // Adds a command to a batch of commands with the same values. False where its values are unlikely
  // to repeat.
  bool add_to_set(const CommandSlice& slice, Id label);
  Batch* find_batch(const Head& head, const ValueSet& set);
  // Returns a batch that takes at least the first command of the slice.
  Batch& batch_for(const CommandSlice& slice);
  Batch& begin_batch(const Head& head, const CommandSlice& slice);
  BlockId block_id(std::span<const uint64_t> words, size_t index) const;
  void append(Batch& batch, const CommandSlice& slice, Id label) const;
  void append_times(Batch& batch, const CommandSlice& slice) const;
  void append_block(Batch& batch, size_t block, const CommandSlice& slice) const;
  void add_values(size_t at, size_t count, Block& block, std::span<const uint64_t> values) const;
  static void begin_others(size_t at, size_t count, Block& block, std::span<const uint64_t> values,
                           uint64_t executions);
  // Makes room for one more open batch.
  Batch& open_batch();
  void send(Batch& batch);
  void send_costs(const Batch& batch);
  std::vector<stream::BatchValues> values_of(Batch& batch) const;
  void note_missing_shaders(const Batch& batch);

  PacketBuilder& packet_;
  StreamConnection& connection_;
  ValueSets& sets_;
  const Execution& execution_;
  const MetricLayout& layout_;
  const size_t block_words_;
  const std::vector<uint64_t> unit_costs_;  // where the capture adds the static costs
  std::deque<Batch> batches_;               // most recently used first
};

}  // namespace tally::capture
