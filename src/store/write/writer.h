// Writes a capture file. One thread at a time. While the file is open it is in WAL mode and rows
// are committed in transactions, so a reader finds everything committed so far, also when the
// writer dies; finish() makes it one plain file. The first error sticks: later calls do nothing,
// and status() returns it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_set>

#include "base/status.h"
#include "store/format/rows.h"

namespace tally::store {

class Writer {
 public:
  // Creates `path`. An existing capture there is replaced; any other existing file is an error.
  static Result<Writer> create(const std::string& path, const CaptureRow& capture);

  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();  // commits, and leaves the capture marked as unfinished

  // Adds a row of AllRows. Returns the id of the new row, or of the equal row that is already in
  // the file: metrics, modules (by hash), labels, functions and region counters are interned. A row
  // without an id replaces the row with the same key, but the first BlockCostRow stays.
  template <typename Row>
  std::conditional_t<kHasId<Row>, RowId, void> add(const Row& row);
  void add_all(std::span<const BlockCountRow> rows);
  // All values of a frame, once, in the order of their counters.
  void add_frame_values(std::span<const FrameValue> values);

  // Rows that become known late.
  void set_module_name(RowId module, const std::string& name);
  void set_pipeline_name(RowId pipeline, const std::string& name);
  void set_pipeline_bound(RowId pipeline);
  void set_object_name(RowId object, const std::string& name);
  void set_queue_name(RowId queue, const std::string& name);
  void set_shader_not_instrumented(RowId shader, const std::string& reason);
  void end_process(RowId process, int64_t end_ns, Ending ending,
                   std::optional<int64_t> commands_missing);
  void end_frame(RowId frame, int64_t end_ns, FrameEnd ended_by);
  void add_missing(RowId frame, int64_t commands);

  // The values of a batch are not complete: its commands count as uncounted.
  void lacks_values(RowId batch);

  // The number of a new value set: CommandBatchRow::value_set, and `batch` of its values. These
  // stay, whether or not a batch has them, until the set ends.
  RowId begin_value_set();
  // A new number for the `time_sample` of passes and batches.
  RowId add_time_sample();
  void end_value_set(RowId set);

  // Removes what belongs to a frame of each device, except for the device's last `count` frames.
  void keep_last_frames(uint64_t count);
  // Rows that a sender may refer to later.
  struct HeldRows {
    std::unordered_set<RowId> objects;
    std::unordered_set<RowId> labels;
  };
  // Removes the objects and labels that are not held and that no row refers to.
  void remove_unused(HeldRows held);
  // True if that is worth its time: it reads all objects and labels.
  bool has_many_new() const;

  // The size of the file, with what is not committed yet.
  uint64_t bytes();

  // Makes everything written so far visible to readers and durable.
  void commit();
  const Status& status() const;

  // Commits, writes the end, and closes: afterwards the capture is one plain file.
  Status finish(int64_t end_monotonic_ns, std::optional<int64_t> exit_status);

 private:
  struct State;
  explicit Writer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tally::store
