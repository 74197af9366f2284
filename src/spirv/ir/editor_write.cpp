// Merges the edits into a new module.

#include <fmt/format.h>

#include <algorithm>

#include "spirv/ir/editor.h"

namespace tally::spirv {
namespace {

constexpr uint32_t kVersion14 = make_version(1, 4);

// Drivers inline functions with new ids, and some crash if the bound becomes too high. This many
// ids for each word, up to a limit, must remain available to them.
constexpr size_t kSpareIdsPerWord = 4;
constexpr size_t kMaxSpareIds = kBoundLimit / 4;

// Limits the time to complete the lists of all entry points to some seconds.
constexpr size_t kMaxWork = size_t{1} << 32;

bool is_input_or_output(spv::StorageClass storage) {
  return storage == spv::StorageClass::Input || storage == spv::StorageClass::Output;
}

}  // namespace

std::vector<uint32_t> referenced_variables(const Module& module, uint32_t function_id) {
  std::vector<uint32_t> variables;
  for (const uint32_t function : module.reachable_functions(function_id)) {
    const Function& range = module.functions()[function];
    const std::span<const uint32_t> words =
        module.words().subspan(module.word_offset(range.begin),
                               module.word_offset(range.end) - module.word_offset(range.begin));
    // A literal that looks like the id of a variable adds an unused variable, which is allowed.
    for (const uint32_t word : words) {
      if (module.is_global_variable(word)) variables.push_back(word);
    }
  }
  std::sort(variables.begin(), variables.end());
  variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
  return variables;
}

// The variables that have to be added to the interface of an entry point.
std::vector<uint32_t> Editor::unlisted_variables(const EntryPoint& entry) const {
  std::vector<uint32_t> wanted;
  if (version_ >= kVersion14 && module_->version() < kVersion14) {
    wanted = referenced_variables(*module_, entry.function_id);
  }
  for (const Listing& listing : listings_) {
    if (listing.entry_instruction == entry.instruction) wanted.push_back(listing.variable);
  }
  std::unordered_set<uint32_t> listed(entry.interface.begin(), entry.interface.end());
  std::erase_if(wanted, [&](uint32_t variable) {
    const std::optional<spv::StorageClass> storage = storage_class(variable);
    const bool belongs = storage && (version_ >= kVersion14 || is_input_or_output(*storage));
    return !belongs || !listed.insert(variable).second;
  });
  return wanted;
}

// New OpEntryPoint instructions for the entry points with additional variables.
Result<std::vector<Editor::NewEntryPoint>> Editor::entry_points(
    std::span<const uint32_t> patched) const {
  const bool lists_everything = version_ >= kVersion14 && module_->version() < kVersion14;
  if (lists_everything && module_->entry_points().size() * module_->words().size() > kMaxWork) {
    return Error{"SPIR-V: too many entry points to find the variables of each"};
  }
  std::vector<NewEntryPoint> changed;
  for (const EntryPoint& entry : module_->entry_points()) {
    if (removed_.contains(entry.instruction)) continue;
    const std::vector<uint32_t> added = unlisted_variables(entry);
    if (added.empty()) continue;
    const uint32_t begin = module_->word_offset(entry.instruction);
    const uint32_t end = module_->word_offset(entry.instruction + 1);
    const std::span<const uint32_t> operands = patched.subspan(begin + 1, end - begin - 1);
    if (1 + operands.size() + added.size() > kMaxInstructionWords) {
      return Error{"SPIR-V: an entry point would list too many variables"};
    }
    NewEntryPoint point{entry.instruction, {}};
    std::vector<uint32_t> all(operands.begin(), operands.end());
    all.insert(all.end(), added.begin(), added.end());
    append_instruction(point.words, spv::Op::OpEntryPoint, all);
    changed.push_back(std::move(point));
  }
  return changed;
}

// All edits except those of single words, in the order of the new module. Appends their words to
// the arena.
std::vector<Editor::Change> Editor::changes(std::span<const NewEntryPoint> entry_points,
                                            std::vector<uint32_t>& arena) const {
  std::vector<Change> all;
  const auto add = [&](uint32_t instruction, bool replaces, std::span<const uint32_t> words) {
    all.push_back({instruction, static_cast<uint32_t>(arena.size()),
                   static_cast<uint32_t>(words.size()), replaces});
    arena.insert(arena.end(), words.begin(), words.end());
  };
  for (size_t index = 0; index < kSectionCount; ++index) add(ends_[index], false, sections_[index]);
  all.insert(all.end(), changes_.begin(), changes_.end());
  for (const NewEntryPoint& point : entry_points) add(point.instruction, true, point.words);
  // Insertions before an instruction precede its replacement.
  std::ranges::stable_sort(
      all, {}, [](const Change& change) { return std::pair(change.instruction, change.replaces); });
  return all;
}

// The original with edited words, new version and new bound.
std::vector<uint32_t> Editor::patched_original() const {
  std::vector<uint32_t> words(module_->words().begin(), module_->words().end());
  words[1] = version_;
  words[3] = ids_.next;
  for (const WordEdit& edit : word_edits_) words[edit.offset] = edit.value;
  return words;
}

Result<std::vector<uint32_t>> Editor::write() const {
  const std::vector<uint32_t> original = patched_original();
  Result<std::vector<NewEntryPoint>> entry_points = this->entry_points(original);
  if (!entry_points) return entry_points.error();
  std::vector<uint32_t> arena = arena_;
  const std::vector<Change> ordered = changes(*entry_points, arena);

  std::vector<uint32_t> words;
  words.reserve(original.size() + arena.size());
  uint32_t copied = 0;  // words of the original that are copied or replaced
  for (const Change& change : ordered) {
    const uint32_t begin = module_->word_offset(change.instruction);
    if (begin > copied) {
      words.insert(words.end(), original.begin() + copied, original.begin() + begin);
      copied = begin;
    }
    const auto first = arena.begin() + change.first_word;
    words.insert(words.end(), first, first + change.word_count);
    if (change.replaces) copied = std::max(copied, module_->word_offset(change.instruction + 1));
  }
  words.insert(words.end(), original.begin() + copied, original.end());
  if (Status status = check_bound(words.size()); !status) return status.error();
  return words;
}

// Checks the bound of a new module of `words` words.
Status Editor::check_bound(size_t words) const {
  const size_t spare = std::min(words * kSpareIdsPerWord, kMaxSpareIds);
  if (ids_.next == module_->bound() || ids_.next + spare <= kBoundLimit) return {};
  return Error{fmt::format("SPIR-V: its bound of ids, {}, leaves too few for further code",
                           module_->bound())};
}

}  // namespace tally::spirv
