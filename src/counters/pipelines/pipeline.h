// A pipeline of the application and its variants: driver pipelines with the same state whose
// shaders count. Exists only for pipelines that a feature of the layer needs.
//
// The application holds the handle of the plain pipeline. A ray-tracing pipeline that counts is its
// own variant, with the same handle.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/pipelines/variants.h"

namespace tally::counters {

struct Pipeline;

// Makes variants after the pipeline's creation. Owns what that needs.
class VariantMaker {
 public:
  virtual ~VariantMaker() = default;
  // Keeps the variant, unless there is nothing to count, or on failure.
  virtual void make(Pipeline& pipeline, Variant variant) = 0;
  // The same on a thread of the layer, where no message may be sent: messengers expect the thread
  // that calls Vulkan. False if a recording has to try it, and report what fails.
  virtual bool make_ahead(Pipeline& pipeline, Variant variant, VkPipelineCache cache) = 0;
  virtual void report(const Pipeline& pipeline, const std::vector<std::string>& notices) = 0;
};

struct PipelineVariant {
  VkPipeline handle = VK_NULL_HANDLE;
  std::shared_ptr<const Program> program;
  std::vector<std::string> notices;  // if it was made ahead, until a recording wants it

  explicit operator bool() const { return handle != VK_NULL_HANDLE; }
};

struct Pipeline : Bindable {
  Pipeline(VkDevice owner, const DeviceTable& table) : device(owner), next(table) {}
  ~Pipeline() override;

  bool make(Variant which) override;
  const SharedProgram& program(Variant which) const override { return find(which)->program; }
  void bind(VkCommandBuffer commands, VkPipelineBindPoint point, Variant which) const override {
    next.CmdBindPipeline(commands, point, find(which)->handle);
  }

  // Null if the variant was not wanted yet, or could not be made.
  const PipelineVariant* find(Variant which) const { return variants_.find(which); }
  // For the maker, and while the pipeline is created.
  void keep(Variant which, PipelineVariant made, bool ahead = false) {
    variants_.keep(which, std::move(made), ahead);
  }
  // Makes the variant on a thread of the layer. Does nothing where another thread makes it. After a
  // failure the recording that wants it tries again, and reports the reason.
  void make_ahead(Variant which, VkPipelineCache cache);
  // The same for a library that is linked: waits for other threads, and takes the notices. Null if
  // there is nothing to count; nothing if a recording has to try it.
  std::optional<const PipelineVariant*> make_ahead(Variant which,
                                                   std::vector<std::string>& notices);
  // Before the application's handle is destroyed.
  void destroy_variants();

  VkDevice device;
  const DeviceTable& next;
  VkPipeline handle = VK_NULL_HANDLE;  // the application's
  // Created without allocation callbacks of the application.
  bool keepable = false;
  bool library = false;
  // The handle is destroyed with this object: pipelines that were linked with this library, and
  // whose variants are not made yet, outlive the application's library.
  bool owns_handle = false;
  std::shared_ptr<VariantMaker> maker;  // null: no variant is made any more
  // True if all variants are right for draws with alpha to coverage.
  bool alpha_to_coverage = true;
  uint32_t ray_stages = 0;  // with those of libraries
  // Where the counters of its stages are: of a ray-tracing library, with those of its libraries.
  std::vector<std::shared_ptr<const CounterRanges::Range>> ranges;

 private:
  Variants<PipelineVariant> variants_;
};

}  // namespace tally::counters
