// Sends the values by region of a completed submission, pass by pass.
#pragma once

#include <cstdint>

#include "capture/emit/packet_builder.h"
#include "capture/recording/recording.h"
#include "capture/recording/region_capture.h"

namespace tally::capture {

// Sends the values of execution `index` of the submission.
void send_regions(PacketBuilder& packet, const RegionCapture& capture, int64_t index,
                  const Recording& recording);

}  // namespace tally::capture
