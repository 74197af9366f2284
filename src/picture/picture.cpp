#include "picture/picture.h"

#include <png.h>

#include <algorithm>
#include <bit>
#include <string>

namespace tally {
namespace {

static_assert(std::endian::native == std::endian::little);  // pixels are R, G, B, A in memory
constexpr uint32_t kOpaque = 0xff000000;

// Owns libpng's state.
struct Image : png_image {
  explicit Image(uint32_t pixel_format) : png_image{} {
    version = PNG_IMAGE_VERSION;
    format = pixel_format;
  }
  ~Image() { png_image_free(this); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  Error error() const { return {std::string("PNG: ") + message}; }
};

std::vector<uint8_t> without_alpha(const Picture& picture) {
  std::vector<uint8_t> bytes;
  bytes.reserve(picture.pixels.size() * 3);
  for (const uint32_t pixel : picture.pixels) {
    for (const int shift : {0, 8, 16}) bytes.push_back(static_cast<uint8_t>(pixel >> shift));
  }
  return bytes;
}

}  // namespace

Result<std::vector<std::byte>> encode_png(const Picture& picture) {
  const bool opaque = std::all_of(picture.pixels.begin(), picture.pixels.end(),
                                  [](uint32_t pixel) { return pixel >= kOpaque; });
  Image image(opaque ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA);
  image.width = picture.width;
  image.height = picture.height;
  image.flags = PNG_IMAGE_FLAG_FAST;  // four times as fast, files 1.5 times as large
  const std::vector<uint8_t> rgb = opaque ? without_alpha(picture) : std::vector<uint8_t>{};
  const void* pixels = opaque ? static_cast<const void*>(rgb.data()) : picture.pixels.data();
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> bytes(size);
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels, 0, nullptr)) {
    return image.error();
  }
  bytes.resize(size);
  return bytes;
}

Result<Picture> decode_png(std::span<const std::byte> bytes, uint64_t max_pixels) {
  Image image(0);
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size())) return image.error();
  if (uint64_t{image.width} * image.height > max_pixels)
    return Error{"PNG: the picture is too large"};
  image.format = PNG_FORMAT_RGBA;
  Picture picture{image.width, image.height, {}};
  picture.pixels.resize(size_t{image.width} * image.height);
  if (!png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr)) {
    return image.error();
  }
  return picture;
}

}  // namespace tally
