// The size of a pixel that the application hands to glTexImage and its kin.
#pragma once

#include <cstdint>

namespace tally::egl {

// Bits of a pixel of this format and type; 0 for a pair that GL does not know (the call then fails
// anyway).
uint32_t pixel_bits(uint32_t format, uint32_t type);

}  // namespace tally::egl
