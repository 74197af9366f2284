// The contents of a capture, summed up by names that hold across captures: passes, pipelines,
// shaders with their functions and lines, and similar commands. Small, and independent of the
// capture file.
//
// Invariants: items of a list have different identities. `values` has an element for each metric.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/model/metrics.h"
#include "analysis/source/shader_source.h"
#include "analysis/tables/summary.h"
#include "base/hash.h"

namespace tally::analysis {

// Options that choose the contents of a profile.

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

// GPU times of an item's frames, without first uses of pipelines.
struct TimeSpread {
  uint64_t min_ns = 0, median_ns = 0, max_ns = 0;
  uint64_t frames = 0;
};

// The name of an item in other captures. An empty text equals no other.
struct Identity {
  std::string names;     // what the application calls it
  std::string hash;      // what it consists of
  std::string likeness;  // what distinguishes it if nothing else does
};

struct Item {
  std::string name;   // as reports show it: "main 640x480", "scene.frag"
  std::string place;  // the labels around a pass or command; the stage of a shader
  Identity identity;
  std::vector<uint64_t> values;
  std::map<int64_t, uint64_t> frames;  // commands only: a hash of the values, by frame
  std::optional<TimeSpread> time;
};

struct FunctionItem {
  std::string name;
  std::string file;
  uint32_t line = 0;  // its first line with code; 0: unknown
  std::vector<uint64_t> values;
  SourceOrigin origin = SourceOrigin::Spirv;  // of its file; Spirv: unknown
};

struct LineItem {
  uint32_t file = 0;
  uint32_t line = 0;      // from 1; 0: instructions without a line
  uint32_t function = 0;  // into ShaderItem::functions
  std::vector<uint64_t> values;
  uint64_t code = 0;            // a hash of the costs of its instructions, block by block
  uint64_t instructions = 0;    // in the code
  std::vector<uint32_t> loops;  // into ShaderItem::loops: those that run it, the outermost first
};

// A loop, with all the copies of it that a compiler made.
struct LoopItem {
  uint32_t file = 0;
  uint32_t line = 0;
  uint64_t entries = 0;
  uint64_t iterations = 0;
};

struct SourceText {
  std::string name;
  std::vector<std::string> lines;
  SourceOrigin origin = SourceOrigin::Debug;
};

struct ShaderItem : Item {
  std::string stage;
  uint64_t counts = 0;  // a hash of the values of each block
  std::vector<SourceText> files;
  std::vector<FunctionItem> functions;
  std::vector<LineItem> lines;
  std::vector<LoopItem> loops;
  // The number of draws and dispatches whose pipelines have it, by the index of their pass.
  std::map<uint32_t, uint64_t> commands_of_passes;
  std::string why_not_reconstructed;  // empty: GLSL was not wanted, or is there
};

// "lamps / lamps 32x32": with the labels around it.
std::string name_of_pass(const Item& pass);
// The value of a metric; 0 if there is no such metric.
uint64_t value_at(const std::vector<uint64_t>& values, std::optional<size_t> metric);
// Null: the shader has no such file.
const SourceText* file_of(const ShaderItem& shader, uint32_t file);

// Where the shaders, pipelines and merged passes (groups of GroupBy::Pass) of a model are in its
// profile: an index of an item; kNone: the item was left out, as nothing of it ran. `commands`: by
// command of the model, if the profile has commands.
struct ProfileIndex {
  std::vector<uint32_t> shaders, pipelines, passes, commands;
};

// Stands for similar commands where they have no items.
struct CommandDigest {
  Hash128 key;           // of what the item would be called
  uint64_t content = 0;  // a hash of what they did, frame by frame
};

struct Profile {
  Summary summary;
  std::vector<Metric> metrics;  // those of the capture, then draws, dispatches, passes, invocations
  std::vector<Item> passes, pipelines, commands;
  std::vector<CommandDigest> command_digests;  // sorted by key
  std::vector<ShaderItem> shaders;
  ProfileIndex index;

  // The metric that counts the invocations of a stage; nullopt: no such stage ran.
  std::optional<size_t> invocations_of(const std::string& stage) const;
};

// The keys of the commands that only one of the profiles has, or that did not do the same in both;
// sorted.
std::vector<Hash128> differing_commands(const Profile& before, const Profile& after);

}  // namespace tally::analysis
