// A GL program with known counts for `tally run`: frame number f has f + 1 draws of one triangle
// that covers all 64 x 64 samples.
//
// Usage: profiled_app es|gl FRAMES [acquire|kill|offscreen|idle]. "acquire" holds the counters
// itself from before frame 2 until after frame 3 and prints its counts; "kill" ends by SIGKILL;
// "offscreen" never swaps; "idle" makes a context current and calls no GL.
#include <signal.h>

#include <cstdio>
#include <optional>
#include <string>

#include "support/kit.h"

namespace tally::egl_test {

int run_instead(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool es = std::string(argv[1]) == "es";
  const int frames = std::stoi(argv[2]);
  const std::string mode = argc > 3 ? argv[3] : "";
  const Display display;
  const Context context(display.handle(), es ? Api::Gles3 : Api::GlCore);
  context.make_current();
  if (mode == "idle") return 0;
  use_flat_program(!es);
  use_positions({-1, -1, 3, -1, -1, 3});
  std::optional<Client> client;
  for (int frame = 0; frame < frames; frame++) {
    if (mode == "acquire" && frame == 2) {
      client.emplace();
      client->choose("API", "Draw calls");
      client->start();
    }
    for (int i = 0; i <= frame; i++) glDrawArrays(GL_TRIANGLES, 0, 3);
    if (mode != "offscreen") context.swap();
    if (frame != 3 || !client) continue;
    for (const auto& [name, value] : client->read()) {
      std::printf("%s: %llu\n", name.c_str(), static_cast<unsigned long long>(value));
    }
    client.reset();
  }
  if (mode == "kill") raise(SIGKILL);
  return 0;
}

}  // namespace tally::egl_test
