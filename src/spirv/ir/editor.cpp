#include "spirv/ir/editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace tally::spirv {
namespace {

// FNV-1a over words.
uint64_t hash_of(spv::Op opcode, uint32_t type, std::span<const uint32_t> operands) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](uint32_t word) { hash = (hash ^ word) * 0x100000001b3; };
  mix(static_cast<uint32_t>(opcode));
  mix(type);
  for (const uint32_t word : operands) mix(word);
  return hash;
}

bool is_shared(const Module& module, const Instruction& instruction) {
  switch (instruction.opcode()) {
    case spv::Op::OpTypeVoid:
    case spv::Op::OpTypeBool:
    case spv::Op::OpTypeInt:
    case spv::Op::OpTypeFloat:
    case spv::Op::OpTypeVector:
    case spv::Op::OpTypeMatrix:
    case spv::Op::OpTypeFunction:
      return true;
    case spv::Op::OpTypePointer:
    case spv::Op::OpConstantTrue:
    case spv::Op::OpConstantFalse:
    case spv::Op::OpConstant:
    case spv::Op::OpConstantNull:
    case spv::Op::OpConstantComposite:
      return module.decorations_of(instruction.result_id()).empty();
    default:
      return false;
  }
}

}  // namespace

Declarations::Declarations(const Module& module) {
  const size_t end = module.declarations_end();
  for (size_t index = 0; index < end; ++index) {
    const Instruction instruction = module.instruction(index);
    if (!is_shared(module, instruction)) continue;
    add(instruction.result_id(), instruction.opcode(), instruction.type_id(),
        instruction.operands());
  }
}

uint32_t Declarations::find(spv::Op opcode, uint32_t type,
                            std::span<const uint32_t> operands) const {
  const auto [begin, end] = entries_.equal_range(hash_of(opcode, type, operands));
  for (auto at = begin; at != end; ++at) {
    const std::span<const uint32_t> key =
        std::span(key_words_).subspan(at->second.first_word, at->second.word_count);
    if (key[0] == static_cast<uint32_t>(opcode) && key[1] == type &&
        std::ranges::equal(key.subspan(2), operands)) {
      return at->second.id;
    }
  }
  return 0;
}

void Declarations::add(uint32_t id, spv::Op opcode, uint32_t type,
                       std::span<const uint32_t> operands) {
  const auto first = static_cast<uint32_t>(key_words_.size());
  key_words_.push_back(static_cast<uint32_t>(opcode));
  key_words_.push_back(type);
  key_words_.insert(key_words_.end(), operands.begin(), operands.end());
  entries_.emplace(hash_of(opcode, type, operands),
                   Entry{id, first, static_cast<uint32_t>(operands.size() + 2)});
}

namespace {

// A SpecId that applications are unlikely to specialize.
constexpr uint32_t kFirstSpecId = 0x74616c79;

std::vector<uint32_t> string_words(std::string_view text) {
  std::vector<uint32_t> words(text.size() / 4 + 1, 0);
  for (size_t at = 0; at < text.size(); ++at) {
    words[at / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(text[at])) << (at % 4 * 8);
  }
  return words;
}

template <typename... Parts>
std::vector<uint32_t> joined(std::initializer_list<uint32_t> first, const Parts&... parts) {
  std::vector<uint32_t> words(first);
  (words.insert(words.end(), parts.begin(), parts.end()), ...);
  return words;
}

std::span<const uint32_t> as_span(std::initializer_list<uint32_t> list) {
  return {list.begin(), list.size()};
}

}  // namespace

Editor::Editor(const Module& module)
    : module_(&module),
      ids_{module.bound()},
      version_(module.version()),
      ends_(section_ends(module)),
      declarations_(module),
      next_spec_id_(kFirstSpecId) {}

// --- the module as a whole

void Editor::raise_version(uint32_t version) {
  if (version <= version_) return;
  version_ = version;
}

void Editor::add_capability(spv::Capability capability) {
  if (module_->has_capability(capability)) return;
  if (std::ranges::find(added_capabilities_, capability) != added_capabilities_.end()) return;
  added_capabilities_.push_back(capability);
  append_instruction(section(Section::Capability), spv::Op::OpCapability,
                     as_span({static_cast<uint32_t>(capability)}));
}

void Editor::add_extension(std::string_view name, uint32_t core_since) {
  if (core_since != 0 && version_ >= core_since) return;
  if (module_->has_extension(name)) return;
  if (std::ranges::find(added_extensions_, name) != added_extensions_.end()) return;
  added_extensions_.emplace_back(name);
  append_instruction(section(Section::Extension), spv::Op::OpExtension, string_words(name));
}

uint32_t Editor::import_glsl() {
  constexpr std::string_view kName = "GLSL.std.450";
  if (const uint32_t id = module_->ext_inst_import(kName); id != 0) return id;
  if (added_glsl_ == 0) {
    added_glsl_ = new_id();
    append_instruction(section(Section::Import), spv::Op::OpExtInstImport,
                       joined({added_glsl_}, string_words(kName)));
  }
  return added_glsl_;
}

void Editor::set_memory_model(spv::MemoryModel memory) {
  for (uint32_t index = 0; index < ends_[static_cast<size_t>(Section::EntryPoint)]; ++index) {
    if (module_->instruction(index).opcode() != spv::Op::OpMemoryModel) continue;
    replace_word(index, 1, static_cast<uint32_t>(spv::AddressingModel::PhysicalStorageBuffer64));
    replace_word(index, 2, static_cast<uint32_t>(memory));
  }
}

// --- entry points

void Editor::add_to_interface(const EntryPoint& entry, uint32_t variable) {
  listings_.push_back({entry.instruction, variable});
}

uint32_t Editor::new_private_variable(const EntryPoint& entry, uint32_t type, uint32_t initial) {
  constexpr auto kPrivate = spv::StorageClass::Private;
  const uint32_t variable = new_global_variable(type_pointer(kPrivate, type), kPrivate, initial);
  add_to_interface(entry, variable);
  return variable;
}

void Editor::add_execution_mode(uint32_t function, spv::ExecutionMode mode) {
  append_instruction(section(Section::ExecutionMode), spv::Op::OpExecutionMode,
                     as_span({function, static_cast<uint32_t>(mode)}));
}

void Editor::move_entry_point(const EntryPoint& entry, uint32_t function) {
  replace_word(entry.instruction, 2, function);
  for (const uint32_t mode : module_->execution_modes(entry)) replace_word(mode, 1, function);
  std::vector<uint32_t>& added = section(Section::ExecutionMode);
  for (size_t at = 0; at < added.size(); at += added[at] >> spv::WordCountShift) {
    if (added[at + 1] == entry.function_id) added[at + 1] = function;
  }
}

void Editor::keep_only(const EntryPoint& entry) {
  for (const EntryPoint& other : module_->entry_points()) {
    if (other.instruction != entry.instruction) remove(other.instruction);
  }
  for (const uint32_t mode : module_->execution_modes()) {
    if (module_->instruction(mode).operand(0) != entry.function_id) remove(mode);
  }
}

void Editor::remove_names() {
  for (uint32_t i = 0; i < ends_[static_cast<size_t>(Section::Name)]; ++i) {
    const spv::Op opcode = module_->instruction(i).opcode();
    if (opcode == spv::Op::OpName || opcode == spv::Op::OpMemberName) remove(i);
  }
}

// --- names and decorations

void Editor::name(uint32_t id, std::string_view text) {
  append_instruction(section(Section::Name), spv::Op::OpName, joined({id}, string_words(text)));
}

void Editor::decorate(uint32_t id, spv::Decoration decoration,
                      std::initializer_list<uint32_t> operands) {
  append_instruction(section(Section::Decoration), spv::Op::OpDecorate,
                     joined({id, static_cast<uint32_t>(decoration)}, operands));
}

void Editor::decorate_member(uint32_t id, uint32_t member, spv::Decoration decoration,
                             std::initializer_list<uint32_t> operands) {
  append_instruction(section(Section::Decoration), spv::Op::OpMemberDecorate,
                     joined({id, member, static_cast<uint32_t>(decoration)}, operands));
}

// --- types and constants

uint32_t Editor::declare_new(spv::Op opcode, uint32_t type, std::span<const uint32_t> operands) {
  const uint32_t id = new_id();
  std::vector<uint32_t> words;
  if (type != 0) words.push_back(type);
  words.push_back(id);
  words.insert(words.end(), operands.begin(), operands.end());
  append_instruction(section(Section::Global), opcode, words);
  return id;
}

uint32_t Editor::declare(spv::Op opcode, uint32_t type, std::span<const uint32_t> operands) {
  if (const uint32_t id = declarations_.find(opcode, type, operands); id != 0) return id;
  const uint32_t id = declare_new(opcode, type, operands);
  declarations_.add(id, opcode, type, operands);
  return id;
}

uint32_t Editor::type_void() { return declare(spv::Op::OpTypeVoid, 0, {}); }
uint32_t Editor::type_bool() { return declare(spv::Op::OpTypeBool, 0, {}); }

uint32_t Editor::type_int(uint32_t width) {
  return declare(spv::Op::OpTypeInt, 0, as_span({width, 0u}));
}

uint32_t Editor::type_float(uint32_t width) {
  return declare(spv::Op::OpTypeFloat, 0, as_span({width}));
}

uint32_t Editor::type_vector(uint32_t component, uint32_t count) {
  return declare(spv::Op::OpTypeVector, 0, as_span({component, count}));
}

uint32_t Editor::type_pointer(spv::StorageClass storage, uint32_t pointee) {
  return declare(spv::Op::OpTypePointer, 0, as_span({static_cast<uint32_t>(storage), pointee}));
}

uint32_t Editor::type_function(uint32_t result, std::initializer_list<uint32_t> parameters) {
  return declare(spv::Op::OpTypeFunction, 0, joined({result}, parameters));
}

uint32_t Editor::new_struct(std::initializer_list<uint32_t> members) {
  return declare_new(spv::Op::OpTypeStruct, 0, as_span(members));
}

uint32_t Editor::new_struct(std::span<const uint32_t> members) {
  return declare_new(spv::Op::OpTypeStruct, 0, members);
}

uint32_t Editor::new_array(uint32_t element, uint32_t length) {
  return declare_new(spv::Op::OpTypeArray, 0, as_span({element, length}));
}

uint32_t Editor::new_runtime_array(uint32_t element) {
  return declare_new(spv::Op::OpTypeRuntimeArray, 0, as_span({element}));
}

uint32_t Editor::constant(uint32_t type, std::span<const uint32_t> words) {
  return declare(spv::Op::OpConstant, type, words);
}

uint32_t Editor::constant_u32(uint32_t value) { return constant(type_int(32), as_span({value})); }

uint32_t Editor::constant_u64(uint64_t value) {
  return constant(type_int(64),
                  as_span({static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)}));
}

uint32_t Editor::constant_bool(bool value) {
  return declare(value ? spv::Op::OpConstantTrue : spv::Op::OpConstantFalse, type_bool(), {});
}

Editor::SpecConstant Editor::new_spec_constant_u32(uint32_t value) {
  while (module_->has_spec_id(next_spec_id_)) ++next_spec_id_;
  const uint32_t id = declare_new(spv::Op::OpSpecConstant, type_int(32), as_span({value}));
  decorate(id, spv::Decoration::SpecId, {next_spec_id_});
  return {id, next_spec_id_++};
}

// --- variables

uint32_t Editor::new_global_variable(uint32_t pointer_type, spv::StorageClass storage,
                                     uint32_t initializer) {
  std::vector<uint32_t> operands = {static_cast<uint32_t>(storage)};
  if (initializer != 0) operands.push_back(initializer);
  const uint32_t id = declare_new(spv::Op::OpVariable, pointer_type, operands);
  added_variables_.emplace(id, storage);
  return id;
}

std::optional<spv::StorageClass> Editor::storage_class(uint32_t variable) const {
  const auto added = added_variables_.find(variable);
  if (added != added_variables_.end()) return added->second;
  if (!module_->is_global_variable(variable)) return std::nullopt;
  return static_cast<spv::StorageClass>(module_->definition(variable)->operand(0));
}

// --- code

void Editor::insert_before(uint32_t instruction, const InstructionBuilder& code) {
  if (code.empty()) return;
  changes_.push_back({instruction, static_cast<uint32_t>(arena_.size()),
                      static_cast<uint32_t>(code.words().size()), false});
  arena_.insert(arena_.end(), code.words().begin(), code.words().end());
}

void Editor::remove(uint32_t instruction) {
  if (removed_.insert(instruction).second) changes_.push_back({instruction, 0, 0, true});
}

void Editor::replace(uint32_t instruction, const InstructionBuilder& code) {
  insert_before(instruction, code);
  remove(instruction);
}

void Editor::replace_word(uint32_t instruction, uint32_t word, uint32_t value) {
  word_edits_.push_back({module_->word_offset(instruction) + word, value});
}

// Merges the edits into a new module.

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
  std::vector<NewEntryPoint> entry_points = TALLY_TRY(this->entry_points(original));
  std::vector<uint32_t> arena = arena_;
  const std::vector<Change> ordered = changes(entry_points, arena);

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
  TALLY_TRY(check_bound(words.size()));
  return words;
}

// Checks the bound of a new module of `words` words.
Status Editor::check_bound(size_t words) const {
  const size_t spare = std::min(words * kSpareIdsPerWord, kMaxSpareIds);
  if (ids_.next == module_->bound() || ids_.next + spare <= kBoundLimit) return {};
  return Error{fmt::format("SPIR-V: its bound of ids, {}, leaves too few for further code",
                           module_->bound())};
}

namespace {

// The instruction with another literal string at operand `index`, which its first words precede.
std::vector<uint32_t> with_literal(const Instruction& instruction, size_t index,
                                   std::string_view text) {
  const std::span<const uint32_t> words = instruction.words();
  const size_t before = words.size() - instruction.operand_count() + index;
  std::vector<uint32_t> made(words.begin(), words.begin() + static_cast<ptrdiff_t>(before));
  std::vector<uint32_t> literal(text.size() / sizeof(uint32_t) + 1);
  std::memcpy(literal.data(), text.data(), text.size());
  made.insert(made.end(), literal.begin(), literal.end());
  const auto rest = instruction.operands().subspan(instruction.after_string(index));
  made.insert(made.end(), rest.begin(), rest.end());
  made[0] = static_cast<uint32_t>(made.size()) << spv::WordCountShift |
            static_cast<uint32_t>(instruction.opcode());
  return made;
}

// The module with other words for the instructions for which `change` returns some.
template <typename Change>
std::vector<uint32_t> with_changes(const Module& module, Change change) {
  const std::span<const uint32_t> words = module.words();
  std::vector<uint32_t> result(words.begin(), words.begin() + kHeaderWords);
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    const Instruction instruction = module.instruction(i);
    const std::vector<uint32_t> changed = change(i, instruction);
    const std::span<const uint32_t> used = changed.empty() ? instruction.words() : changed;
    result.insert(result.end(), used.begin(), used.end());
  }
  return result;
}

}  // namespace

std::vector<uint32_t> with_entry_point_name(const Module& module, const EntryPoint& entry,
                                            std::string_view name) {
  return with_changes(module, [&](uint32_t i, const Instruction& instruction) {
    return i == entry.instruction ? with_literal(instruction, 2, name) : std::vector<uint32_t>();
  });
}

std::vector<uint32_t> with_string(const Module& module, std::string_view name,
                                  std::string_view new_name) {
  return with_changes(module, [&](uint32_t, const Instruction& instruction) {
    const bool is_it =
        instruction.opcode() == spv::Op::OpString && instruction.string(0, name.size() + 1) == name;
    return is_it ? with_literal(instruction, 0, new_name) : std::vector<uint32_t>();
  });
}

}  // namespace tally::spirv
