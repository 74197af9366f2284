// Sends the values by region of a completed submission, pass by pass. They follow the other
// messages of the submission because they can be large. The caller holds the emission lock of the
// connection.
#pragma once

#include "capture/emit/packet_builder.h"
#include "capture/readback/submission.h"
#include "capture/recording/region_capture.h"

namespace tally::capture {

class RegionMessages {
 public:
  RegionMessages(StreamConnection& connection, Id device, const RegionCapture& capture)
      : connection_(connection), device_(device), capture_(capture) {}

  // Sends the values of execution `index` of the submission.
  void send(int64_t index, const Recording& recording);

 private:
  void add(PacketBuilder& packet, stream::PassRegions message,
           const RecordedRegions& regions) const;
  void send_picture(PacketBuilder& packet, stream::PassPicture message,
                    const RecordedPicture& picture);

  StreamConnection& connection_;
  const Id device_;
  const RegionCapture& capture_;
};

}  // namespace tally::capture
