// Sums up a capture as a profile.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/diff/profile.h"
#include "analysis/model/model.h"
#include "analysis/model/names.h"
#include "analysis/tables/command_groups.h"
#include "base/containers.h"
#include "base/status.h"

namespace tally::analysis {

// The names of pipelines and commands in profiles. Must not outlive the model.
class CommandNames {
 public:
  explicit CommandNames(const Model& model)
      : model_(model), labels_(model), shaders_(name_shaders(model)) {}

  const LabelPaths& labels() const { return labels_; }
  // Indexed by shader.
  const std::vector<std::string>& shaders() const { return shaders_; }
  // "scene.vert + scene.frag"
  std::string shaders_of(uint32_t pipeline) const;
  std::string pipeline(uint32_t pipeline) const;
  // Without values.
  Item command(uint32_t command) const;

 private:
  const Model& model_;
  const LabelPaths labels_;
  const std::vector<std::string> shaders_;
};

// The similar commands of a capture, for a profile: as items, which take hundreds of bytes each, or
// as digests, which say which commands of two captures differ and so need items.

class CommandItems {
 public:
  // Makes the item of a group of commands, without values.
  using Describe = std::function<Item(const CommandGroup& group)>;

  // As `options` say; `metrics`: the number of values of an item.
  CommandItems(const Model& model, const ProfileOptions& options, size_t metrics,
               const Describe& describe);

  // Null: the command has no item.
  Item* item_of(uint32_t command);
  // Adds to the hash of what the command's item did in the command's frame.
  void add(uint32_t command, uint64_t hash);
  void finish(Profile& profile);

 private:
  void add_group(const Describe& describe, const CommandGroup& group, size_t metrics);

  const Model& model_;
  const ProfileOptions& options_;
  std::vector<uint32_t> group_of_command_;
  std::vector<uint32_t> places_;  // by group; kNone: neither
  std::vector<Hash128> keys_;     // of items and digests
  NumberTable numbers_;
  std::vector<Item> items_;
  std::vector<CommandDigest> digests_;
};

Result<Profile> make_profile(const Model& model, const ProfileOptions& options,
                             const Progress& progress);

}  // namespace tally::analysis
