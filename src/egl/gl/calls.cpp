#include "egl/gl/calls.h"

#include "egl/gl/raw.h"

namespace tally::egl {
namespace {

// Types that hold a whole pixel.
uint32_t packed_bits(uint32_t type) {
  switch (type) {
    case GL_UNSIGNED_BYTE_3_3_2:
    case GL_UNSIGNED_BYTE_2_3_3_REV:
      return 8;
    case GL_UNSIGNED_SHORT_5_6_5:
    case GL_UNSIGNED_SHORT_5_6_5_REV:
    case GL_UNSIGNED_SHORT_4_4_4_4:
    case GL_UNSIGNED_SHORT_4_4_4_4_REV:
    case GL_UNSIGNED_SHORT_5_5_5_1:
    case GL_UNSIGNED_SHORT_1_5_5_5_REV:
      return 16;
    case GL_UNSIGNED_INT_8_8_8_8:
    case GL_UNSIGNED_INT_8_8_8_8_REV:
    case GL_UNSIGNED_INT_10_10_10_2:
    case GL_UNSIGNED_INT_2_10_10_10_REV:
    case GL_UNSIGNED_INT_24_8:
    case GL_UNSIGNED_INT_10F_11F_11F_REV:
    case GL_UNSIGNED_INT_5_9_9_9_REV:
      return 32;
    case GL_FLOAT_32_UNSIGNED_INT_24_8_REV:
      return 64;
    default:
      return 0;
  }
}

uint32_t component_bits(uint32_t type) {
  switch (type) {
    case GL_BITMAP:
      return 1;
    case GL_BYTE:
    case GL_UNSIGNED_BYTE:
      return 8;
    case GL_SHORT:
    case GL_UNSIGNED_SHORT:
    case GL_HALF_FLOAT:
    case GL_HALF_FLOAT_OES:
      return 16;
    case GL_INT:
    case GL_UNSIGNED_INT:
    case GL_FLOAT:
    case GL_FIXED:
      return 32;
    case GL_DOUBLE:
      return 64;
    default:
      return 0;
  }
}

uint32_t components(uint32_t format) {
  switch (format) {
    case GL_RED:
    case GL_GREEN:
    case GL_BLUE:
    case GL_ALPHA:
    case GL_LUMINANCE:
    case GL_RED_INTEGER:
    case GL_GREEN_INTEGER:
    case GL_BLUE_INTEGER:
    case GL_COLOR_INDEX:
    case GL_STENCIL_INDEX:
    case GL_DEPTH_COMPONENT:
      return 1;
    case GL_RG:
    case GL_RG_INTEGER:
    case GL_LUMINANCE_ALPHA:
    case GL_DEPTH_STENCIL:
      return 2;
    case GL_RGB:
    case GL_BGR:
    case GL_RGB_INTEGER:
    case GL_BGR_INTEGER:
      return 3;
    case GL_RGBA:
    case GL_BGRA:
    case GL_RGBA_INTEGER:
    case GL_BGRA_INTEGER:
    case GL_ABGR_EXT:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

uint32_t pixel_bits(uint32_t format, uint32_t type) {
  const uint32_t packed = packed_bits(type);
  return packed != 0 ? packed : components(format) * component_bits(type);
}

}  // namespace tally::egl
