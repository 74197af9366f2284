// The variants of an object: one or none for each key. A variant is made once: when a recording
// first wants it, or before that by a thread of the layer. Asking for it makes nothing, and takes
// no lock.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counters/base/device_table.h"
#include "counters/layouts/pipeline_layout.h"
#include "counters/pipelines/pipeline_contents.h"
#include "counters/shaders/program.h"
#include "vk/own_call.h"

namespace tally::counters {

// T is cheap to construct without a variant, and then converts to false.
template <typename T>
class Variants {
 public:
  // Objects whose variants are made together share a lock.
  explicit Variants(std::shared_ptr<std::mutex> lock = std::make_shared<std::mutex>())
      : lock_(std::move(lock)) {}
  ~Variants() {
    for (Entry* entry = first_.load(std::memory_order_relaxed); entry;) {
      delete std::exchange(entry, entry->next);
    }
  }
  Variants(const Variants&) = delete;
  Variants& operator=(const Variants&) = delete;

  // Null if the variant was not wanted yet, or could not be made.
  const T* find(Variant which) const {
    const Entry* entry = entry_of(which);
    const bool wanted = entry && entry->wanted.load(std::memory_order_acquire);
    return wanted && entry->value ? &entry->value : nullptr;
  }

  // The first that wants the variant calls `make`, which keeps it; other threads wait meanwhile. If
  // it was made ahead, `make` gets it instead. Null if it cannot be made.
  template <typename Make>
  T* want(Variant which, Make make) {
    Entry* entry = entry_of(which);
    if (!entry || !entry->wanted.load(std::memory_order_acquire)) entry = make_wanted(which, make);
    return entry->value ? &entry->value : nullptr;
  }

  // Calls `make` if no other thread uses the variants, and this one is neither wanted nor made.
  template <typename Make>
  void make_ahead(Variant which, Make make) {
    const std::unique_lock lock(*lock_, std::try_to_lock);
    if (lock && !closed_ && !entry_of(which)) vk::guarded_void(make);
  }

  // Calls `make` if the variant is neither wanted nor made, once no other thread uses the variants.
  // Calls `use` with the variant, or with null.
  template <typename Make, typename Use>
  void use_ahead(Variant which, Make make, Use use) {
    const std::lock_guard lock(*lock_);
    if (!closed_ && !entry_of(which)) vk::guarded_void(make);
    Entry* entry = entry_of(which);
    use(entry ? &entry->value : nullptr);
  }

  // For `make`, and while the object is created. Nobody has wanted the variant if it is made ahead.
  T& keep(Variant which, T value, bool ahead = false) {
    auto entry = std::make_unique<Entry>(which, std::move(value));
    entry->wanted.store(!ahead, std::memory_order_relaxed);
    entry->next = first_.load(std::memory_order_relaxed);
    first_.store(entry.get(), std::memory_order_release);
    return entry.release()->value;
  }

  // Nothing is made from now on. Calls `destroy` with each variant.
  template <typename Destroy>
  void close(Destroy destroy) {
    const std::lock_guard lock(*lock_);
    closed_ = true;
    for (Entry* entry = first_.load(std::memory_order_relaxed); entry; entry = entry->next) {
      destroy(entry->value);
    }
  }

 private:
  struct Entry {
    Entry(Variant which, T made) : key(which), value(std::move(made)) {}

    const Variant key;
    T value;
    std::atomic<bool> wanted = false;
    Entry* next = nullptr;
  };

  Entry* entry_of(Variant which) const {
    Entry* entry = first_.load(std::memory_order_acquire);
    while (entry && entry->key != which) entry = entry->next;
    return entry;
  }

  template <typename Make>
  Entry* make_wanted(Variant which, Make make) {
    const std::lock_guard lock(*lock_);
    Entry* entry = entry_of(which);
    if (entry && entry->wanted.load(std::memory_order_relaxed)) return entry;
    if (!closed_) vk::guarded_void([&] { make(entry ? &entry->value : nullptr); });
    if (!entry_of(which)) keep(which, T());
    entry = entry_of(which);
    entry->wanted.store(true, std::memory_order_release);
    return entry;
  }

  std::shared_ptr<std::mutex> lock_;  // held while a variant is made or destroyed
  bool closed_ = false;
  std::atomic<Entry*> first_ = nullptr;  // entries stay until the end
};

// A pipeline, or shader objects that are bound together: the application binds it to draw or
// dispatch.
//
// The pass lets fragment tests come early where the shader allows it, but not with alpha to
// coverage. Where only a draw, or the link of a library, tells whether that is enabled, there are
// variants for draws with it and for draws without.

class Bindable {
 public:
  using SharedProgram = std::shared_ptr<const Program>;

  Bindable() = default;
  virtual ~Bindable() = default;
  Bindable(const Bindable&) = delete;
  Bindable& operator=(const Bindable&) = delete;

  // Makes the variant if it is wanted for the first time. Returns whether there is one.
  // Thread-safe; takes no lock once that is known. Variant::Plain only where plain_is_late.
  virtual bool make(Variant which) = 0;
  // The variant must be there. Null, or without stages, if it counts no blocks.
  virtual const SharedProgram& program(Variant which) const = 0;
  virtual void bind(VkCommandBuffer commands, VkPipelineBindPoint point, Variant which) const = 0;

  // Makes the variant, or the best one that there is instead. Returns which.
  Variant make_best(Variant wanted) {
    if (!by_alpha_to_coverage) wanted.alpha_to_coverage = false;
    return best_variant(wanted, [this](Variant which) { return make(which); });
  }
  // The variant that counts for queries alone.
  Variant make_best_for_queries(bool alpha_to_coverage) {
    Variant blocks{.blocks = true, .alpha_to_coverage = by_alpha_to_coverage && alpha_to_coverage};
    const bool numbered =
        instrumented || (many_records.load(std::memory_order_relaxed) && make(blocks));
    blocks.no_draw_index = !numbered;
    return make_best(blocks);
  }

  bool instrumented = false;  // has the flag of VK_ARM_shader_instrumentation
  // The driver has no plain pipeline before a recording binds it.
  bool plain_is_late = false;
  // True if draws with alpha to coverage have variants of their own.
  bool by_alpha_to_coverage = false;
  // True if a recording had a record for every few draws. A packed draw index then pays.
  std::atomic<bool> many_records = false;
  std::shared_ptr<DrawSize> draw_size;     // null unless the driver may count draws
  StatedFacts facts;                       // of what draws
  std::shared_ptr<PipelineLayout> layout;  // may be null for a library without shaders
};

// A pipeline of the application and its variants: driver pipelines with the same state whose
// shaders count. Exists only for pipelines that a feature of the layer needs.
//
// The application holds the handle of the plain pipeline, or of a stand-in if that is late. A
// ray-tracing pipeline that counts is its own variant, with the same handle.

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
    const bool plain = which == Variant::Plain || which.by_driver;
    next.CmdBindPipeline(commands, point, plain ? plain_handle() : find(which)->handle);
  }
  // If the plain pipeline is late, it must have been made.
  VkPipeline plain_handle() const { return plain_is_late ? find(Variant::Plain)->handle : handle; }

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
