// Encodes and decodes PNG files.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "picture/picture.h"

namespace tally {

// Encodes 8 bits per channel. Opaque pictures are written without an alpha channel.
Result<std::vector<std::byte>> encode_png(const Picture& picture);

// Decodes a PNG of at most `max_pixels`. The bytes come from a file and are untrusted.
Result<Picture> decode_png(std::span<const std::byte> bytes, uint64_t max_pixels);

}  // namespace tally
