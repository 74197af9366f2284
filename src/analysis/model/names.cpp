#include "analysis/model/names.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "catalogue/catalogue.h"

namespace tally::analysis {
namespace {

constexpr uint32_t kOutermost = 4, kInnermost = 12;
constexpr const char* kSeparator = " / ";

}  // namespace

// A parent is an older row, so its entries already exist.
LabelPaths::LabelPaths(const Model& model) : model_(model) {
  for (uint32_t label = 0; label < model.labels.size(); ++label) {
    const uint32_t parent = model.parent_of_label(label);
    depth_.push_back(parent == kNone ? 0 : depth_[parent] + 1);
    outer_.push_back(depth_[label] < kOutermost ? label : outer_[parent]);
  }
}

std::string LabelPaths::path(uint32_t label) const {
  if (label == kNone) return {};
  std::vector<uint32_t> shown;  // from the innermost outwards
  uint32_t left_out = 0;
  const uint32_t depth = depth_[label];
  if (depth >= kOutermost + kInnermost) left_out = depth + 1 - kOutermost - kInnermost;
  for (uint32_t at = label; at != kNone; at = model_.parent_of_label(at)) {
    if (left_out != 0 && shown.size() == kInnermost) at = outer_[label];
    shown.push_back(at);
  }
  std::string path;
  for (size_t i = shown.size(); i-- > 0;) {
    path += model_.labels[shown[i]].name;
    if (i == 0) break;
    path += kSeparator;
    if (left_out != 0 && i == kInnermost) path += fmt::format("({} more){}", left_out, kSeparator);
  }
  return path;
}

std::string file_title(const spirv::BlockMap& map, uint32_t file) {
  if (file >= map.files().size()) return "source";
  const std::string& name = map.files()[file].name;
  const size_t slash = name.find_last_of("/\\");
  const std::string title = slash == std::string::npos ? name : name.substr(slash + 1);
  return title.empty() ? "source" : title;
}

std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    if (lines.back().ends_with('\r')) lines.back().pop_back();
    start = end + 1;
  }
  return lines;
}

namespace {

const store::ModuleRow* module_of(const Model& model, uint32_t shader) {
  const uint32_t module = model.module_index.find(model.shaders[shader].module);
  return module == kNone ? nullptr : &model.modules[module];
}

std::string source_name(const Model& model, store::RowId module_id) {
  const auto words = model.reader.spirv(module_id);
  if (!words) return {};
  const auto module = spirv::Module::parse(*words);
  if (!module || module->entry_points().empty()) return {};
  const spirv::EntryPoint& entry = module->entry_points().front();
  const auto map = spirv::BlockMap::build(*module, entry.model, entry.name);
  return map ? map->source_name() : std::string();
}

// Indexed by shader: the names of its pipelines; "" for those without a name.
std::vector<std::set<std::string>> pipeline_names_of_shaders(const Model& model) {
  std::vector<std::set<std::string>> names(model.shaders.size());
  for (const store::PipelineRow& pipeline : model.pipelines) {
    for (const store::RowId id : pipeline.shaders) {
      const uint32_t shader = model.shader_index.find(id);
      if (shader != kNone) names[shader].insert(pipeline.name);
    }
  }
  return names;
}

// True if the pattern is the start of a hash.
bool is_hash_prefix(const std::string& pattern, const std::string& hash) {
  constexpr size_t kMinDigits = 4;
  return pattern.size() >= kMinDigits && hash.starts_with(pattern);
}

// The most common VkFormats of attachments, by number because captures are read without Vulkan.
std::string format_text(int64_t format) {
  constexpr std::pair<int64_t, const char*> kNames[] = {
      {9, "R8"},      {16, "RG8"},      {37, "RGBA8"},     {43, "sRGBA8"}, {44, "BGRA8"},
      {50, "sBGRA8"}, {64, "RGB10A2"},  {70, "R16"},       {76, "R16F"},   {77, "RG16"},
      {83, "RG16F"},  {91, "RGBA16"},   {97, "RGBA16F"},   {98, "R32U"},   {100, "R32F"},
      {103, "RG32F"}, {109, "RGBA32F"}, {122, "RG11B10F"}, {124, "D16"},   {125, "D24"},
      {126, "D32F"},  {127, "S8"},      {129, "D24S8"},    {130, "D32FS8"}};
  for (const auto& [number, name] : kNames) {
    if (number == format) return name;
  }
  return fmt::format("format {}", format);
}

// Tally never nests deeper. The limit bounds the recursion on untrusted text.
constexpr int kMaxJsonDepth = 8;

// Returns neither an array nor an object if `text` is not JSON.
nlohmann::ordered_json parse_json(const std::string& text) {
  const auto is_shallow = [](int depth, auto, auto&) { return depth <= kMaxJsonDepth; };
  return nlohmann::ordered_json::parse(text, is_shallow, /*allow_exceptions=*/false);
}

// "RGBA16F+D32F"
std::string attachments_text(const std::string& json) {
  const auto attachments = parse_json(json);
  std::string text;
  if (!attachments.is_array()) return text;
  for (const auto& attachment : attachments) {
    if (!attachment.is_object() || !attachment.contains("format")) continue;
    const auto& format = attachment["format"];
    if (!format.is_number_integer()) continue;
    text += (text.empty() ? "" : "+") + format_text(format.get<int64_t>());
  }
  return text;
}

// Parameters that state the amount of work of a call; their order identifies them.
bool is_size(const std::string& parameter) {
  constexpr std::string_view kSizes[] = {
      "vertexCount", "indexCount", "instanceCount", "groupCountX", "groupCountY",
      "groupCountZ", "drawCount",  "width",         "height",      "depth"};
  return std::find(std::begin(kSizes), std::end(kSizes), parameter) != std::end(kSizes);
}

}  // namespace

std::string stage_name(uint32_t stage) {
  if (const catalogue::Stage* known = catalogue::find_stage(stage)) return known->short_name;
  return fmt::format("stage 0x{:x}", stage);
}

std::string stage_names(uint32_t stages) {
  std::string text;
  for (; stages != 0; stages &= stages - 1) {
    if (!text.empty()) text += ", ";
    text += stage_name(1u << std::countr_zero(stages));
  }
  return text;
}

std::string short_hash(const std::string& hash) { return hash.substr(0, 8); }

std::string shader_hash(const Model& model, uint32_t shader) {
  const store::ModuleRow* module = module_of(model, shader);
  return module != nullptr ? module->hash : std::string();
}

std::vector<std::string> name_shaders(const Model& model) {
  std::map<store::RowId, std::string> names;  // by module
  for (const store::ModuleRow& module : model.modules)
    names[module.id] = module.name.empty() ? source_name(model, module.id) : module.name;
  const auto names_of_pipelines = pipeline_names_of_shaders(model);
  std::vector<std::string> result;
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    const store::ModuleRow* module = module_of(model, shader);
    std::string name = module != nullptr ? names[module->id] : "(no SPIR-V)";
    const std::set<std::string>& pipelines = names_of_pipelines[shader];
    if (name.empty() && pipelines.size() == 1) name = *pipelines.begin();
    result.push_back(name.empty() ? short_hash(module->hash) : std::move(name));
  }
  return result;
}

std::vector<std::string> disambiguated_shader_names(const Model& model,
                                                    const std::vector<std::string>& constants) {
  struct Namesakes {
    std::set<std::string> hashes;
    std::set<std::pair<std::string, std::string>> entry_points;  // hash, entry point
  };
  std::map<std::pair<std::string, uint32_t>, Namesakes> namesakes;  // by name and stage
  const auto namesakes_of = [&](uint32_t shader) -> Namesakes& {
    return namesakes[{model.shader_names[shader], model.shaders[shader].stage}];
  };
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    const std::string hash = shader_hash(model, shader);
    namesakes_of(shader).hashes.insert(hash);
    namesakes_of(shader).entry_points.emplace(hash, model.shaders[shader].entry_point);
  }
  std::vector<std::string> names = model.shader_names;
  for (uint32_t shader = 0; shader < model.shaders.size(); ++shader) {
    const Namesakes& others = namesakes_of(shader);
    const std::string hash = shader_hash(model, shader);
    if (others.entry_points.size() > others.hashes.size())
      names[shader] += ":" + model.shaders[shader].entry_point;
    if (others.hashes.size() > 1 && !hash.empty())
      names[shader] += fmt::format(" ({})", short_hash(hash));
    if (!constants[shader].empty()) names[shader] += fmt::format(" [{}]", constants[shader]);
  }
  return names;
}

std::vector<std::string> name_pipelines(const Model& model) {
  std::map<std::string, std::set<std::string>> hashes;  // by name
  for (const store::PipelineRow& row : model.pipelines) hashes[row.name].insert(row.hash);
  std::vector<std::string> names;
  for (const store::PipelineRow& row : model.pipelines) {
    const std::string hash = short_hash(row.hash);
    const bool alone = hashes[row.name].size() == 1;
    names.push_back(row.name.empty() ? hash
                    : alone          ? row.name
                                     : fmt::format("{} ({})", row.name, hash));
  }
  return names;
}

std::string pipeline_name(const Model& model, uint32_t pipeline) {
  return pipeline == kNone ? "(none)" : model.pipeline_names[pipeline];
}

bool shader_matches(const Model& model, uint32_t shader, const std::string& pattern) {
  if (pattern.empty()) return true;
  const store::ShaderRow& row = model.shaders[shader];
  const std::string& name = model.shader_names[shader];
  const std::string hash = shader_hash(model, shader);
  const bool is_hash = name == short_hash(hash);
  return (!is_hash && matches_pattern(pattern, name)) ||
         matches_pattern(pattern, stage_name(row.stage)) || pattern == row.entry_point ||
         is_hash_prefix(pattern, hash);
}

bool pipeline_matches(const Model& model, uint32_t pipeline, const std::string& pattern) {
  const store::PipelineRow& row = model.pipelines[pipeline];
  if (pattern == row.name || pattern == model.pipeline_names[pipeline]) return !pattern.empty();
  const bool has_wildcards = pattern.find_first_of("*?") != std::string::npos;
  return is_hash_prefix(pattern, row.hash) ||
         (has_wildcards && !row.name.empty() && matches_pattern(pattern, row.name));
}

std::string pass_text(const Pass* pass) {
  if (pass == nullptr) return {};
  const store::PassRow& row = pass->row;
  const std::string size = fmt::format("{}x{}", row.width, row.height);
  if (!row.name.empty()) return row.name + " " + size;
  const std::string attachments = attachments_text(row.attachments);
  return fmt::format("({}{}{})", size, attachments.empty() ? "" : " ", attachments);
}

std::string call_text(const Call& call) {
  constexpr std::string_view kPrefix = "vkCmd";
  const std::string_view name =
      call.name.starts_with(kPrefix) ? call.name.substr(kPrefix.size()) : call.name;
  std::string sizes, others;
  for (size_t i = 0; i < call.parameters.size(); ++i) {
    const std::string& parameter = call.parameter_names[i];
    const int64_t value = call.parameters[i];
    if (is_size(parameter)) {
      const bool one_instance = parameter == "instanceCount" && value == 1;
      if (!one_instance) sizes += fmt::format("{}{}", sizes.empty() ? " " : " x ", value);
    } else if (value != 0) {
      others += fmt::format(" {}={}", parameter, value);
    }
  }
  return fmt::format("{}{}{}", name, sizes, others);
}

std::string with_separators(uint64_t value) { return with_separators(std::to_string(value)); }

std::string with_separators(std::string number) {
  const size_t first = number.starts_with('-') ? 1 : 0;
  for (size_t at = std::min(number.find('.'), number.size()); at > first + 3;) {
    at -= 3;
    number.insert(at, 1, ',');
  }
  return number;
}

std::string counted(uint64_t count, const std::string& singular) {
  const bool ends_with_sibilant =
      singular.ends_with("s") || singular.ends_with("ch") || singular.ends_with("sh");
  return with_separators(count) + " " + singular +
         (count == 1           ? ""
          : ends_with_sibilant ? "es"
                               : "s");
}

namespace {

// The name of a variable, or of the block that it is.
std::string name_of_variable(const spirv::Module& module, uint32_t variable) {
  if (std::string name = module.name_of(variable); !name.empty()) return name;
  auto type = module.definition(module.type_of(variable));
  if (type && type->opcode() == spv::Op::OpTypePointer) type = module.definition(type->operand(1));
  if (type &&
      (type->opcode() == spv::Op::OpTypeArray || type->opcode() == spv::Op::OpTypeRuntimeArray))
    type = module.definition(type->operand(0));
  return type ? module.name_of(type->result_id()) : "";
}

}  // namespace

std::string resource_text(const spirv::Module& module, const spirv::MemoryAccess& access) {
  if (access.variable == 0) return "address";
  const std::string name = name_of_variable(module, access.variable);
  if (access.storage == spv::StorageClass::Workgroup) {
    return name.empty() ? "workgroup" : "workgroup " + name;
  }
  const auto number = [&](spv::Decoration decoration) {
    return module.decoration(access.variable, decoration).value_or(0);
  };
  return fmt::format("{}.{}{}{}", number(spv::Decoration::DescriptorSet),
                     number(spv::Decoration::Binding), name.empty() ? "" : " ", name);
}

std::string access_text(spirv::MemoryAccess::Kind kind) {
  switch (kind) {
    case spirv::MemoryAccess::Kind::Load:
      return "load";
    case spirv::MemoryAccess::Kind::Store:
      return "store";
    case spirv::MemoryAccess::Kind::Atomic:
      break;
  }
  return "atomic";
}

}  // namespace tally::analysis
