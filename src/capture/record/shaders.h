// Shader modules and pipelines: their shaders, their hashes, and whether they are counted.
#pragma once

#include <tally/vulkan_newer.h>
#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/base/block_costs.h"
#include "capture/base/capture_settings.h"
#include "capture/base/sender.h"
#include "capture/record/launch_counts.h"
#include "vk/handles.h"

namespace tally::capture {

// An entry point of a module in one stage, on one device, specialized.
struct Shader {
  Id id = 0;
  std::shared_ptr<Module> module;  // null: the SPIR-V is unknown
  VkShaderStageFlagBits stage{};
  std::string entry_point;
  Specialization constants;                // that the module declares
  const EntryPointFacts* facts = nullptr;  // of the module or `own_facts`; null: unknown
  ModuleFacts own_facts;                   // where the specialized module has other costs

  // Guarded by the emission lock.
  bool defined = false;
  BlockCosts costs;
  enum class Counts { Unknown, Seen, Missing } counts = Counts::Unknown;
};

// How the vertices of draws become primitives: what a pipeline says, or what a command buffer has
// when it draws. Empty: a command says it, or nobody has.
struct PrimitiveAssembly {
  std::optional<VkPrimitiveTopology> topology;
  std::optional<bool> restart;
  std::optional<uint32_t> patch_control_points;

  // Takes what `newer` says.
  void update(const PrimitiveAssembly& newer);
  bool operator==(const PrimitiveAssembly&) const = default;
};

// Adds a reason or message to those of a pipeline, unless it is one of them.
void add_reason(std::string& text, const std::string& reason);

struct Pipeline : InternedObject {
  explicit Pipeline(Id new_id) : InternedObject(stream::Named::Pipeline, new_id) {}

  VkPipelineBindPoint bind_point{};
  Hash128 hash;
  std::vector<std::shared_ptr<Shader>> shaders;
  std::string not_instrumented;  // the reason; "": its commands are counted
  bool has_flag = false;         // created with the flag
  PrimitiveAssembly assembly;
  std::string diagnostics;  // messages about instrumentation during its creation
  // The numbers of the driver's compiler that are not sent yet. Guarded by the emission lock once
  // it is registered.
  std::vector<store::stream::PipelineStatistic> statistics;
  std::atomic<bool> bound = false;
  // Has the flag, and the user's pattern selects a name that came after its creation.
  std::atomic<bool> selected_later = false;
  // For an execution set: by index in the set, where the entry's shaders end in `shaders`.
  std::optional<std::vector<uint32_t>> ends_of_entries;
  // Null: each dispatch is counted.
  std::unique_ptr<Launches> launches;

  // Call this when the shaders are set.
  void find_launches();
  bool instrumented() const { return not_instrumented.empty() || selected_later; }
  // Returns the only shader of this stage. If there are several (ray tracing), the one whose index
  // is resultSubIndex; null if that one is of another stage. In an execution set, resultSubIndex is
  // the index of the entry.
  Shader* shader_of(uint32_t sub_index, uint32_t stage) const;
  // The value of `sub_index` in the capture: for an execution set, the index of the shader.
  uint32_t captured_sub_index(uint32_t sub_index, uint32_t stage) const;

 private:
  // An index of `shaders`; its size if there is none.
  size_t index_of(uint32_t sub_index, uint32_t stage) const;
};

// The stages of a pipeline, read from its create info before its creation.
struct PipelineDraft {
  std::vector<std::shared_ptr<Shader>> shaders;
  Hash128 hash;
  // Matched by the user's pattern: entry points, debug names, sources; and hashes.
  std::vector<std::string> names, hashes;
  bool has_instrumented_part =
      false;                      // a linked library is instrumented: the pipeline must be, too
  bool has_flagged_part = false;  // the same for the flag alone
  PrimitiveAssembly assembly;

  // Empty if the settings select it.
  std::string why_not_counted(const CaptureSettings& settings) const;
};

class ShaderRegistry {
 public:
  explicit ShaderRegistry(StreamConnection& connection) : connection_(connection) {}

  // A compute shader that the registry has read branches on the size of a descriptor.
  bool query_sizes() const { return query_sizes_.load(std::memory_order_relaxed); }

  void add_module(VkShaderModule handle, std::span<const uint32_t> words);
  void remove_module(VkShaderModule handle) { modules_.take(handle); }
  std::shared_ptr<Module> module(VkShaderModule handle) const { return modules_.find(handle); }

  // The module object of the stage, or the code in the stage itself; null: unknown.
  std::shared_ptr<Module> module_of(const VkPipelineShaderStageCreateInfo& stage) const;
  // The code that takes the place of the stage's; null: none does.
  Replacements::Words replacement_of(const VkPipelineShaderStageCreateInfo& stage,
                                     uint32_t max_version) const;
  // The driver refused the code.
  void refuse_replacement(const VkPipelineShaderStageCreateInfo& stage,
                          const std::string& reason) const;
  // The code that takes the place of another one gets its name.
  std::shared_ptr<Module> name_replacement(std::span<const uint32_t> words,
                                           const VkPipelineShaderStageCreateInfo& original) const;
  void add_replacement(VkShaderModule handle, std::span<const uint32_t> words,
                       const VkPipelineShaderStageCreateInfo& original) {
    modules_.insert(handle, name_replacement(words, original));
  }

  // `libraries` are linked pipeline libraries.
  PipelineDraft draft(VkPipelineBindPoint bind_point,
                      std::span<const VkPipelineShaderStageCreateInfo> stages,
                      std::span<const VkPipeline> libraries);

  void add_pipeline(VkPipeline handle, VkPipelineBindPoint bind_point, const PipelineDraft& draft,
                    std::string not_instrumented, bool has_flag, std::string diagnostics,
                    std::vector<store::stream::PipelineStatistic> statistics);
  // Selects the pipelines with the flag that are, or have, the named thing if the pattern matches.
  void select_named(const InternedObject& thing, const std::string& name,
                    const std::string& pattern);
  void remove_pipeline(VkPipeline handle) { pipelines_.take(handle); }
  std::shared_ptr<Pipeline> pipeline(VkPipeline handle) const { return pipelines_.find(handle); }

  // Placeholder for commands that run without a pipeline known to the capture. The commands are
  // listed with the reason why their shaders are not counted.
  enum class StandIn { ExecutionSet, UnknownPipeline };
  std::shared_ptr<Pipeline> stand_in(StandIn kind, VkPipelineBindPoint bind_point);

  // Returns the pipelines created since the last call. The emission uses it so that the capture
  // also contains unused pipelines.
  std::vector<std::shared_ptr<Pipeline>> take_new();

 private:
  std::shared_ptr<Shader> shader(const std::shared_ptr<Module>& module,
                                 const VkPipelineShaderStageCreateInfo& stage);
  std::shared_ptr<Shader> make_shader(const std::shared_ptr<Module>& module,
                                      const VkPipelineShaderStageCreateInfo& stage,
                                      Specialization constants) const;

  std::shared_ptr<Module> read(std::span<const uint32_t> words) const;

  StreamConnection& connection_;
  mutable std::atomic<bool> query_sizes_ = false;
  vk::HandleMap<VkShaderModule, std::shared_ptr<Module>> modules_;
  vk::HandleMap<VkPipeline, std::shared_ptr<Pipeline>> pipelines_;
  std::mutex mutex_;  // guards the members below
  using ShaderKey = std::tuple<Id, VkShaderStageFlagBits, std::string, Specialization>;
  std::map<ShaderKey, std::shared_ptr<Shader>> shaders_;
  std::vector<std::shared_ptr<Pipeline>> new_pipelines_;
  // While no frame is captured, nobody takes them. At this number, destroyed ones are forgotten.
  static constexpr size_t kMinMostNew = 1024;
  size_t most_new_ = kMinMostNew;
  std::map<std::pair<StandIn, VkPipelineBindPoint>, std::shared_ptr<Pipeline>> stand_ins_;
};

// Shader objects, and the sets of them that commands run with. A set stands for a pipeline: the
// same shaders in the same stages are one pipeline of the capture. Thread-safe.

struct ShaderObject {
  PipelineDraft draft;           // of this stage alone
  std::string not_instrumented;  // the reason, "" = its commands are counted
  std::string diagnostics;       // messages about instrumentation during its creation
  bool has_flag = false;         // created with the flag
  bool is_replacement = false;   // its code is not the application's
};

// Indexed by the number of the stage's bit; null: no shader.
inline constexpr size_t kShaderStages = 8;
using BoundShaders = std::array<std::shared_ptr<const ShaderObject>, kShaderStages>;

class ShaderObjectRegistry {
 public:
  explicit ShaderObjectRegistry(StreamConnection& connection) : connection_(connection) {}

  void add(VkShaderEXT handle, ShaderObject object) {
    objects_.insert(handle, std::make_shared<const ShaderObject>(std::move(object)));
  }
  void remove(VkShaderEXT handle) { objects_.take(handle); }
  // Selects the object if it has the flag and the pattern matches. Command buffers that bind it
  // later count its commands.
  void select_named(VkShaderEXT handle, const std::string& name, const std::string& pattern);
  // An object without shaders if the handle is unknown. Null for a null handle.
  std::shared_ptr<const ShaderObject> find(VkShaderEXT handle) const;

  // The origin of a shader's binary.
  void add_binary(VkShaderEXT handle, std::span<const std::byte> binary);
  std::shared_ptr<const ShaderObject> find_binary(std::span<const std::byte> binary) const;

  // Null if there are no shaders.
  std::shared_ptr<Pipeline> pipeline(VkPipelineBindPoint bind_point, const BoundShaders& shaders);

 private:
  std::shared_ptr<Pipeline> make_pipeline(VkPipelineBindPoint bind_point, const Hash128& hash,
                                          const BoundShaders& shaders) const;

  StreamConnection& connection_;
  vk::HandleMap<VkShaderEXT, std::shared_ptr<const ShaderObject>> objects_;
  mutable std::shared_mutex mutex_;  // guards the members below
  std::unordered_map<Hash128, std::shared_ptr<Pipeline>> pipelines_;
  std::unordered_map<Hash128, std::shared_ptr<const ShaderObject>> binaries_;
};

}  // namespace tally::capture
