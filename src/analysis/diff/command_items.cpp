#include "analysis/diff/command_items.h"

#include <algorithm>
#include <span>
#include <utility>

namespace tally::analysis {

CommandItems::CommandItems(const Model& model, const ProfileOptions& options, size_t metrics,
                           const Describe& describe)
    : model_(model), options_(options) {
  CommandGroups groups = group_commands(model, GroupBy::Command, /*merge=*/true);
  places_.reserve(groups.groups.size());
  for (const CommandGroup& group : groups.groups) add_group(describe, group, metrics);
  group_of_command_ = std::move(groups.group_of_command);
}

void CommandItems::add_group(const Describe& describe, const CommandGroup& group, size_t metrics) {
  Item item = describe(group);
  const Hash128 key = hash_bytes(std::as_bytes(std::span(item.identity.names)));
  if (options_.chosen_commands && !std::ranges::binary_search(*options_.chosen_commands, key)) {
    places_.push_back(kNone);
    return;
  }
  const auto next = static_cast<uint32_t>(keys_.size());
  const uint32_t place = numbers_.find_or_add(
      key.low, next, [&](uint32_t other) { return keys_[other] == key; },
      [&](uint32_t other) { return keys_[other].low; });
  places_.push_back(place);
  if (place != next) return;
  keys_.push_back(key);
  if (options_.commands == CommandDetail::Digests) {
    digests_.push_back({key, 0});
    return;
  }
  item.values.resize(metrics);
  items_.push_back(std::move(item));
}

Item* CommandItems::item_of(uint32_t command) {
  const uint32_t place = places_[group_of_command_[command]];
  return place == kNone || items_.empty() ? nullptr : &items_[place];
}

void CommandItems::add(uint32_t command, uint64_t hash) {
  const uint32_t place = places_[group_of_command_[command]];
  if (place == kNone) return;
  const int64_t frame = model_.frames[model_.commands[command].frame].number;
  if (options_.commands == CommandDetail::Digests) {
    digests_[place].content += hash_combine(static_cast<uint64_t>(frame), hash);
  } else {
    items_[place].frames[frame] += hash;
  }
}

void CommandItems::finish(Profile& profile) {
  if (options_.commands == CommandDetail::Items) {
    profile.index.commands.reserve(group_of_command_.size());
    for (const uint32_t group : group_of_command_) profile.index.commands.push_back(places_[group]);
  }
  std::ranges::sort(digests_, {}, &CommandDigest::key);
  profile.command_digests = std::move(digests_);
  profile.commands = std::move(items_);
}

std::vector<Hash128> differing_commands(const Profile& before, const Profile& after) {
  std::vector<Hash128> keys;
  auto a = before.command_digests.begin();
  auto b = after.command_digests.begin();
  const auto a_end = before.command_digests.end();
  const auto b_end = after.command_digests.end();
  while (a != a_end || b != b_end) {
    if (b == b_end || (a != a_end && a->key < b->key)) {
      keys.push_back((a++)->key);
    } else if (a == a_end || b->key < a->key) {
      keys.push_back((b++)->key);
    } else {
      if (a->content != b->content) keys.push_back(a->key);
      ++a, ++b;
    }
  }
  return keys;
}

}  // namespace tally::analysis
