#include "capture/record/shaders.h"

#include <algorithm>

#include "vk/chain.h"
#include "vk/pipeline.h"

namespace tally::capture {
namespace {

constexpr const char* kUnknown = "the capture does not know the function that created it";

// Identifies equal pipelines across runs by a sequence of hashes.
class HashSequence {
 public:
  void add(const Hash128& hash) {
    parts_.push_back(hash.high);
    parts_.push_back(hash.low);
  }
  void add(uint64_t value) { parts_.push_back(value); }
  void add(std::span<const std::byte> bytes) { add(hash_bytes(bytes)); }
  Hash128 result() const { return hash_bytes(std::as_bytes(std::span(parts_))); }

 private:
  std::vector<uint64_t> parts_;
};

std::span<const std::byte> text_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void add_specialization(HashSequence& hash, const VkSpecializationInfo* info) {
  if (!info) return;
  for (uint32_t i = 0; i < info->mapEntryCount; ++i) {
    const VkSpecializationMapEntry& entry = info->pMapEntries[i];
    if (entry.offset > info->dataSize || entry.size > info->dataSize - entry.offset) continue;
    const auto* data = static_cast<const std::byte*>(info->pData) + entry.offset;
    hash.add(entry.constantID);
    hash.add(std::span(data, entry.size));
  }
}

const char* debug_name(const VkPipelineShaderStageCreateInfo& stage) {
  const auto* name = vk::find_in_chain<VkDebugUtilsObjectNameInfoEXT>(
      stage.pNext, VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT);
  return name && name->pObjectName ? name->pObjectName : "";
}

}  // namespace

void PrimitiveAssembly::update(const PrimitiveAssembly& newer) {
  if (newer.topology) topology = newer.topology;
  if (newer.restart) restart = newer.restart;
  if (newer.patch_control_points) patch_control_points = newer.patch_control_points;
}

void Pipeline::find_launches() {
  if (shaders.size() != 1 || !shaders[0]->facts || !shaders[0]->facts->launch) return;
  const EntryPointFacts& facts = *shaders[0]->facts;
  launches = std::make_unique<Launches>(*facts.launch, facts.module_words);
}

size_t Pipeline::index_of(uint32_t sub_index, uint32_t stage) const {
  const auto is_it = [&](const auto& shader) {
    return static_cast<uint32_t>(shader->stage) == stage;
  };
  auto begin = shaders.begin(), end = shaders.end();
  if (ends_of_entries) {
    if (sub_index >= ends_of_entries->size()) return shaders.size();
    end = begin + (*ends_of_entries)[sub_index];
    if (sub_index != 0) begin += (*ends_of_entries)[sub_index - 1];
  } else if (std::count_if(begin, end, is_it) > 1) {
    return sub_index < shaders.size() && is_it(shaders[sub_index]) ? sub_index : shaders.size();
  }
  const auto found = std::find_if(begin, end, is_it);
  return found == end ? shaders.size() : static_cast<size_t>(found - shaders.begin());
}

Shader* Pipeline::shader_of(uint32_t sub_index, uint32_t stage) const {
  const size_t index = index_of(sub_index, stage);
  return index < shaders.size() ? shaders[index].get() : nullptr;
}

uint32_t Pipeline::captured_sub_index(uint32_t sub_index, uint32_t stage) const {
  return ends_of_entries ? static_cast<uint32_t>(index_of(sub_index, stage)) : sub_index;
}

std::string PipelineDraft::why_not_counted(const CaptureSettings& settings) const {
  if (!settings.counts) return "only plain times are measured";
  const std::string& pattern = settings.shader_pattern;
  const bool is_selected =
      pattern.empty() || has_instrumented_part ||
      std::ranges::any_of(
          names, [&](const std::string& name) { return matches_pattern(pattern, name); }) ||
      std::ranges::any_of(hashes,
                          [&](const std::string& one) { return matches_hash(pattern, one); });
  return is_selected ? "" : "the shader pattern does not select it";
}

void ShaderRegistry::select_named(const InternedObject& thing, const std::string& name,
                                  const std::string& pattern) {
  if (pattern.empty() || !matches_pattern(pattern, name)) return;
  for (const std::shared_ptr<Pipeline>& pipeline : pipelines_.values()) {
    const bool has_it =
        pipeline.get() == &thing || std::ranges::any_of(pipeline->shaders, [&](const auto& shader) {
          return shader->module.get() == &thing;
        });
    if (has_it && pipeline->has_flag) pipeline->selected_later = true;
  }
}

std::shared_ptr<Module> ShaderRegistry::read(std::span<const uint32_t> words) const {
  std::shared_ptr<Module> module = connection_.module(words);
  const auto queries = [](const EntryPointFacts& entry) {
    return entry.launch && !entry.launch->sizes.empty();
  };
  if (std::ranges::any_of(module->facts.entry_points, queries))
    query_sizes_.store(true, std::memory_order_relaxed);
  return module;
}

void ShaderRegistry::add_module(VkShaderModule handle, std::span<const uint32_t> words) {
  modules_.insert(handle, read(words));
}

std::shared_ptr<Module> ShaderRegistry::module_of(
    const VkPipelineShaderStageCreateInfo& stage) const {
  if (stage.module != VK_NULL_HANDLE) return modules_.find(stage.module);
  const auto* inline_module = vk::find_in_chain<VkShaderModuleCreateInfo>(
      stage.pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  if (!inline_module || !inline_module->pCode) return nullptr;
  std::shared_ptr<Module> module =
      read({inline_module->pCode, inline_module->codeSize / sizeof(uint32_t)});
  if (const char* name = debug_name(stage); *name) connection_.name_changed(module, name);
  return module;
}

namespace {

NamedShader named_shader(const Module& module, const VkPipelineShaderStageCreateInfo& stage) {
  return {.hash = module.hash,
          .name = module.name(),
          .source = module.facts.source,
          .stage = stage.stage,
          .entry_point = stage.pName ? stage.pName : ""};
}

}  // namespace

Replacements::Words ShaderRegistry::replacement_of(const VkPipelineShaderStageCreateInfo& stage,
                                                   uint32_t max_version) const {
  const std::shared_ptr<Module> module = module_of(stage);
  if (!module) return nullptr;
  const std::span<const uint32_t> words =
      module->kept_words ? std::span(*module->kept_words) : std::span<const uint32_t>();
  return connection_.replacements().find(named_shader(*module, stage), words, max_version);
}

void ShaderRegistry::refuse_replacement(const VkPipelineShaderStageCreateInfo& stage,
                                        const std::string& reason) const {
  if (const std::shared_ptr<Module> module = module_of(stage))
    connection_.replacements().refuse(named_shader(*module, stage), reason);
}

std::shared_ptr<Module> ShaderRegistry::name_replacement(
    std::span<const uint32_t> words, const VkPipelineShaderStageCreateInfo& original) const {
  const std::shared_ptr<Module> replaced = module_of(original);
  std::shared_ptr<Module> module = read(words);
  const std::string title = replaced ? named_shader(*replaced, original).title() : std::string();
  if (module != replaced && module->name().empty() && module->facts.source != title)
    connection_.name_changed(module, title);
  return module;
}

std::shared_ptr<Shader> ShaderRegistry::shader(const std::shared_ptr<Module>& module,
                                               const VkPipelineShaderStageCreateInfo& stage) {
  Specialization constants;
  if (module) constants = module->facts.declared(vk::specialization_of(stage.pSpecializationInfo));
  ShaderKey key{module ? module->id() : 0, stage.stage, stage.pName ? stage.pName : "", constants};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = shaders_.find(key); known != shaders_.end()) return known->second;
  }
  auto made = make_shader(module, stage, std::move(constants));
  const std::lock_guard lock(mutex_);
  return shaders_.try_emplace(std::move(key), std::move(made)).first->second;
}

std::shared_ptr<Shader> ShaderRegistry::make_shader(const std::shared_ptr<Module>& module,
                                                    const VkPipelineShaderStageCreateInfo& stage,
                                                    Specialization constants) const {
  auto shader = std::make_shared<Shader>();
  shader->id = connection_.new_id();
  shader->module = module;
  shader->stage = stage.stage;
  shader->entry_point = stage.pName ? stage.pName : "";
  shader->constants = std::move(constants);
  if (!module) return shader;
  shader->facts = module->facts.find(stage.stage, shader->entry_point);
  const bool differs =
      shader->facts && shader->facts->costs_depend_on_specialization && !shader->constants.empty();
  if (differs && module->kept_words) {
    shader->own_facts = module_facts(*module->kept_words, shader->constants);
    shader->facts = shader->own_facts.find(stage.stage, shader->entry_point);
  }
  return shader;
}

PipelineDraft ShaderRegistry::draft(VkPipelineBindPoint bind_point,
                                    std::span<const VkPipelineShaderStageCreateInfo> stages,
                                    std::span<const VkPipeline> libraries) {
  PipelineDraft draft;
  HashSequence hash;
  hash.add(static_cast<uint64_t>(bind_point));
  for (const VkPipelineShaderStageCreateInfo& stage : stages) {
    const std::shared_ptr<Module> module = module_of(stage);
    draft.shaders.push_back(shader(module, stage));
    draft.names.push_back(draft.shaders.back()->entry_point);
    hash.add(static_cast<uint64_t>(stage.stage));
    hash.add(text_bytes(draft.shaders.back()->entry_point));
    if (module) {
      hash.add(module->hash);
      draft.hashes.push_back(to_string(module->hash));
      draft.names.push_back(module->name());
      draft.names.push_back(module->facts.source);
    }
    add_specialization(hash, stage.pSpecializationInfo);
  }
  for (const VkPipeline library : libraries) {
    const std::shared_ptr<Pipeline> part = pipelines_.find(library);
    if (!part) continue;
    draft.shaders.insert(draft.shaders.end(), part->shaders.begin(), part->shaders.end());
    draft.hashes.push_back(to_string(part->hash));
    draft.has_instrumented_part |= part->instrumented();
    draft.has_flagged_part |= part->has_flag;
    draft.assembly.update(part->assembly);
    hash.add(part->hash);
  }
  draft.hash = hash.result();
  draft.hashes.push_back(to_string(draft.hash));
  return draft;
}

void ShaderRegistry::add_pipeline(VkPipeline handle, VkPipelineBindPoint bind_point,
                                  const PipelineDraft& draft, std::string not_instrumented,
                                  bool has_flag, std::string diagnostics,
                                  std::vector<store::stream::PipelineStatistic> statistics) {
  auto pipeline = std::make_shared<Pipeline>(connection_.new_id());
  pipeline->bind_point = bind_point;
  pipeline->hash = draft.hash;
  pipeline->shaders = draft.shaders;
  pipeline->find_launches();
  pipeline->not_instrumented = std::move(not_instrumented);
  pipeline->has_flag = has_flag;
  pipeline->assembly = draft.assembly;
  pipeline->diagnostics = std::move(diagnostics);
  pipeline->statistics = std::move(statistics);
  pipelines_.insert(handle, pipeline);
  if (!connection_.receiving()) return;
  const std::lock_guard lock(mutex_);
  new_pipelines_.push_back(std::move(pipeline));
  if (new_pipelines_.size() < most_new_) return;
  std::erase_if(new_pipelines_, [](const auto& one) { return one.use_count() == 1; });
  most_new_ = std::max(kMinMostNew, 2 * new_pipelines_.size());
}

std::shared_ptr<Pipeline> ShaderRegistry::stand_in(StandIn kind, VkPipelineBindPoint bind_point) {
  const char* const name = kind == StandIn::ExecutionSet ? "execution set" : "of unknown origin";
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Pipeline>& pipeline = stand_ins_[{kind, bind_point}];
  if (!pipeline) {
    HashSequence hash;
    hash.add(text_bytes(name));
    hash.add(static_cast<uint64_t>(bind_point));
    pipeline = std::make_shared<Pipeline>(connection_.new_id());
    pipeline->bind_point = bind_point;
    pipeline->hash = hash.result();
    pipeline->not_instrumented = kUnknown;
    pipeline->set_name(name);
  }
  return pipeline;
}

std::vector<std::shared_ptr<Pipeline>> ShaderRegistry::take_new() {
  const std::lock_guard lock(mutex_);
  return std::exchange(new_pipelines_, {});
}

namespace {

// Reasons are a part: equal shaders may be counted in one object and not in another.
Hash128 key_of(VkPipelineBindPoint bind_point, const BoundShaders& shaders) {
  std::vector<uint64_t> parts = {static_cast<uint64_t>(bind_point)};
  for (const auto& shader : shaders) {
    if (!shader) continue;
    parts.push_back(shader->draft.hash.high);
    parts.push_back(shader->draft.hash.low);
    parts.push_back(shader->not_instrumented.empty() ? 1 : 0);
  }
  return hash_bytes(std::as_bytes(std::span(parts)));
}

}  // namespace

void add_reason(std::string& text, const std::string& reason) {
  if (reason.empty() || text.find(reason) != text.npos) return;
  if (!text.empty()) text += "; ";
  text += reason;
}

std::shared_ptr<const ShaderObject> ShaderObjectRegistry::find(VkShaderEXT handle) const {
  if (handle == VK_NULL_HANDLE) return nullptr;
  if (auto known = objects_.find(handle)) return known;
  static const auto* unknown =
      new std::shared_ptr<const ShaderObject>(std::make_shared<ShaderObject>(
          ShaderObject{{}, kUnknown, "", false, false}));  // outlives every thread
  return *unknown;
}

void ShaderObjectRegistry::select_named(VkShaderEXT handle, const std::string& name,
                                        const std::string& pattern) {
  if (pattern.empty() || !matches_pattern(pattern, name)) return;
  const auto known = objects_.find(handle);
  if (!known || !known->has_flag || known->not_instrumented.empty()) return;
  ShaderObject selected = *known;
  selected.not_instrumented.clear();
  add(handle, std::move(selected));
}

void ShaderObjectRegistry::add_binary(VkShaderEXT handle, std::span<const std::byte> binary) {
  auto known = objects_.find(handle);
  if (!known) return;
  const Hash128 hash = hash_bytes(binary);
  const std::unique_lock lock(mutex_);
  binaries_[hash] = std::move(known);
}

std::shared_ptr<const ShaderObject> ShaderObjectRegistry::find_binary(
    std::span<const std::byte> binary) const {
  const Hash128 hash = hash_bytes(binary);
  const std::shared_lock lock(mutex_);
  const auto found = binaries_.find(hash);
  return found == binaries_.end() ? nullptr : found->second;
}

std::shared_ptr<Pipeline> ShaderObjectRegistry::pipeline(VkPipelineBindPoint bind_point,
                                                         const BoundShaders& shaders) {
  if (std::ranges::none_of(shaders, [](const auto& shader) { return shader != nullptr; })) {
    return nullptr;
  }
  const Hash128 hash = key_of(bind_point, shaders);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = pipelines_.find(hash); found != pipelines_.end()) return found->second;
  }
  auto made = make_pipeline(bind_point, hash, shaders);
  const std::unique_lock lock(mutex_);
  return pipelines_.try_emplace(hash, std::move(made)).first->second;
}

// Instrumented if one of the shaders is. The reasons of the others tell why they have no counts.
std::shared_ptr<Pipeline> ShaderObjectRegistry::make_pipeline(VkPipelineBindPoint bind_point,
                                                              const Hash128& hash,
                                                              const BoundShaders& shaders) const {
  auto pipeline = std::make_shared<Pipeline>(connection_.new_id());
  pipeline->bind_point = bind_point;
  pipeline->hash = hash;
  bool instrumented = false;
  std::string reasons;
  for (const auto& shader : shaders) {
    if (!shader) continue;
    const auto& parts = shader->draft.shaders;
    pipeline->shaders.insert(pipeline->shaders.end(), parts.begin(), parts.end());
    instrumented = instrumented || shader->not_instrumented.empty();
    add_reason(reasons, shader->not_instrumented);
    add_reason(pipeline->diagnostics, shader->diagnostics);
  }
  pipeline->find_launches();
  if (instrumented) {
    add_reason(pipeline->diagnostics, reasons);
  } else {
    pipeline->not_instrumented = reasons;
  }
  return pipeline;
}

}  // namespace tally::capture
