#include "capture/emit/region_messages.h"

#include <algorithm>
#include <span>

#include "capture/readback/texels.h"

namespace tally::capture {
namespace {

constexpr size_t kValuesPerMessage = size_t{256} << 10;
constexpr size_t kPixelsPerMessage = size_t{256} << 10;

void add_values(PacketBuilder& packet, uint32_t counter, const std::vector<uint32_t>& values) {
  for (size_t at = 0; at < values.size(); at += kValuesPerMessage) {
    const size_t end = std::min(values.size(), at + kValuesPerMessage);
    packet.add(stream::RegionValues{counter,
                                    {values.begin() + static_cast<ptrdiff_t>(at),
                                     values.begin() + static_cast<ptrdiff_t>(end)}});
  }
}

// Sends one layer at a time, with as many rows per message as fit.
void send_picture(PacketBuilder& packet, stream::PassPicture message,
                  const RecordedPicture& picture) {
  const size_t row_bytes = picture.row_bytes();
  const size_t bytes_at_once = std::max<size_t>(kPixelsPerMessage / message.width, 1) * row_bytes;
  for (message.layer = 0; message.layer < picture.layers; ++message.layer) {
    packet.add(message);
    std::span<const std::byte> texels = picture.layer(message.layer);
    const AmountRange range = amount_range(picture.format, texels);
    while (!texels.empty()) {
      const auto part = texels.first(std::min(texels.size(), bytes_at_once));
      packet.add(stream::PictureRows{to_pixels(picture.format, part, range)});
      texels = texels.subspan(part.size());
    }
  }
}

void send_pass(PacketBuilder& packet, uint32_t counters, stream::PassRegions message,
               const RecordedRegions& regions) {
  for (message.subpass = 0; message.subpass < regions.shape.subpasses; ++message.subpass) {
    for (message.layer = 0; message.layer < regions.shape.layers; ++message.layer) {
      packet.add(message);
      for (uint32_t counter = 0; counter < counters; ++counter) {
        const auto values = regions.read(message.subpass, message.layer, counter);
        const bool zero = std::ranges::all_of(values, [](uint32_t value) { return value == 0; });
        if (!zero) add_values(packet, counter, values);
      }
    }
  }
}

}  // namespace

void send_regions(PacketBuilder& packet, const RegionCapture& capture, int64_t index,
                  const Recording& recording) {
  for (size_t i = 0; i < recording.passes.size(); ++i) {
    const RecordedPass& pass = recording.passes[i];
    if (!pass.regions || !pass.ended) continue;
    const VkRect2D& area = pass.regions->shape.area;
    send_pass(packet, capture.counters(),
              {.execution = index,
               .pass = static_cast<uint32_t>(i),
               .x = area.offset.x,
               .y = area.offset.y,
               .width = area.extent.width,
               .height = area.extent.height,
               .region_width = capture.region().width,
               .region_height = capture.region().height},
              *pass.regions);
    if (!pass.picture) continue;
    send_picture(packet,
                 {.execution = index,
                  .pass = static_cast<uint32_t>(i),
                  .attachment = pass.picture->attachment,
                  .width = area.extent.width,
                  .height = area.extent.height},
                 *pass.picture);
  }
}

}  // namespace tally::capture
