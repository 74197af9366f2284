// A pipeline of the application and its variants: driver pipelines with the same state whose
// shaders count. Exists only for pipelines that a feature of the layer needs.
//
// A variant is made when a recording first wants it; or before that by a thread of the layer, which
// sends no messages. The application holds the handle of Variant::Plain. A ray-tracing pipeline
// that counts is its own variant: the plain handle and the Variant::Blocks handle are the same.
//
// The pass lets fragment tests come early where the shader allows it, but not with alpha to
// coverage. Where only a draw, or the link of a library, tells whether that is enabled, the
// variants are for draws without it, and covering() has those for draws with it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/layouts/pipeline_layout.h"
#include "counters/pipelines/pipeline_contents.h"
#include "counters/pipelines/shader_set.h"
#include "counters/shaders/program.h"

namespace tally::counters {

struct Pipeline;

// Makes variants after the pipeline's creation. Owns what that needs.
class VariantMaker {
 public:
  virtual ~VariantMaker() = default;
  // Sets the variant and its program. Leaves the variant null if there is nothing to count, or on
  // failure.
  virtual void make(Pipeline& pipeline, Variant variant) = 0;
  // The same on a thread of the layer, where no message may be sent: messengers expect the thread
  // that calls Vulkan. False if a recording has to try it, and report what fails.
  virtual bool make_ahead(Pipeline& pipeline, Variant variant, VkPipelineCache cache) = 0;
};

struct Pipeline {
  Pipeline(VkDevice owner, const DeviceTable& table) : device(owner), next(table) {}
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Makes the variant if it is wanted for the first time. Thread-safe; takes no lock once the
  // variant is known.
  bool has(Variant which) const {
    if (!known_[static_cast<size_t>(which)].load(std::memory_order_acquire)) make(which);
    return shaders ? shaders_have_[static_cast<size_t>(which)] : variant(which) != VK_NULL_HANDLE;
  }
  // Null if it could not be made: choose() then selects another. Call has() or choose() first.
  VkPipeline& variant(Variant which) { return variants[static_cast<size_t>(which)]; }
  VkPipeline variant(Variant which) const { return variants[static_cast<size_t>(which)]; }
  Variant choose(Variant wanted) const { return choose_variant(*this, wanted); }
  // The variant that counts for queries alone.
  Variant choose_for_queries() const {
    const bool numbered =
        instrumented || (many_records.load(std::memory_order_relaxed) && has(Variant::Blocks));
    return choose(numbered ? Variant::Blocks : Variant::Unnumbered);
  }
  // Makes the variant on a thread of the layer. Does nothing where another thread makes it. After a
  // failure the recording that wants it tries again, and reports the reason.
  void make_ahead(Variant which, VkPipelineCache cache);
  // The same for a library that is linked: waits for other threads, and takes the notices. False if
  // a recording has to try it.
  bool make_ahead(Variant which, std::vector<std::string>& notices);
  // Call while the pipeline is created, for what was made or tried then.
  void set_known(Variant which) {
    known_[static_cast<size_t>(which)].store(true, std::memory_order_release);
  }
  // The pipeline whose variants a draw binds, if alpha to coverage is `enabled` for it. Shares
  // ownership with `pipeline`. Thread-safe.
  static std::shared_ptr<Pipeline> for_alpha_to_coverage(const std::shared_ptr<Pipeline>& pipeline,
                                                         bool enabled);
  // True for another one's covering().
  bool is_covering() const { return original_ != nullptr; }
  // Before the application's handle is destroyed.
  void destroy_variants();

  bool instrumented = false;  // has the flag of VK_ARM_shader_instrumentation
  // True if a recording had a record for every few draws. A packed draw index then pays.
  std::atomic<bool> many_records = false;
  VkDevice device;
  const DeviceTable& next;
  VkPipeline handle = VK_NULL_HANDLE;  // the application's; null for shader objects
  // Created without allocation callbacks of the application.
  bool keepable = false;
  bool library = false;
  // The handle is destroyed with this object: pipelines that were linked with this library, and
  // whose variants are not made yet, outlive the application's library.
  bool owns_handle = false;
  std::array<VkPipeline, kVariants> variants{};
  std::array<std::shared_ptr<const Program>, kVariants> programs;  // of variants that count blocks
  std::shared_ptr<VariantMaker> maker;  // null: no variant is made any more
  // The notices about a variant that was made ahead, until a recording wants a variant.
  std::vector<std::string> notices_from_ahead;
  // True if the variants are right for draws with alpha to coverage.
  bool alpha_to_coverage = true;
  // True if those draws have the variants of covering() instead.
  bool has_covering = false;
  StatedFacts facts;        // of graphics pipelines
  uint32_t ray_stages = 0;  // with those of libraries
  // Where the counters of its stages are: of a ray-tracing library, with those of its libraries.
  std::vector<std::shared_ptr<const CounterRanges::Range>> ranges;
  std::shared_ptr<PipelineLayout> layout;  // may be null for a library without shaders
  // Not null: this stands for shader objects that are bound together, and has no handles.
  std::shared_ptr<const ShaderSet> shaders;

 private:
  void make(Variant which) const;
  void take_from_shaders(Variant which);
  bool try_ahead(Variant which, VkPipelineCache cache);
  Pipeline& covering();

  mutable std::mutex mutex_;  // held while a variant is made or destroyed
  std::unique_ptr<Pipeline> covering_;
  Pipeline* original_ = nullptr;
  mutable std::array<std::atomic<bool>, kVariants> known_{};
  std::array<bool, kVariants> shaders_have_{};  // of variants that are known
};

}  // namespace tally::counters
