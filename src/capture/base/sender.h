// Facts that the layer reads from the SPIR-V of a module: the name of its source, and for each
// entry point the block that counts its invocations (its first block), the static costs of its
// blocks, and what their executions depend on.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/specialization.h"
#include "capture/base/block_costs.h"
#include "capture/base/capture_settings.h"
#include "capture/base/replacements.h"
#include "spirv/analysis/launch_inputs.h"
#include "store/stream/ledger.h"
#include "store/stream/stream.h"

namespace tally::store::stream {
class StreamClient;
}  // namespace tally::store::stream

namespace tally::capture {

struct EntryPointFacts {
  VkShaderStageFlagBits stage{};
  std::string name;
  uint32_t entry_block = 0;
  std::vector<BlockCost> costs;  // ascending blocks, each with at least one
  bool costs_depend_on_specialization = false;
  std::optional<spirv::LaunchInputs> launch;  // of a compute shader
  size_t module_words = 0;
};

struct ModuleFacts {
  std::vector<EntryPointFacts> entry_points;
  std::string source;              // the file that debug information names first
  std::vector<uint32_t> spec_ids;  // ascending

  bool costs_depend_on_specialization() const {
    return std::ranges::any_of(entry_points, &EntryPointFacts::costs_depend_on_specialization);
  }
  // Those that the module declares: others have no effect.
  Specialization declared(Specialization constants) const;

  // Null if there is none.
  const EntryPointFacts* find(VkShaderStageFlagBits stage, const std::string& name) const;
};

// The facts of the module as a pipeline specializes it. Returns empty facts for SPIR-V that cannot
// be read.
ModuleFacts module_facts(std::span<const uint32_t> words, const Specialization& constants = {});

// The process's connection to the receiver, shared by all devices. It owns what must be unique
// within the stream: ids, modules and labels. It tells the receiver which objects and labels are
// gone, so that neither side keeps more than what is in use. It exists while there is an instance
// that was created with a receiver or with the setting for live counters. With live counters only,
// there may be no receiver.

namespace stream = store::stream;
using stream::Id;

// An object that the stream defines once, before its first use, and then refers to by id. The
// emission lock guards `defined`. The name has its own mutex because any thread may set it.
class InternedObject {
 public:
  explicit InternedObject(stream::Named kind, Id id) : kind_(kind), id_(id) {}

  stream::Named kind() const { return kind_; }
  Id id() const { return id_; }
  std::string name() const {
    const std::lock_guard lock(mutex_);
    return name_;
  }
  void set_name(std::string name) {
    const std::lock_guard lock(mutex_);
    name_ = std::move(name);
  }

  bool defined = false;
  bool name_waits = false;  // in the connection's queue; guarded by the connection's mutex

 private:
  const stream::Named kind_;
  const Id id_;
  mutable std::mutex mutex_;
  std::string name_;
};

// A debug label within its parent. Equal labels are one while anything uses it.
struct Label : std::enable_shared_from_this<Label> {
  Label(Id new_id, std::shared_ptr<const Label> within, std::string_view text)
      : id(new_id), parent(std::move(within)), name(text) {}
  const Id id;
  const std::shared_ptr<const Label> parent;  // null: outermost
  const std::string name;
  // True if the receiver knows it. Set under the emission lock and the connection's mutex.
  mutable bool sent = false;
};
using LabelRef = std::shared_ptr<const Label>;

// The content of a shader module. The words are released once the receiver has them, or immediately
// if there is no receiver.
struct Module : InternedObject {
  Module(Id new_id, Hash128 content, ModuleFacts read)
      : InternedObject(stream::Named::Module, new_id), hash(content), facts(std::move(read)) {}
  const Hash128 hash;
  const ModuleFacts facts;
  std::shared_ptr<const std::vector<uint32_t>> words;  // guarded by the emission lock
  // The same, kept where costs depend on how a pipeline specializes the module, or where shaders
  // may be replaced; else null.
  std::shared_ptr<const std::vector<uint32_t>> kept_words;
};

struct ApplicationInfo {
  std::string application;
  std::string engine;
  uint32_t api_version = 0;  // as the application requested it
};

class StreamConnection {
 public:
  // Returns the connection of this process and connects on first use. Returns null if there is no
  // receiver (this is logged) and live counters are off.
  static std::shared_ptr<StreamConnection> acquire(const CaptureSettings& settings,
                                                   const ApplicationInfo& info);
  ~StreamConnection();

  Id new_id() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  // True if a receiver gets the captured data.
  bool receiving() const;
  // Queues bytes for the receiver, under the emission lock. Waits while the queue is full.
  void push(stream::Bytes bytes);
  // While one exists, small packets gather and are sent together: each one that is sent costs a few
  // system calls, and the receiver's socket holds a few hundred of them, however small they are.
  class Gathering {
   public:
    explicit Gathering(StreamConnection& connection);
    ~Gathering();
    Gathering(const Gathering&) = delete;
    Gathering& operator=(const Gathering&) = delete;

   private:
    StreamConnection& connection_;
  };
  // Counts submitted commands whose values the receiver should get.
  void count_submitted(uint64_t commands);
  void count_dropped_frame();
  // The receiver's request.
  store::stream::Orders orders() const;
  const CaptureSettings& settings() const { return settings_; }

  // Returns the module with this content. Keeps the words of the first caller.
  std::shared_ptr<Module> module(std::span<const uint32_t> words);

  Replacements& replacements() { return replacements_; }

  // Null: no label. The number of labels in use is limited: beyond the limit, a new name maps to
  // its parent.
  LabelRef label(const LabelRef& parent, const char* name);
  // Returns the path of `label` with `root` prepended.
  LabelRef label_under(const Label& root, const Label& label);
  // The receiver knows the object, and nothing refers to it any more.
  void object_gone(Id id) noexcept;

  // Queued for the next emission. Equal texts are sent once.
  void message(store::Severity severity, const std::string& text);
  void name_changed(std::shared_ptr<InternedObject> thing, std::string name);
  void pipeline_bound(std::shared_ptr<InternedObject> pipeline);

  // A PacketBuilder holds it from the first definition to the push. A definition
  // must arrive once, before any message that refers to it.
  std::mutex& emission_mutex() { return emission_mutex_; }

  // Those that the receiver does not know yet. The caller sends them, and then `gone`.
  std::vector<LabelRef> take_labels(stream::Gone* gone = nullptr);
  std::vector<stream::Message> take_messages();
  std::vector<std::shared_ptr<InternedObject>> take_names();
  std::vector<std::shared_ptr<InternedObject>> take_bound();

  // Waits until all pushed data has left the process, the receiver is disconnected, or the time is
  // over.
  void flush(std::chrono::milliseconds patience = std::chrono::milliseconds::max());
  // Sends everything, and then the end of the stream, because the process is exiting. Sends only
  // what the receiver accepts.
  void send_end();

 private:
  StreamConnection(std::unique_ptr<store::stream::StreamClient> client,
                   const CaptureSettings& settings);
  void handshake(const ApplicationInfo& info);
  LabelRef label_locked(const LabelRef& parent, std::string_view name);
  void forget_unused_labels();
  void send_gathered();

  static constexpr size_t kFewLabels = 1'024;
  static constexpr size_t kFewNames = 1'024;

  const std::unique_ptr<store::stream::StreamClient> client_;  // null: no receiver
  const CaptureSettings settings_;
  const int process_;
  Replacements replacements_;
  std::atomic<Id> next_id_ = 1;
  std::mutex emission_mutex_;
  // Guarded by the emission lock.
  stream::Bytes gathered_;
  uint32_t gatherings_ = 0;

  std::mutex mutex_;  // guards the members below
  std::unordered_map<Hash128, std::shared_ptr<Module>> modules_;
  struct LabelKey {
    const Label* parent;
    std::string_view name;  // of the label itself
    bool operator==(const LabelKey&) const = default;
  };
  struct LabelKeyHash {
    size_t operator()(const LabelKey& key) const {
      return hash_combine(key.parent ? key.parent->id : 0, std::hash<std::string_view>{}(key.name));
    }
  };
  std::unordered_map<LabelKey, LabelRef, LabelKeyHash> labels_;
  size_t most_labels_ = kFewLabels;  // at this number, those that nothing uses are forgotten
  uint64_t labels_refused_ = 0;      // since then
  std::vector<LabelRef> new_labels_;
  stream::Gone gone_;
  std::vector<stream::Message> messages_;
  std::unordered_map<std::string, bool> said_;
  size_t most_names_ = kFewNames;  // likewise
  std::vector<std::shared_ptr<InternedObject>> names_;
  std::vector<std::shared_ptr<InternedObject>> bound_;
  bool end_sent_ = false;
};

}  // namespace tally::capture
