// lanterns [--frames N] [--size WxH] [--png FILE]: draws without a window; FILE gets the last
// frame.
#include <png.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "lanterns.h"

namespace {

struct Options {
  int frames = 3;
  VkExtent2D extent = {480, 270};
  std::string png;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + ": a value is missing, or it is unknown");
    const char* value = argv[i + 1];
    if (name == "--frames") {
      options.frames = std::atoi(value);
    } else if (name == "--size") {
      if (std::sscanf(value, "%ux%u", &options.extent.width, &options.extent.height) != 2) {
        throw std::invalid_argument("--size: WIDTHxHEIGHT");
      }
    } else if (name == "--png") {
      options.png = value;
    } else {
      throw std::invalid_argument(name +
                                  ": unknown; lanterns [--frames N] [--size WxH] [--png FILE]");
    }
  }
  return options;
}

void write_png(const std::string& file, VkExtent2D extent, const std::vector<uint32_t>& texels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = extent.width;
  image.height = extent.height;
  image.format = PNG_FORMAT_RGBA;
  if (!png_image_write_to_file(&image, file.c_str(), 0, texels.data(), 0, nullptr)) {
    throw std::runtime_error(file + ": " + image.message);
  }
}

void run(const Options& options) {
  tally::test::Context context;
  lanterns::Lanterns lanterns(context, options.extent);
  for (int frame = 0; frame < options.frames; ++frame)
    lanterns.draw_frame(1.0f + 0.1f * static_cast<float>(frame));
  if (!options.png.empty()) {
    write_png(options.png, options.extent,
              tally::test::read_texels(context, lanterns.frame_image()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lanterns: %s\n", error.what());
    return 2;
  }
}
