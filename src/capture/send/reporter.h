// Turns the completed submissions of a device into messages. Any thread may call it; where there is
// a receiver, the emission lock serializes the calls. The reporter waits if the receiver cannot
// keep up.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/base/block_costs.h"
#include "capture/base/frames.h"
#include "capture/base/sender.h"
#include "capture/record/region_capture.h"
#include "capture/record/shaders.h"
#include "capture/send/command_batches.h"
#include "capture/send/packet_builder.h"
#include "capture/submit/live_totals.h"
#include "capture/submit/submission.h"

namespace tally::capture {

class Reporter {
 public:
  Reporter(StreamConnection& connection, ShaderRegistry& shaders, const RegionCapture& regions,
           stream::Device device, MetricLayout layout);

  Id device() const { return device_.id; }
  StreamConnection& connection() { return connection_; }
  void announce_device();
  void announce_queue(const stream::Queue& queue, InternedObject& object);
  // Reads and sends the values of a completed submission.
  void report(const Submission& submission);
  void report(const FrameEnd& end);
  // Reports that the values of the submission can never be read.
  void lost(const Submission& submission, const std::string& why);
  // Reports the names, messages and pipelines that no other message has needed so far.
  void report_rest();

 private:
  // Reads one execution of a submission. Sends it if there is a receiver (`packet`), and adds it to
  // `live` if that is not null. Returns whether another execution of the recording overlapped it.
  bool report_execution(const Submission& submission, size_t index, LiveSum* live,
                        PacketBuilder* packet, uint64_t& missing);
  void learn(const Recording& recording, const CommandSlice& slice);
  void write_execution(PacketBuilder& packet, const Execution& execution, size_t index,
                       const Recording::Read& read);
  void write_frame(PacketBuilder& packet, const Frames::Frame& frame);
  void write_pipelines(PacketBuilder& packet);
  void write_passes(PacketBuilder& packet, const Execution& execution, const Recording::Read& read);
  void write_regions(PacketBuilder& packet, const Submission& submission,
                     const std::vector<bool>& overlapped);

  StreamConnection& connection_;
  ShaderRegistry& shaders_;
  const RegionCapture& regions_;
  const stream::Device device_;
  const MetricLayout layout_;
  const std::vector<uint32_t> live_places_;  // of the device's metrics in the live totals
  ValueSets value_sets_;
  FrameSet frames_;  // known to the receiver, by index
};

}  // namespace tally::capture
