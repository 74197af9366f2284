// lanterns [--frames N] [--size WxH] [--png FILE]: renders without a window and writes the last
// frame to FILE.
#include <png.h>

#include <charconv>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lanterns.h"

namespace {

struct Options {
  unsigned frames = 3;
  VkExtent2D extent = {480, 270};
  std::string png;
};

Options parse(int argc, char** argv) {
  Options options;
  const auto number = [](std::string_view text) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value == 0) {
      throw std::invalid_argument(std::string(text) + ": a number above 0 is wanted");
    }
    return value;
  };
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + ": a value is missing, or it is unknown");
    const std::string_view value = argv[i + 1];
    if (name == "--frames") {
      options.frames = number(value);
    } else if (name == "--size") {
      const size_t cross = value.find('x');
      if (cross == std::string_view::npos) throw std::invalid_argument("--size: WIDTHxHEIGHT");
      options.extent = {number(value.substr(0, cross)), number(value.substr(cross + 1))};
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
  for (unsigned frame = 0; frame < options.frames; ++frame)
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
