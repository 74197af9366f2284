// Reads a capture file, also one that is still being written or whose writer died. open() accepts
// versions kOldestCaptureVersion to kCaptureVersion; its error says in one line what is wrong with
// any other file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "store/format/rows.h"
#include "store/format/sqlite.h"

namespace tally::store {

// The values of one batch, by stage and block.
struct BatchValues {
  std::vector<BlockCountRow> counts;
  std::vector<BlockOtherRow> others;
};

class BatchValuesReader {
 public:
  // A column of a batch with `commands` commands. A column of another size is an error: the file is
  // damaged.
  Status read(RowId batch, size_t commands, BatchValues& values);

 private:
  friend class Reader;
  BatchValuesReader(Statement counts, Statement others)
      : counts_(std::move(counts)), others_(std::move(others)) {}
  Statement counts_;
  Statement others_;
};

class Reader {
 public:
  static Result<Reader> open(const std::string& path);

  const std::string& path() const { return path_; }
  int64_t version() const { return version_; }  // of the file's format
  // In bytes; 0 if it cannot be told.
  uint64_t file_size() const;
  // From now on all reads see the file as it is now, whatever is written meanwhile.
  Status hold() const { return database_.execute("BEGIN"); }

  // Small tables are read whole, ordered by id (metrics and queues by position, frames by device
  // and number).
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
  Result<std::vector<PipelineStatisticRow>> pipeline_statistics() const;  // by pipeline
  Result<std::vector<ObjectRow>> objects() const;
  Result<std::vector<LabelRow>> labels() const;
  Result<std::vector<FunctionRow>> functions() const;
  Result<std::vector<FrameRow>> frames() const;
  Result<std::vector<FrameCounterRow>> frame_counters() const;
  Result<std::vector<RegionCounterRow>> region_counters() const;
  Result<std::vector<MessageRow>> messages() const;
  Result<std::vector<ReplacementRow>> replacements() const;

  // Large tables are visited row by row in the order of their keys; the visitor returns false to
  // stop.
  Status for_each_frame_value(const std::function<bool(const FrameValue&)>& visit) const;
  Status for_each_submission(const std::function<bool(const SubmissionRow&)>& visit) const;
  Status for_each_execution(const std::function<bool(const ExecutionRow&)>& visit) const;
  Status for_each_pass(const std::function<bool(const PassRow&)>& visit) const;
  Status for_each_batch(const std::function<bool(const CommandBatchRow&)>& visit) const;
  Status for_each_block_cost(const std::function<bool(const BlockCostRow&)>& visit) const;
  // Reads the values of one batch at a time. The reader must outlive it.
  Result<BatchValuesReader> batch_values() const;

  // Ordered by pass, subpass and layer; without rows of more than stream::kMaxRegions regions.
  Status for_each_pass_regions(const std::function<bool(const PassRegionsRow&)>& visit) const;
  // The rows of one PassRegionsRow; without rows whose number of values is not the number of
  // regions.
  Status for_each_region_values(const PassRegionsRow& regions,
                                const std::function<bool(const RegionValuesRow&)>& visit) const;
  // The rows of single draws in these regions, by position; without rows that name others.
  Status for_each_region_draw(const PassRegionsRow& regions,
                              const std::function<bool(const RegionDrawRow&)>& visit) const;
  // None: there is no picture.
  Result<std::optional<PassPictureRow>> pass_picture(RowId pass, uint32_t layer) const;

  // Any other query, in SQL over the documented schema.
  Result<Statement> query(std::string_view sql) const { return database_.prepare(sql); }

 private:
  Reader(Database database, std::string path, int64_t version);

  Database database_;
  std::string path_;
  int64_t version_;
};

// The texts of source files that debug information only names, as `tally run --sources` found them.
// They are in the table `source_file`, which other captures do not have.

struct SourceText {
  std::string name;  // as recorded in the shaders
  std::string text;
};

// Adds the texts to a finished capture. A name that it has already keeps its text.
Status add_source_texts(const std::string& capture, const std::vector<SourceText>& texts);

// Empty if the capture has no such table.
Result<std::vector<SourceText>> source_texts(const Reader& reader);

}  // namespace tally::store
