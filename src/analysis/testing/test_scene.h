// Writes captures for tests: a device, pipelines, and dispatches frame by frame.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "store/testing/test_capture.h"
#include "store/write/writer.h"

namespace tally::analysis {

// A compute shader of 4 blocks with source lines. Line 2 branches; line 3 runs if the condition
// holds, line 4 otherwise, line 6 after both. Lines 1, 5 and 7 have no code. The shader has a
// specialization constant. The instructions of the last block's return have no line.
std::vector<uint32_t> branching_shader();

// The compute shader of spirv::test::assemble_shader, in SPIR-V 1.3.
std::vector<uint32_t> assembled(std::string_view text);

class TestScene {
 public:
  using RowId = store::RowId;

  explicit TestScene(const std::string& path, const std::string& frame_range = {});

  // Adds a metric of the catalogue to the device.
  RowId add_metric(catalogue::Number number);

  // A compute shader whose entry point is "main".
  RowId add_shader(const std::string& hash, const std::string& name,
                   const std::vector<uint32_t>& words = branching_shader(),
                   const Specialization& constants = {});
  RowId add_pipeline(const std::string& hash, const std::string& name, RowId shader);
  void bind(RowId pipeline) { writer_.set_pipeline_bound(pipeline); }
  RowId add_label(std::optional<RowId> parent, const std::string& name);
  // `runs`: how often the submission executes what follows.
  void begin_frame(int64_t number, int64_t runs = 1);
  // `executions` are those of the shader's blocks; 0 if a block did not run.
  void dispatch(RowId pipeline, std::optional<RowId> label, std::optional<int64_t> gpu_time_ns,
                const std::vector<uint64_t>& executions);
  void dispatch_uncounted(RowId pipeline);
  // Dispatches of which those with a time stand for the others of `sample`. Each executes block 0
  // once.
  void dispatch_sampled(RowId pipeline, RowId sample,
                        const std::vector<std::optional<int64_t>>& gpu_times_ns);
  // A pass of 24x16 pixels, which all later dispatches of the frame belong to. Those of a `sample`
  // that have a time stand for the others.
  RowId begin_pass(std::optional<int64_t> gpu_time_ns, std::optional<RowId> sample = {});
  // The values of counters in the regions of 16x16 pixels of such a pass: 2, the right one 8 wide.
  void add_regions(RowId pass, const std::map<std::string, std::vector<uint32_t>>& counters);
  // A counter of the dispatch with this position in the frame, in some regions of the last ones.
  void add_region_draw(int64_t position, const std::string& counter,
                       const std::vector<uint32_t>& places, const std::vector<uint32_t>& values);
  // Why the commands of the pipeline were not counted.
  RowId add_uncounted_pipeline(const std::string& hash, RowId shader, const std::string& reason);
  // A value of a block of the last dispatch that does not follow from its executions.
  void set_value(uint32_t block, RowId metric, uint64_t value);
  void finish();

 private:
  store::Writer writer_;
  RowId device_ = 0, queue_ = 0, buffer_ = 0, executions_ = 0, instructions_ = 0, execution_ = 0,
        batch_ = 0, regions_ = 0;
  void add_dispatch(RowId pipeline, std::optional<RowId> label, std::optional<int64_t> gpu_time_ns,
                    bool counted);

  std::optional<RowId> pass_, sample_;
  uint32_t metrics_ = 0;
  std::vector<uint64_t> costs_;  // instructions by block
  int64_t position_ = 0, number_ = 0;
};

}  // namespace tally::analysis
