// Sizes of the pixels that the application passes to glTexImage and similar functions.
#pragma once

#include <cstdint>

namespace tally::egl {

// Returns the bits per pixel of this format and type, or 0 for a pair that GL does not define (the
// call then fails anyway).
uint32_t pixel_bits(uint32_t format, uint32_t type);

}  // namespace tally::egl
