// Writes a capture file. One thread at a time. While it is open the file is in WAL mode and rows
// are committed in batches, so a reader finds everything committed so far, also when the writer
// dies; finish() makes it one plain file. The first error sticks: later calls do nothing, status()
// says why.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "store/rows.h"

namespace tally::store {

class Writer {
 public:
  // Creates `path`; an existing capture there is replaced, any other existing file is an error.
  static Result<Writer> create(const std::string& path, const CaptureRow& capture);

  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();  // commits, and leaves the capture marked as unfinished

  // Each returns the id of the new row, or of the equal row that is already there (metric, module
  // by hash, label, function, region counter).
  RowId add(const ProcessRow& row);
  RowId add(const DeviceRow& row);
  RowId add(const QueueRow& row);
  RowId add(const MetricRow& row);
  RowId add(const ModuleRow& row);
  RowId add(const ShaderRow& row);
  RowId add(const PipelineRow& row);
  RowId add(const ObjectRow& row);
  RowId add(const LabelRow& row);
  RowId add(const FunctionRow& row);
  RowId add(const FrameRow& row);
  RowId add(const FrameCounterRow& row);
  RowId add(const SubmissionRow& row);
  RowId add(const ExecutionRow& row);
  RowId add(const PassRow& row);
  RowId add(const RegionCounterRow& row);
  RowId add(const PassRegionsRow& row);
  RowId add(const CommandBatchRow& row);
  RowId add(const MessageRow& row);
  void add(const FrameValueRow& row);
  void add(const RegionValuesRow& row);
  void add(const PassPictureRow& row);
  void add(
      const BlockCostRow& row);  // a second cost of the same shader, block and metric is ignored
  void add(const BlockCountRow& row);
  void add(const BlockOtherRow& row);
  void add_device_metric(RowId device, uint32_t position, RowId metric);

  // What becomes known late.
  void set_module_name(RowId module, const std::string& name);
  void set_pipeline_name(RowId pipeline, const std::string& name);
  void set_object_name(RowId object, const std::string& name);
  void set_queue_name(RowId queue, const std::string& name);
  void set_shader_not_instrumented(RowId shader, const std::string& reason);
  void end_process(RowId process, int64_t end_ns, Ending ending,
                   std::optional<int64_t> commands_missing);
  void end_frame(RowId frame, int64_t end_ns, FrameEnd ended_by);
  void add_missing(RowId frame, int64_t commands);

  // Makes everything written so far visible and safe.
  void commit();
  const Status& status() const;

  // Commits, notes the end, and closes: afterwards the capture is one plain file.
  Status finish(int64_t end_monotonic_ns, std::optional<int64_t> exit_status);

 private:
  struct State;
  explicit Writer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tally::store
