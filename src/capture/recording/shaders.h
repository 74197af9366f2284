// Shader modules and pipelines: what they are made of, under which hash, and whether they count.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/emit/stream_connection.h"
#include "capture/readback/block_costs.h"
#include "vk/handle_map.h"

namespace tally::capture {

// An entry point of a module in one stage, on one device.
struct Shader {
  Id id = 0;
  std::shared_ptr<Module> module;  // null: the SPIR-V is not known
  VkShaderStageFlagBits stage{};
  std::string entry_point;
  std::optional<uint32_t> entry_block;  // whose executions are the shader's invocations

  // Under the emission lock.
  bool defined = false;
  BlockCosts costs;
  enum class Counts { Unknown, Seen, Missing } counts = Counts::Unknown;
};

struct Pipeline : InternedObject {
  explicit Pipeline(Id new_id) : InternedObject(stream::Named::Pipeline, new_id) {}

  VkPipelineBindPoint bind_point{};
  Hash128 hash;
  std::vector<std::shared_ptr<Shader>> shaders;
  std::string not_instrumented;  // why, "" = created with the flag
  std::string diagnostics;       // what was said about instrumentation while it was created

  bool is_stand_in = false;

  bool instrumented() const { return not_instrumented.empty(); }
  // The only shader of this stage; null when there is none or more than one.
  Shader* shader_of(uint32_t stage) const;
};

// One pipeline's stages as they are seen in its create info, before it is created.
struct PipelineDraft {
  std::vector<std::shared_ptr<Shader>> shaders;
  Hash128 hash;
  std::vector<std::string>
      names;  // that the user's pattern may match: hashes, entry points, debug names, sources
  bool has_instrumented_part = false;  // a library that is; the whole must be too

  bool selected_by(const std::string& pattern) const;
};

class ShaderRegistry {
 public:
  explicit ShaderRegistry(StreamConnection& connection) : connection_(connection) {}

  void add_module(VkShaderModule handle, std::span<const uint32_t> words);
  void remove_module(VkShaderModule handle) { modules_.take(handle); }
  std::shared_ptr<Module> module(VkShaderModule handle) const { return modules_.find(handle); }

  // `libraries` are pipelines that are linked in.
  PipelineDraft draft(VkPipelineBindPoint bind_point,
                      std::span<const VkPipelineShaderStageCreateInfo> stages,
                      std::span<const VkPipeline> libraries);

  void add_pipeline(VkPipeline handle, VkPipelineBindPoint bind_point, const PipelineDraft& draft,
                    std::string not_instrumented, std::string diagnostics);
  void remove_pipeline(VkPipeline handle) { pipelines_.take(handle); }
  std::shared_ptr<Pipeline> pipeline(VkPipeline handle) const { return pipelines_.find(handle); }

  // Stands for what runs without a pipeline that the capture knows, so that its commands are listed
  // with the reason why their shaders are not counted.
  enum class StandIn { ShaderObjects, GeneratedCommands, UnknownPipeline };
  std::shared_ptr<Pipeline> stand_in(StandIn kind, VkPipelineBindPoint bind_point);

  // Pipelines created since the last call; for the emission, so that also unused ones are in the
  // capture.
  std::vector<std::shared_ptr<Pipeline>> take_new();

 private:
  std::shared_ptr<Module> module_of(const VkPipelineShaderStageCreateInfo& stage) const;
  std::shared_ptr<Shader> shader(const std::shared_ptr<Module>& module,
                                 const VkPipelineShaderStageCreateInfo& stage);

  StreamConnection& connection_;
  vk::HandleMap<VkShaderModule, std::shared_ptr<Module>> modules_;
  vk::HandleMap<VkPipeline, std::shared_ptr<Pipeline>> pipelines_;
  std::mutex mutex_;  // of what follows
  std::map<std::tuple<Id, VkShaderStageFlagBits, std::string>, std::shared_ptr<Shader>> shaders_;
  std::vector<std::shared_ptr<Pipeline>> new_pipelines_;
  std::map<std::pair<StandIn, VkPipelineBindPoint>, std::shared_ptr<Pipeline>> stand_ins_;
};

}  // namespace tally::capture
