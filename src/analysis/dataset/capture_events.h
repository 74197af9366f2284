// The events of a capture, as tables: frames, labels, pipelines, passes and commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/dataset/capture_code.h"
#include "analysis/dataset/data_table.h"
#include "analysis/model/counts.h"
#include "analysis/model/model.h"
#include "analysis/model/timeline.h"
#include "analysis/tables/command_groups.h"

namespace tally::analysis {

struct DataCapture;

// The table of what encloses passes and commands in time: command buffers and labels.
DataTable span_table(const Model& model, const GpuPlaces& places, DataStrings& strings);

// The rows of the table of commands.
struct CommandRows {
  std::vector<uint32_t> row_of;    // by command
  std::vector<uint32_t> first_of;  // by row: its first command
  bool grouped = false;            // a row stands for several commands
  bool same_call = true;           // ... that are the same call
};

// How commands are put together where there are too many.
enum class Grouping { Each, SameCall, SamePipeline };

// Commands of a group have the same frame, pass, label and pipeline. The first use of a pipeline
// has a group of its own: its time includes what only the first one does.
CommandRows group_rows(const Model& model, Grouping grouping);

class CaptureEvents {
 public:
  CaptureEvents(const CaptureCode::Input& input, const GpuPlaces& places);

  // Adds the tables. `set_of`: by row of commands, its row of value sets.
  Status add(const CaptureCode& code, const CommandRows& rows, const std::vector<uint32_t>& set_of,
             const Progress& progress, DataCapture& capture);

  // The merged passes, by group of `report --by pass --merge`.
  const CommandGroups& merged() const { return merged_; }
  // The model's pipeline of each row.
  const std::vector<uint32_t>& pipelines() const { return pipelines_; }

 private:
  DataTable frames();
  DataTable labels() const;
  DataTable queues() const;
  DataTable pipelines_table() const;
  DataTable pipeline_shaders(const CaptureCode& code) const;
  Result<DataTable> statistics(const CaptureCode& code) const;
  DataTable merged_passes() const;
  DataTable passes() const;
  // `footprints`: by row; empty: none was counted.
  DataTable commands(const CommandRows& rows, const std::vector<uint32_t>& set_of,
                     const std::vector<Footprint>& footprints) const;
  void add_estimates(const CommandRows& rows, DataTable& table) const;
  DataTable time_samples() const;

  const CaptureCode::Input& in_;
  const Model& model_;
  const GpuPlaces& places_;
  const FirstUses first_uses_;
  const CommandGroups merged_;
  std::vector<uint32_t> frame_rows_;     // by frame
  std::vector<uint32_t> pipeline_rows_;  // by pipeline
  std::vector<uint32_t> pipelines_;      // by row
};

// Passes by region and their pictures, and counters by frame, as tables.

// Regions and pictures take much memory: the hottest instance of each merged pass comes first, and
// what does not fit is left out. `merged_of`: by pass, its merged pass. `row_of`: by command, its
// row of commands.
Status add_regions(const Model& model, const std::vector<uint32_t>& merged_of,
                   const std::vector<uint32_t>& row_of, DataCapture& capture);

// Frames with counters of EGL. `capture` has its table of frames.
Status add_egl_frames(const Model& model, DataCapture& capture);

}  // namespace tally::analysis
