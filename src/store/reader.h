// Reads a capture file, also one that is still being written or whose writer died. Only reads.
// open() accepts captures of kOldestCaptureVersion to kCaptureVersion and says in one line what is
// wrong with anything else.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/rows.h"
#include "store/sqlite.h"

namespace tally::store {

class Reader {
 public:
  static Result<Reader> open(const std::string& path);

  const std::string& path() const { return path_; }

  // Small tables come whole, ordered by id (metrics and queues by position, frames by device and
  // number).
  Result<CaptureRow> capture() const;
  Result<std::vector<ProcessRow>> processes() const;
  Result<std::vector<DeviceRow>> devices() const;
  Result<std::vector<QueueRow>> queues() const;
  Result<std::vector<MetricRow>> metrics()
      const;  // of all devices, in the order in which they are enumerated
  Result<std::vector<MetricRow>> device_metrics(RowId device) const;
  Result<std::vector<ModuleRow>> modules() const;  // without their SPIR-V
  Result<std::vector<uint32_t>> spirv(RowId module) const;
  Result<std::vector<ShaderRow>> shaders() const;
  Result<std::vector<PipelineRow>> pipelines() const;
  Result<std::vector<ObjectRow>> objects() const;
  Result<std::vector<LabelRow>> labels() const;
  Result<std::vector<CallRow>> calls() const;
  Result<std::vector<FrameRow>> frames() const;
  Result<std::vector<FrameCounterRow>> frame_counters() const;
  Result<std::vector<RegionCounterRow>> region_counters() const;
  Result<std::vector<MessageRow>> messages() const;

  // Large tables are visited row by row in order of their keys; the visitor returns false to stop.
  Status for_each_frame_value(const std::function<bool(const FrameValueRow&)>& visit) const;
  Status for_each_submission(const std::function<bool(const SubmissionRow&)>& visit) const;
  Status for_each_execution(const std::function<bool(const ExecutionRow&)>& visit) const;
  Status for_each_pass(const std::function<bool(const PassRow&)>& visit) const;
  Status for_each_command(const std::function<bool(const CommandRow&)>& visit) const;
  Status for_each_command_metric(const std::function<bool(const CommandMetricRow&)>& visit) const;
  Status for_each_block_cost(const std::function<bool(const BlockCostRow&)>& visit) const;
  Status for_each_block_count(const std::function<bool(const BlockCountRow&)>& visit) const;
  Status for_each_block_other(const std::function<bool(const BlockOtherRow&)>& visit) const;

  // By pass, subpass and layer; without those of more than stream::kMaxRegions regions.
  Status for_each_pass_regions(const std::function<bool(const PassRegionsRow&)>& visit) const;
  // Those of one PassRegionsRow. A row with another number of values than there are regions is
  // left out.
  Status for_each_region_values(const PassRegionsRow& regions,
                                const std::function<bool(const RegionValuesRow&)>& visit) const;
  // None where there is no picture.
  Result<std::optional<PassPictureRow>> pass_picture(RowId pass, uint32_t layer) const;

  // Any other question, in SQL over the documented schema.
  Result<Statement> query(std::string_view sql) const { return database_.prepare(sql); }

 private:
  Reader(Database database, std::string path, int64_t version);
  bool counts_frames() const { return version_ >= 2; }
  bool counts_regions() const { return version_ >= 3; }

  Database database_;
  std::string path_;
  int64_t version_;
};

}  // namespace tally::store
