// Sends what the passes of a completed submission did by region, pass by pass: behind the
// submission's own messages, because it may be much. Under the connection's emission lock.
#pragma once

#include "capture/emit/packet_builder.h"
#include "capture/readback/submission.h"
#include "capture/recording/region_capture.h"

namespace tally::capture {

class RegionMessages {
 public:
  RegionMessages(StreamConnection& connection, Id device, const RegionCapture& capture)
      : connection_(connection), device_(device), capture_(capture) {}

  // Of the submission's execution `index`.
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
