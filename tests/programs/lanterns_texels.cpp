// The sample without libpng: draws frames and writes the texels of the last picture. It is built
// for Linux and for Windows, which have to give the same counts and the same picture. Usage:
// lanterns_texels FILE FRAMES [ANYTHING...]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "lanterns.h"

namespace tally::test {

// The rest of the kit's environment is for tests.
bool validation_wanted() { return false; }
void keep_libraries_loaded() {}

}  // namespace tally::test

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    tally::test::Context context;
    lanterns::Lanterns lanterns(context, {480, 270});
    for (int frame = 0; frame < std::atoi(argv[2]); ++frame)
      lanterns.draw_frame(1.0f + 0.1f * static_cast<float>(frame));
    const std::vector<uint32_t> texels = tally::test::read_texels(context, lanterns.frame_image());
    std::ofstream(argv[1], std::ios::binary)
        .write(reinterpret_cast<const char*>(texels.data()),
               static_cast<std::streamsize>(texels.size() * sizeof texels[0]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lanterns: %s\n", error.what());
    return 2;
  }
}
