// The commands of one execution as batches of columns (store/stream.h). Commands are in a batch
// together when they are alike: the same function, pipeline and pass, and values of the same stages
// and blocks. They need not follow each other.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "capture/emit/packet_builder.h"
#include "capture/readback/submission.h"

namespace tally::capture {

class CommandBatches {
 public:
  CommandBatches(PacketBuilder& packet, Channel& channel, const Execution& execution,
                 const MetricLayout& layout);

  // The recording's command `index` with the metric blocks of its result, as
  // vkGetShaderInstrumentationValuesARM gives them; no words: it was not counted.
  void add(size_t index, std::span<const uint64_t> words,
           const std::optional<stream::GpuTime>& gpu);
  void flush();

 private:
  // Which block a column is of.
  struct BlockId {
    uint32_t sub = 0;
    uint32_t stage = 0;
    uint32_t block = 0;
    bool operator==(const BlockId&) const = default;
  };
  struct Block {
    BlockId id;
    store::Column executions;
    // Where a value is not executions x cost: the metric's column. None: all of them are.
    std::vector<std::optional<store::Column>> others;
  };
  struct Batch {
    stream::CommandBatch message;
    uint32_t pipeline = RecordedCommand::kNone;
    std::vector<Block> blocks;
    size_t max_size = 0;
  };

  stream::CommandBatch describe(const RecordedCommand& command) const;
  bool takes(const Batch& batch, const stream::CommandBatch& head,
             std::span<const uint64_t> words) const;
  Batch& batch_for(const RecordedCommand& command, std::span<const uint64_t> words);
  BlockId block_id(std::span<const uint64_t> words, size_t index) const;
  void add_block(Batch& batch, Block& block, std::span<const uint64_t> values);
  void send(Batch& batch);
  void send_values(const Batch& batch);
  Shader* shader_of(const Batch& batch, uint32_t stage) const;

  PacketBuilder& packet_;
  Channel& channel_;
  const Execution& execution_;
  const MetricLayout& layout_;
  const size_t block_words_;
  std::deque<Batch> batches_;  // the one that took the last command first
};

}  // namespace tally::capture
