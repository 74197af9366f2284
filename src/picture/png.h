// Pictures as PNG files.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "picture/picture.h"

namespace tally {

// 8 bits a channel. Opaque pictures are written without alpha.
Result<std::vector<std::byte>> encode_png(const Picture& picture);

// Any PNG of at most `max_pixels`; comes from a file, so everything about it may be wrong.
Result<Picture> decode_png(std::span<const std::byte> bytes, uint64_t max_pixels);

}  // namespace tally
