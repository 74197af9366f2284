// Sums up a capture as a profile.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/diff/profile.h"
#include "analysis/model/model.h"
#include "analysis/tables/command_groups.h"
#include "base/containers.h"
#include "base/status.h"

namespace tally::analysis {

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

// The keys of the commands that only one of the profiles has, or that did not do the same in both;
// sorted.
std::vector<Hash128> differing_commands(const Profile& before, const Profile& after);

Result<Profile> make_profile(const Model& model, const ProfileOptions& options,
                             const Progress& progress);

}  // namespace tally::analysis
