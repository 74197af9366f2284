// Groups the commands of one execution into batches of columns (store/stream.h). A batch holds
// commands with the same function, pipeline and pass, and with values of the same stages and
// blocks. The commands of a batch need not be consecutive.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capture/emit/packet_builder.h"
#include "capture/readback/submission.h"

namespace tally::capture {

class CommandBatches {
 public:
  CommandBatches(PacketBuilder& packet, StreamConnection& connection, const Execution& execution,
                 const MetricLayout& layout);

  // Adds the command `index`, which belongs to `run`. `words` are the metric blocks of its result,
  // in the format of vkGetShaderInstrumentationValuesARM. Empty `words`: the command was not
  // counted.
  void add(const CommandRun& run, size_t index, std::span<const uint64_t> words,
           const std::optional<stream::GpuTime>& gpu);
  void flush();

 private:
  // Identifies the block of a column.
  struct BlockId {
    uint32_t sub = 0;
    uint32_t stage = 0;
    uint32_t block = 0;
    bool operator==(const BlockId&) const = default;
  };
  // A metric with values that differ from executions x cost.
  struct Other {
    uint32_t metric = 0;
    store::Column values;
  };
  struct Block {
    BlockId id;
    Shader* shader = nullptr;  // null: unknown
    store::Column executions;
    std::vector<Other> others;
  };
  // What the commands of a batch have in common.
  struct Head {
    store::Function function{};
    Pipeline* pipeline = nullptr;
    stream::PassOf pass_of = stream::PassOf::None;
    uint32_t pass = 0;
    uint32_t subpass = 0;
    bool counted = false;
    bool operator==(const Head&) const = default;
  };
  struct Batch {
    Head head;
    std::shared_ptr<Pipeline> pipeline;
    stream::CommandBatch message;
    std::vector<Block> blocks;
    size_t max_size = 0;
  };

  stream::CommandBatch describe(const Head& head) const;
  bool takes(const Batch& batch, const Head& head, std::span<const uint64_t> words) const;
  Batch& batch_for(const CommandRun& run, std::span<const uint64_t> words);
  Batch& begin_batch(const Head& head, const CommandRun& run, std::span<const uint64_t> words);
  BlockId block_id(std::span<const uint64_t> words, size_t index) const;
  void add_block(size_t at, Block& block, std::span<const uint64_t> values) const;
  static void begin_others(size_t at, Block& block, std::span<const uint64_t> values,
                           uint64_t executions, std::span<const uint64_t> costs);
  void send(Batch& batch);
  void send_values(Batch& batch);

  PacketBuilder& packet_;
  StreamConnection& connection_;
  const Execution& execution_;
  const MetricLayout& layout_;
  const size_t block_words_;
  std::deque<Batch> batches_;  // most recently used first
};

}  // namespace tally::capture
