// The frame times of glmark2-es2 (its score) with Tally's vendor library, relative to those without
// it. Also compares the total processor time, which other load on the machine disturbs less. Needs
// glmark2-es2, and xvfb-run if there is no display. egl_calls measures the cost of counting per
// call.
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/child.h"
#include "harness/rounds.h"
#include "harness/table.h"

namespace tally::bench {
namespace {

constexpr int kRounds = 7;
const char* const kScenes[] = {"build", "texture", "shading", "effect2d", "ideas"};

// Milliseconds per frame of each scene, then seconds of processor time.
Sample times(const std::string& environment) {
  Sample sample, processor;
  for (const char* scene : kScenes) {
    const std::string command =
        environment + " glmark2-es2 -s 320x240 -b " + scene + ":nframes=300 2>/dev/null";
    const double before = usage_of_children().processor;
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
    processor.push_back(usage_of_children().processor - before);
  }
  sample.insert(sample.end(), processor.begin(), processor.end());
  return sample;
}

void print(const char* what, std::span<const Measured> rows, size_t first) {
  std::vector<std::string> head = {what};
  head.insert(head.end(), std::begin(kScenes), std::end(kScenes));
  Table table(head);
  for (const Measured& row : rows) {
    std::vector<std::string> cells = {row.name};
    for (size_t i = 0; i < std::size(kScenes); i++) {
      cells.push_back(with_quartiles(row.ratios[first + i]));
    }
    table.add(cells);
  }
  std::fputs((table.text() + "\n").c_str(), stdout);
}

void run() {
  const std::string vendor = "__EGL_VENDOR_LIBRARY_FILENAMES=" TALLY_MANIFESTS "/10_tally.json";
  const std::string preload = "LD_PRELOAD=" TALLY_PRELOAD;
  const Candidate candidates[] = {
      {"bare", [] { return times(""); }},
      {"vendor library", [&] { return times(vendor); }},
      {"preloaded", [&] { return times(preload); }},
  };
  const std::vector<Measured> rows = measure_in_turn(candidates, kRounds);
  print("glmark2-es2, frame time to bare", rows, 0);
  print("processor time to bare", rows, std::size(kScenes));
}

}  // namespace
}  // namespace tally::bench

int main(int, char** argv) try {
  if (std::getenv("DISPLAY") == nullptr && std::system("command -v xvfb-run >/dev/null") == 0) {
    // A server that resets itself when a client disconnects may refuse the next client.
    const std::string display = "xvfb-run -a -s '-screen 0 640x480x24 -noreset' ";
    return std::system((display + argv[0]).c_str()) == 0 ? 0 : 1;
  }
  tally::bench::run();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "egl_glmark2: %s\n", error.what());
  return 1;
}
