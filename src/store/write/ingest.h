// Look-ups of the ids that a sender refers to.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "picture/picture.h"
#include "store/format/definition_rows.h"
#include "store/stream/stream.h"
#include "store/write/writer.h"

namespace tally::store {

inline Error unknown(const char* what, stream::Id id) {
  return {fmt::format("the capture stream refers to {} {}, which it never defined", what, id)};
}

// Null: the map has no such key.
template <typename Map>
const typename Map::mapped_type* find(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// Assembles the regions and pictures of passes from messages. It is an error if another one begins
// before the last one is complete.

class RegionIngest {
 public:
  explicit RegionIngest(Writer& writer) : writer_(writer) {}

  Status begin(const stream::PassRegions& regions, RowId pass);
  // `counters`: the rows of the device's region counters.
  Status add(const stream::RegionValues& values, std::span<const RowId> counters);
  Status add(const stream::RegionDraw& draw, std::span<const RowId> counters);
  Status begin(const stream::PassPicture& picture, RowId pass);
  Status add(const stream::PictureRows& rows);
  // A new submission begins: everything of the last one must be complete.
  Status end();

 private:
  Writer& writer_;
  RowId regions_ = 0;  // the last ones
  uint64_t region_count_ = 0;
  uint32_t counter_ = 0;
  std::vector<uint32_t> values_;  // of the counter, so far
  PassPictureRow picture_row_;
  Picture picture_;  // so far
};

// Ends the growth of a capture at a size. Once a message's rows do not fit, the capture is full and
// stays so.

class SizeLimit {
 public:
  // 0: no limit.
  explicit SizeLimit(uint64_t bytes) : bytes_(bytes) {}

  uint64_t bytes() const { return bytes_; }
  bool full() const { return full_; }
  // True if the rows of a message still fit. `completes`: it completes what has been written.
  bool fits(const stream::AnyMessage& message, bool completes, Writer& writer);

 private:
  const uint64_t bytes_;
  bool full_ = false;
};

// Writes one connection's messages into the capture: checks every reference and translates the
// sender's ids to rows. The first error ends the connection; what came before it stays.

class Ingest {
 public:
  Ingest(Writer& writer, SizeLimit& limit) : writer_(writer), limit_(limit), regions_(writer) {}

  Status take(stream::AnyMessage& message);
  // The connection is closed; `refused`: because the stream was malformed. `submitted`: how many
  // commands the ledger counts; none: there is no ledger. `full`: frames are missing because the
  // capture reached its limit.
  void end(int64_t time_ns, bool refused, std::optional<uint64_t> submitted, bool full = false);

  bool has_process() const { return process_ != 0; }
  bool ended() const { return ended_; }  // the sender has sent its end
  int64_t pid() const { return pid_; }
  uint64_t frames() const { return frame_count_; }
  // Began after the capture was full.
  uint64_t frames_dropped() const { return frames_dropped_; }
  // True if any message came when the capture was full.
  bool dropped() const { return dropped_; }
  RowId process() const { return process_; }
  // Adds the rows that later messages may refer to.
  void add_held(Writer::HeldRows& held) const;

 private:
  using Id = stream::Id;
  using Ids = std::unordered_map<Id, RowId>;

  struct Device {
    RowId row = 0;
    std::vector<RowId> metrics;
    std::vector<RowId> region_counters;
  };
  struct Shader {
    RowId row = 0;
    Id device = 0;
  };
  struct Queue {
    RowId row = 0;
    Id device = 0;
  };
  struct Pipeline {
    RowId row = 0;
    Id device = 0;
  };
  struct Counter {
    RowId row = 0;
    Id device = 0;
  };
  struct KnownFrame {
    RowId row = 0;
    bool has_values = false;
  };
  struct Execution {
    RowId row = 0;
    std::optional<uint32_t> parent;
    std::vector<RowId> passes;
  };

  Status on(stream::Process& process);
  Status on(stream::End& end);
  Status on(stream::Device& device);
  Status on(stream::Queue& queue);
  Status on(stream::Module& module);
  Status on(stream::Shader& shader);
  Status on(stream::Pipeline& pipeline);
  Status on(stream::PipelineStatistic& statistic);
  Status on(stream::Object& object);
  Status on(stream::Name& name);
  Status on(stream::Label& label);
  Status on(stream::Frame& frame);
  Status on(stream::FrameEnded& frame);
  Status on(stream::Submission& submission);
  Status on(stream::Execution& execution);
  Status on(stream::Pass& pass);
  Status on(stream::CommandBatch& batch);
  bool fits_batch(const Column& column);
  Status on(stream::BatchValues& values);
  Status on(stream::ForgetValues& forgotten);
  Status on(stream::BlockCosts& costs);
  Status on(stream::Missing& missing);
  Status on(stream::Message& message);
  Status on(stream::Replacement& replacement);
  Status on(stream::NotInstrumented& update);
  Status on(stream::Bound& update);
  Status on(stream::FrameCounter& counter);
  Status on(stream::FrameValues& values);
  Status on(stream::PassRegions& regions);
  Status on(stream::RegionValues& values);
  Status on(stream::RegionDraw& draw);
  Status on(stream::PassPicture& picture);
  Status on(stream::PictureRows& rows);
  Status on(stream::Gone& gone);

  Status define(Ids& ids, Id id, RowId row);
  Status forget(Ids& ids, const std::vector<Id>& gone, const char* what);
  Status resolve(const Ids& ids, Id id, const char* what, std::optional<RowId>& row) const;
  Status resolve_labels(Column& labels) const;
  std::optional<RowId> time_sample_of(Id sample);
  Status find_pass(const stream::CommandBatch& batch, std::optional<RowId>& pass) const;
  std::optional<int64_t> missing(std::optional<uint64_t> submitted) const;
  Result<RowId> pass_of(int64_t execution, uint32_t pass) const;

  // Messages that come when the capture is full.
  Status drop(stream::AnyMessage& message);

  Writer& writer_;
  SizeLimit& limit_;
  RegionIngest regions_;
  RowId process_ = 0;
  int64_t pid_ = 0;
  bool ended_ = false;
  int64_t end_ns_ = 0;
  uint64_t definitions_ = 0;  // but those that are gone
  uint64_t commands_ = 0;
  uint64_t missing_ = 0;  // reported by the sender, by frame
  std::unordered_map<Id, Device> devices_;
  std::unordered_map<Id, Queue> queues_;
  std::unordered_map<Id, Shader> shaders_;
  std::unordered_map<Id, Pipeline> pipelines_;
  std::unordered_map<Id, Counter> counters_;
  Ids modules_;
  Ids objects_;
  Ids labels_;
  struct ValueSet {
    RowId row = 0;
    uint32_t commands = 1;  // more: they differ
  };
  std::unordered_map<Id, ValueSet> value_sets_;
  Ids time_samples_;
  std::map<std::pair<Id, int64_t>, KnownFrame> frames_;  // the latest ones
  uint64_t frame_count_ = 0;
  uint64_t frames_dropped_ = 0;
  bool dropped_ = false;
  RowId submission_ = 0;
  RowId submission_frame_ = 0;
  Id submission_device_ = 0;
  std::vector<Execution> executions_;
  RowId batch_ = 0;  // the last one of the last execution
  // Where its values go, 0 if it gets none; and how many a column has.
  RowId values_of_ = 0;
  Id new_set_ = 0;  // begins with these values
  uint32_t values_size_ = 0;
};

}  // namespace tally::store
