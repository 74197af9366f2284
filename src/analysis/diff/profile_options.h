// Options that choose the contents of a profile.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/source/shader_source.h"
#include "base/hash.h"

namespace tally::analysis {

enum class CommandDetail : uint8_t { None, Digests, Items };

struct ProfileOptions {
  bool code = true;  // shaders have functions and lines
  CommandDetail commands = CommandDetail::None;
  // The keys of the commands that have digests or items, sorted; null: all.
  std::shared_ptr<const std::vector<Hash128>> chosen_commands;
  // The lines that shaders have. GLSL is reconstructed only for the shaders of this list
  // (Identity::hash); others have the lines of their debug information.
  SourceChoice source = SourceChoice::Debug;
  std::set<std::string> reconstructed;
  bool reconstruct_all = false;                // for all shaders
  std::shared_ptr<const SourceFolder> folder;  // of source files; may be null
};

}  // namespace tally::analysis
