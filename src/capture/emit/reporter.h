// Turns a device's completed submissions into messages. Any thread; one at a time by the
// connection's emission lock. Where the receiver does not keep up, the reporter waits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/emit/live_totals.h"
#include "capture/emit/packet_builder.h"
#include "capture/emit/stream_connection.h"
#include "capture/frame_set.h"
#include "capture/readback/block_costs.h"
#include "capture/readback/submission.h"
#include "capture/recording/region_capture.h"
#include "capture/recording/shaders.h"

namespace tally::capture {

class Reporter {
 public:
  Reporter(StreamConnection& connection, ShaderRegistry& shaders, const RegionCapture& regions,
           stream::Device device);

  Id device() const { return device_.id; }
  void announce_device();
  void announce_queue(const stream::Queue& queue, InternedObject& object);
  // Reads the values of a submission that has completed, and sends them.
  void report(const Submission& submission);
  void report(const FrameEnd& end);
  // The submission's values can never be read.
  void lost(const Submission& submission, const std::string& why);
  // Names, messages and pipelines that nobody has needed so far.
  void report_rest();

 private:
  class ExecutionReport;

  void write_frame(PacketBuilder& packet, const Frames::Frame& frame);
  void write_pipelines(PacketBuilder& packet);
  void write_passes(PacketBuilder& packet, const Execution& execution, const Recording::Read& read);
  void write_regions(const Submission& submission, const std::vector<bool>& overlapped);
  void note_missing_stages(PacketBuilder& packet, const Pipeline& pipeline, uint32_t stages);

  StreamConnection& connection_;
  ShaderRegistry& shaders_;
  const RegionCapture& regions_;
  stream::Device device_;
  MetricLayout layout_;
  std::vector<uint32_t> live_places_;  // of its metrics in the live totals
  FrameSet frames_;                    // that the receiver knows
};

}  // namespace tally::capture
