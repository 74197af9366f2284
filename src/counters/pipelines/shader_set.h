// A VkShaderEXT of the application and its variants: shaders of the driver that count. The
// application holds the handle of the plain one.
#pragma once

#include <tally/vulkan_newer.h>
#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "counters/base/device_table.h"
#include "counters/layouts/pipeline_layout.h"
#include "counters/pipelines/kept_create_info.h"
#include "counters/shaders/instrumenter.h"
#include "counters/shaders/program.h"

namespace tally::counters {

// The origin of a shader object. A binary of the shader has the same origin: its create info
// need not have the structs that the driver reads with SPIR-V.
struct ShaderOrigin {
  std::shared_ptr<const ShaderCode> code;
  std::string entry_point;
  std::vector<VkSpecializationMapEntry> entries;
  std::vector<std::byte> data;
  KeptMemory memory;            // holds the chain
  const void* chain = nullptr;  // of the create info
  bool keeps_chain = true;      // false: the layer does not know all of it

  VkSpecializationInfo specialization() const {
    return {static_cast<uint32_t>(entries.size()), entries.data(), data.size(), data.data()};
  }
};

// Makes the variants of a shader object, or of all that are linked.
class ShaderVariantMaker {
 public:
  virtual ~ShaderVariantMaker() = default;

  // Makes the variant if it is wanted for the first time. Thread-safe; takes no lock once the
  // variant is known.
  void ensure(Variant variant) {
    if (!known_[static_cast<size_t>(variant)].load(std::memory_order_acquire)) make_once(variant);
  }

 protected:
  // Leaves the variant null if there is nothing to count, or on failure.
  virtual void make(Variant variant) = 0;

 private:
  void make_once(Variant variant);

  std::mutex mutex_;
  std::array<std::atomic<bool>, kVariants> known_{};
};

struct ShaderObject {
  ShaderObject(VkDevice owner, const DeviceTable& table, VkShaderStageFlagBits its_stage)
      : device(owner), next(table), stage(its_stage) {}
  ~ShaderObject() { destroy_variants(); }
  ShaderObject(const ShaderObject&) = delete;
  ShaderObject& operator=(const ShaderObject&) = delete;

  // Null if it could not be created. The application owns the handle of Variant::Plain. For others,
  // call has() or choose() first, which makes them.
  VkShaderEXT& variant(Variant which) { return variants[static_cast<size_t>(which)]; }
  VkShaderEXT variant(Variant which) const { return variants[static_cast<size_t>(which)]; }
  bool has(Variant which) const {
    if (maker) maker->ensure(which);
    return variant(which) != VK_NULL_HANDLE;
  }
  Variant choose(Variant wanted) const { return choose_variant(*this, wanted); }
  // The counters of the variant's blocks; null if it has none.
  const std::shared_ptr<const StageInfo>& info(Variant which) const {
    return infos[static_cast<size_t>(which)];
  }
  // Null if the variant's counters begin their slot's record.
  const CounterRanges::Range* range(Variant which) const {
    return ranges[static_cast<size_t>(which)].get();
  }
  void destroy_variants() {
    maker.reset();
    for (size_t i = 1; i < kVariants; ++i) {
      const VkShaderEXT handle = std::exchange(variants[i], VK_NULL_HANDLE);
      if (handle != VK_NULL_HANDLE) next.DestroyShaderEXT(device, handle, nullptr);
    }
    if (covering) covering->destroy_variants();
  }

  VkDevice device;
  const DeviceTable& next;
  VkShaderStageFlagBits stage;
  bool instrumented = false;  // has VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM
  // Where each variant's counters are in their slot's record, if the shader may be in execution
  // sets; else null, and they begin the record.
  std::array<std::shared_ptr<const CounterRanges::Range>, kVariants> ranges;
  std::array<VkShaderEXT, kVariants> variants{};
  std::array<std::shared_ptr<const StageInfo>, kVariants> infos;
  std::shared_ptr<const ShaderOrigin> origin;  // null: a binary of unknown origin
  std::shared_ptr<PipelineLayout> layout;
  std::shared_ptr<ShaderVariantMaker> maker;  // null: no variant is made any more
  // Has the variants for draws with alpha to coverage, before which no fragment test may be early.
  // Null where those of this object are right for all draws.
  std::shared_ptr<ShaderObject> covering;
};

// The origins of binaries that vkGetShaderBinaryDataEXT returned, by their contents. Thread-safe.
class ShaderBinaries {
 public:
  void add(std::span<const std::byte> binary, const std::shared_ptr<const ShaderOrigin>& origin) {
    const Hash128 hash = hash_bytes(binary);
    const std::lock_guard lock(mutex_);
    origins_[hash] = origin;
  }
  std::shared_ptr<const ShaderOrigin> find(std::span<const std::byte> binary) const {
    const Hash128 hash = hash_bytes(binary);
    const std::lock_guard lock(mutex_);
    const auto found = origins_.find(hash);
    return found == origins_.end() ? nullptr : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Hash128, std::shared_ptr<const ShaderOrigin>> origins_;
};

// Shader objects that are bound together. The command buffer treats them like one pipeline with
// variants; the application has no handle of it.

struct Pipeline;

// Indexed by the number of the stage's bit: vertex to mesh, and compute between them.
inline constexpr size_t kShaderStages = 8;
using BoundShaders = std::array<VkShaderEXT, kShaderStages>;  // null: none

inline constexpr size_t kComputeShader = 5;
constexpr size_t shader_index(VkShaderStageFlagBits stage) {
  return static_cast<size_t>(std::countr_zero(static_cast<uint32_t>(stage)));
}

class ShaderSet {
 public:
  using Shaders = std::array<std::shared_ptr<ShaderObject>, kShaderStages>;
  explicit ShaderSet(Shaders shaders) : shaders_(std::move(shaders)) {}

  // True if the shaders can count exactly this. Makes their variants if they are not made yet.
  bool has(Variant which) const;
  // True if the shaders keep their record pointers at different places in push data, or one reads
  // where another keeps its own.
  bool mixes_heap_layouts() const;
  // Binds this variant of every shader.
  void bind(VkCommandBuffer commands, const DeviceTable& next, Variant variant) const;
  // True if draws with alpha to coverage have the variants of covering().
  bool has_covering() const;
  std::shared_ptr<const ShaderSet> covering() const;
  bool instrumented() const;
  VkShaderStageFlags stages() const;
  // The one that the layer uses, with its handle. Null if no shader has a layout.
  std::shared_ptr<PipelineLayout> layout() const;
  // The stages that this variant counts.
  std::shared_ptr<const Program> make_program(Variant variant) const;

 private:
  bool lacks_moved_blocks(Variant variant) const;

  Shaders shaders_;
};

// The sets of a device, as pipelines. Thread-safe.
class ShaderSets {
 public:
  // Null if none of the shaders is known.
  std::shared_ptr<Pipeline> find(const BoundShaders& bound) const;
  std::shared_ptr<Pipeline> add(const BoundShaders& bound,
                                const std::shared_ptr<Pipeline>& pipeline);
  // Before the driver destroys the shader.
  void remove(VkShaderEXT shader);

 private:
  struct Hash {
    size_t operator()(const BoundShaders& bound) const;
  };
  mutable std::shared_mutex mutex_;
  std::unordered_map<BoundShaders, std::shared_ptr<Pipeline>, Hash> sets_;
};

}  // namespace tally::counters
