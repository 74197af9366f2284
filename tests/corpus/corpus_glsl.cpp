// Reconstructs GLSL of every entry point of SPIR-V modules. Each has to succeed, or to fail with a
// reason; a crash of SPIRV-Cross is a failure here, although reports survive it. Most of what is
// executed must have a line, and only loops may have lines of several blocks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analysis/source/line_marks.h"
#include "analysis/source/reconstruct.h"
#include "corpus/module_files.h"
#include "spirv/analysis/cfg.h"

namespace {

using tally::spirv::CostClass;

struct Tally {
  size_t entries = 0, reconstructed = 0, loops = 0, wrong = 0;
  uint64_t instructions = 0, with_line = 0;
  std::map<std::string, size_t> reasons;
};

bool is_loop(const std::string& line) {
  const std::string text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return text.starts_with("for (") || text.starts_with("while (") || text == "do" ||
         text.starts_with("} while (");
}

// True if a line has the instructions of more than one block although it is no loop's.
bool mixes_blocks(const tally::analysis::Reconstruction& made) {
  std::map<uint32_t, const tally::spirv::Block*> block_of;
  for (const tally::spirv::Block& block : made.map.blocks()) {
    for (const tally::spirv::LineCost& line : made.map.lines_of(block)) {
      const auto [known, is_new] = block_of.emplace(line.location.line, &block);
      const bool is_other = !is_new && known->second != &block;
      if (is_other && !is_loop(made.lines.at(line.location.line - 1))) return true;
    }
  }
  return false;
}

// The line of the brace that closes a loop, from 1.
uint32_t end_of_loop(const std::vector<std::string>& lines, uint32_t loop) {
  const size_t indent = lines[loop - 1].find_first_not_of(' ');
  for (uint32_t line = loop + 1; line < lines.size(); ++line) {
    if (lines[line].find_first_not_of(' ') == indent && lines[line][indent] == '}') return line + 1;
  }
  return 0;
}

// The block's first line in the text; 0 if it has none.
uint32_t line_of(const tally::spirv::BlockMap& map, uint32_t label) {
  for (const tally::spirv::Block& block : map.blocks()) {
    if (block.label_id == label && block.location) return block.location->line;
  }
  return 0;
}

// True if a loop's line is another loop's: the code after a true condition must stand between the
// braces of the loop, and the code after the loop behind them.
bool mistakes_loops(const tally::spirv::Module& module, const tally::analysis::Reconstruction& made,
                    size_t& loops) {
  namespace analysis = tally::analysis;
  for (uint32_t header = 0; header < module.blocks().size(); ++header) {
    const auto conditions = analysis::condition_blocks(module, header);
    const uint32_t loop = line_of(made.map, module.blocks()[header].label_id);
    if (conditions.empty() || loop == 0 || !is_loop(made.lines[loop - 1])) continue;
    ++loops;
    const uint32_t end = end_of_loop(made.lines, loop);
    const uint32_t merge = analysis::loop_merge_label(module, module.blocks()[header]);
    const auto branch = module.instruction(module.blocks()[conditions.back()].end - 1);
    for (const uint32_t target : tally::spirv::branch_targets(module, branch)) {
      const uint32_t line = line_of(made.map, target);
      const bool inside = line >= loop && line <= end;
      if (line != 0 && inside == (target == merge)) return true;
    }
  }
  return false;
}

void count_lines(const tally::analysis::Reconstruction& made, Tally& tally) {
  for (const tally::spirv::Block& block : made.map.blocks()) {
    tally.instructions += block.mix[CostClass::Instruction];
    for (const tally::spirv::LineCost& line : made.map.lines_of(block)) {
      tally.with_line += line.mix[CostClass::Instruction];
      if (line.location.line > made.lines.size()) ++tally.wrong;
    }
  }
}

void check(const std::string& name, const tally::spirv::Module& module, Tally& tally) {
  for (const tally::spirv::EntryPoint& entry : module.entry_points()) {
    ++tally.entries;
    const auto made = tally::analysis::reconstruct(module, entry, "x");
    if (made) {
      ++tally.reconstructed;
      count_lines(*made, tally);
      const bool mixes = mixes_blocks(*made), mistakes = mistakes_loops(module, *made, tally.loops);
      if (mixes) fmt::print("{}: a line has several blocks\n", name);
      if (mistakes) fmt::print("{}: a loop's line is not its own\n", name);
      tally.wrong += mixes + mistakes;
      continue;
    }
    const std::string& reason = made.error().message;
    ++tally.reasons[reason];
    if (reason.starts_with("it ") || reason.empty()) {
      fmt::print("{}: {}\n", name, reason);
      ++tally.wrong;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Reconstructs GLSL of SPIR-V modules."};
  std::vector<std::string> folders;
  double least = 0;
  app.add_option("FOLDER", folders)->required();
  app.add_option("--at-least", least, "Share of the entry points that are reconstructed");
  CLI11_PARSE(app, argc, argv);
  Tally tally;
  for (const std::string& folder : folders) {
    for (const std::string& file : tally::test::module_files(folder)) {
      const auto words = tally::test::read_words(file);
      if (!words) return 1;
      const auto module = tally::spirv::Module::parse(*words);
      if (module) check(file, *module, tally);
    }
  }
  for (const auto& [reason, times] : tally.reasons) fmt::print("{:5} {}\n", times, reason);
  fmt::print("{} of {} entry points reconstructed, {} loops; {} of {} instructions have a line\n",
             tally.reconstructed, tally.entries, tally.loops, tally.with_line, tally.instructions);
  const bool enough = tally.entries != 0 && static_cast<double>(tally.reconstructed) >=
                                                least * static_cast<double>(tally.entries);
  const bool mapped = tally.with_line * 100 >= tally.instructions * 95;
  return tally.wrong == 0 && enough && mapped ? 0 : 1;
}
