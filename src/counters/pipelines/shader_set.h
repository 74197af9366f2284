// A VkShaderEXT of the application and its variants: shaders of the driver that count. The
// application holds the handle of the plain one.
#pragma once

#include <tally/vulkan_newer.h>
#include <vulkan/vulkan_core.h>

#include <array>
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
#include "counters/pipelines/variants.h"
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
  vk::CopyMemory memory;        // holds the chain
  const void* chain = nullptr;  // of the create info
  bool keeps_chain = true;      // false: the layer does not know all of it

  VkSpecializationInfo specialization() const {
    return {static_cast<uint32_t>(entries.size()), entries.data(), data.size(), data.data()};
  }
};

struct ShaderVariant {
  VkShaderEXT handle = VK_NULL_HANDLE;
  std::shared_ptr<const StageInfo> info;  // the counters of its blocks; null if it has none
  // Where they are in their slot's record, if the shader may be in execution sets; else null, and
  // they begin the record.
  std::shared_ptr<const CounterRanges::Range> range;

  explicit operator bool() const { return handle != VK_NULL_HANDLE; }
};

// Makes the variants of a shader object, or of all that are linked: these share a lock.
class ShaderVariantMaker {
 public:
  virtual ~ShaderVariantMaker() = default;
  // Keeps the variant of each of the shaders, unless there is nothing to count, or on failure.
  virtual void make(Variant variant) = 0;
};

struct ShaderObject {
  ShaderObject(VkDevice owner, const DeviceTable& table, VkShaderStageFlagBits its_stage,
               VkShaderEXT its_handle, std::shared_ptr<std::mutex> lock)
      : device(owner),
        next(table),
        stage(its_stage),
        handle(its_handle),
        variants(std::move(lock)) {}
  ~ShaderObject() { destroy_variants(); }
  ShaderObject(const ShaderObject&) = delete;
  ShaderObject& operator=(const ShaderObject&) = delete;

  // Makes the variant if it is wanted for the first time. Returns whether there is one.
  bool make(Variant which) {
    return variants.want(which, [&](ShaderVariant*) {
      if (maker) maker->make(which);
    }) != nullptr;
  }
  // Makes the variant, or the best one that there is instead. Returns which.
  Variant make_best(Variant wanted) {
    if (!by_alpha_to_coverage) wanted.alpha_to_coverage = false;
    return best_variant(wanted, [this](Variant which) { return make(which); });
  }
  // Null if the variant was not wanted yet, or could not be made.
  const ShaderVariant* find(Variant which) const { return variants.find(which); }
  void destroy_variants() {
    variants.close([&](ShaderVariant& variant) {
      const VkShaderEXT destroyed = std::exchange(variant.handle, VK_NULL_HANDLE);
      if (destroyed != VK_NULL_HANDLE) next.DestroyShaderEXT(device, destroyed, nullptr);
    });
    maker.reset();
  }

  VkDevice device;
  const DeviceTable& next;
  VkShaderStageFlagBits stage;
  VkShaderEXT handle;         // the application's
  bool instrumented = false;  // has VK_SHADER_CREATE_INSTRUMENT_SHADER_BIT_ARM
  // True if draws with alpha to coverage, before which no fragment test may be early, have variants
  // of their own.
  bool by_alpha_to_coverage = false;
  std::shared_ptr<const ShaderOrigin> origin;  // null: a binary of unknown origin
  std::shared_ptr<PipelineLayout> layout;
  std::shared_ptr<ShaderVariantMaker> maker;  // null: no variant is made any more
  Variants<ShaderVariant> variants;
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

// Indexed by the number of the stage's bit: vertex to mesh, and compute between them.
inline constexpr size_t kShaderStages = 8;
using BoundShaders = std::array<VkShaderEXT, kShaderStages>;  // null: none

inline constexpr size_t kComputeShader = 5;
constexpr size_t shader_index(VkShaderStageFlagBits stage) {
  return static_cast<size_t>(std::countr_zero(static_cast<uint32_t>(stage)));
}

// Shader objects that are bound together. The application has no handle of a set.
class ShaderSet : public Bindable {
 public:
  using Shaders = std::array<std::shared_ptr<ShaderObject>, kShaderStages>;
  explicit ShaderSet(Shaders shaders);

  // True if the shaders can count exactly this.
  bool make(Variant which) override;
  const SharedProgram& program(Variant which) const override {
    return variants_.find(which)->program;
  }
  // Binds this variant of every shader.
  void bind(VkCommandBuffer commands, VkPipelineBindPoint point, Variant variant) const override;
  // True if the shaders keep their record pointers at different places in push data, or one reads
  // where another keeps its own.
  bool mixes_heap_layouts() const;

 private:
  struct Counted {
    bool exactly = false;
    SharedProgram program;  // null if they count no blocks

    explicit operator bool() const { return exactly; }
  };
  bool can_make(Variant which) const;
  bool lacks_moved_blocks(Variant variant) const;
  // The one that the layer uses, with its handle. Null if no shader has a layout.
  std::shared_ptr<PipelineLayout> choose_layout() const;
  // The stages that this variant counts.
  SharedProgram make_program(Variant variant) const;

  Shaders shaders_;
  Variants<Counted> variants_;
};

// The sets of a device. Thread-safe.
class ShaderSets {
 public:
  // Null if none of the shaders is known.
  std::shared_ptr<ShaderSet> find(const BoundShaders& bound) const;
  std::shared_ptr<ShaderSet> add(const BoundShaders& bound, const std::shared_ptr<ShaderSet>& set);
  // Before the driver destroys the shader.
  void remove(VkShaderEXT shader);

 private:
  struct Hash {
    size_t operator()(const BoundShaders& bound) const;
  };
  mutable std::shared_mutex mutex_;
  std::unordered_map<BoundShaders, std::shared_ptr<ShaderSet>, Hash> sets_;
};

}  // namespace tally::counters
