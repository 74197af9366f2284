// What glmark2-es2 scores with Tally's vendor library in front of its EGL, as a ratio to its score
// without. Needs glmark2-es2, and xvfb-run where there is no display. What counting costs a call,
// egl_calls shows.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "harness/rounds.h"
#include "harness/table.h"

namespace tally::bench {
namespace {

constexpr int kRounds = 5;
const char* const kScenes[] = {"build", "texture", "shading", "effect2d", "ideas"};

// Milliseconds a frame of each scene.
Sample frame_times(const std::string& environment) {
  Sample sample;
  for (const char* scene : kScenes) {
    const std::string command =
        environment + " glmark2-es2 -s 320x240 -b " + scene + ":duration=1 2>/dev/null";
    FILE* const output = popen(command.c_str(), "r");
    if (output == nullptr) throw std::runtime_error("no shell");
    double milliseconds = 0;
    char line[1024];
    while (fgets(line, sizeof line, output) != nullptr) {
      const std::string text = line;
      const size_t at = text.find("FrameTime: ");
      if (at != text.npos) milliseconds = std::stod(text.substr(at + 11));
    }
    if (pclose(output) != 0 || milliseconds <= 0)
      throw std::runtime_error("glmark2-es2 does not run: " + command);
    sample.push_back(milliseconds);
  }
  return sample;
}

void run() {
  const std::string vendor = "__EGL_VENDOR_LIBRARY_FILENAMES=" TALLY_MANIFESTS "/10_tally.json";
  const std::string preload = "LD_PRELOAD=" TALLY_PRELOAD;
  const Candidate candidates[] = {
      {"bare", [] { return frame_times(""); }},
      {"vendor library", [&] { return frame_times(vendor); }},
      {"preloaded", [&] { return frame_times(preload); }},
  };
  Table table(
      {"glmark2-es2, frame time to bare", "build", "texture", "shading", "effect2d", "ideas"});
  for (const Measured& row : measure_in_turn(candidates, kRounds)) {
    std::vector<std::string> cells = {row.name};
    for (const Spread& ratio : row.ratios) cells.push_back(with_quartiles(ratio));
    table.add(cells);
  }
  std::fputs(table.text().c_str(), stdout);
}

}  // namespace
}  // namespace tally::bench

int main(int, char** argv) try {
  if (std::getenv("DISPLAY") == nullptr && std::system("command -v xvfb-run >/dev/null") == 0) {
    // A server that resets itself when a client goes may refuse the next.
    const std::string display = "xvfb-run -a -s '-screen 0 640x480x24 -noreset' ";
    return std::system((display + argv[0]).c_str()) == 0 ? 0 : 1;
  }
  tally::bench::run();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "egl_glmark2: %s\n", error.what());
  return 1;
}
