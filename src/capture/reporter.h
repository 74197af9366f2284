// Turns a device's completed submissions into messages. Any thread; one at a time by the channel's
// emission lock.
//
// When the receiver does not keep up: the first submission of a frame for which there is no room
// waits a little; then the block details of the rest of the frame are dropped, at last its
// commands. How many is told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/block_costs.h"
#include "capture/channel.h"
#include "capture/draft.h"
#include "capture/region_capture.h"
#include "capture/shaders.h"
#include "capture/submission.h"

namespace tally::capture {

class Reporter {
 public:
  Reporter(Channel& channel, ShaderRegistry& shaders, const RegionCapture& regions,
           stream::Device device);

  Id device() const { return device_.id; }
  void announce_device();
  void announce_queue(const stream::Queue& queue, const std::shared_ptr<Definable>& definable);
  // Reads the values of a submission that has completed, and sends them.
  void report(const Submission& submission);
  void report(const FrameEnd& end);
  // The submission's values can never be read.
  void lost(const Submission& submission, const std::string& why);
  // Names, messages and pipelines that nobody has needed so far.
  void report_rest();

 private:
  // One execution's values, read.
  struct Values {
    Recording::Read read;
    std::vector<std::vector<stream::StageValues>> stages;  // by result
    std::vector<stream::NotInstrumented> news;
  };
  struct Lost {
    int64_t blocks = 0;
    int64_t commands = 0;
  };

  std::vector<Values> read_values(const Submission& submission);
  void count_live(const Submission& submission, const std::vector<Values>& values);
  void note_missing_stages(const Execution& execution, Values& values);
  // Whether the submission was sent, with or without blocks.
  bool write_as_there_is_room(const Submission& submission, const std::vector<Values>& values);
  bool write(const Submission& submission, const std::vector<Values>& values, bool blocks,
             size_t limit);
  void write_regions(const Submission& submission, const std::vector<Values>& values);
  void write_execution(Draft& draft, const Submission& submission, size_t index,
                       const Values& values, bool blocks);
  void write_passes(Draft& draft, const Execution& execution, const Values& values);
  void write_frame(Draft& draft, const Frames::Frame& frame);
  void write_pipelines(Draft& draft);
  void write_lost(Draft& draft);
  bool push(Draft& draft, size_t limit);

  Channel& channel_;
  ShaderRegistry& shaders_;
  const RegionCapture& regions_;
  stream::Device device_;
  MetricLayout layout_;
  std::vector<uint32_t> live_places_;  // of its metrics in the live totals
  std::map<int64_t, bool> frames_;     // that were mentioned: whether the receiver knows them
  std::map<int64_t, Lost> lost_;       // by frame, not told yet
  int64_t congested_frame_ = -1;       // its details are dropped from here on
};

}  // namespace tally::capture
