// The process's connection to the receiver, shared by all its devices, and what has to be unique in
// it: ids, modules and labels. It exists while an instance lives that was created with a receiver,
// or with the setting for live counters: then there may be no receiver.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "capture/capture_settings.h"
#include "capture/recording/module_facts.h"
#include "store/stream.h"
#include "store/stream_client.h"

namespace tally::capture {

namespace stream = store::stream;
using stream::Id;

// Something that the stream defines once, when it is first needed, and names any number of times.
// `defined` is guarded by the emission lock; the name to its own mutex, because names come from any
// thread.
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
  bool name_waits = false;  // in the connection's list; under the connection's mutex

 private:
  const stream::Named kind_;
  const Id id_;
  mutable std::mutex mutex_;
  std::string name_;
};

// A shader module's content. The words are let go once the receiver has them, or at once where
// there is none.
struct Module : InternedObject {
  Module(Id new_id, Hash128 content, ModuleFacts read)
      : InternedObject(stream::Named::Module, new_id), hash(content), facts(std::move(read)) {}
  const Hash128 hash;
  const ModuleFacts facts;
  std::shared_ptr<const std::vector<uint32_t>> words;  // under the emission lock
};

struct ApplicationInfo {
  std::string application;
  std::string engine;
  uint32_t api_version = 0;  // as it asked for
};

class StreamConnection {
 public:
  // The connection of this process, connected on first use. Null when nobody listens (which is
  // logged) and no live counters are asked for.
  static std::shared_ptr<StreamConnection> acquire(const CaptureSettings& settings,
                                                   const ApplicationInfo& info);
  ~StreamConnection();

  Id new_id() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  // Somebody gets what is captured.
  bool receiving() const { return client_ && !client_->receiver_gone(); }
  // Queues bytes for the receiver, once there is room for them.
  void push(stream::Bytes bytes) {
    if (client_) client_->push(std::move(bytes), settings_.queue_bytes);
  }
  // Notes commands that were submitted and whose values the receiver is to get.
  void count_submitted(uint64_t commands);
  const CaptureSettings& settings() const { return settings_; }

  // The module with this content; the first caller's words are kept.
  std::shared_ptr<Module> module(std::span<const uint32_t> words);

  // The id of a label path; 0 is the root. Bounded: beyond the limit new names fold into their
  // parent.
  Id label(Id parent, const char* name);
  // The path of `label` with `root` in front of it.
  Id label_under(Id root, Id label);

  // To be sent with the next emission. Equal texts are sent once.
  void message(store::Severity severity, const std::string& text);
  void name_changed(std::shared_ptr<InternedObject> thing, std::string name);

  // Taken by whoever builds and pushes messages, from the first definition to the push: definitions
  // must arrive before what refers to them, and only once.
  std::mutex& emission_mutex() { return emission_mutex_; }

  struct NewLabel {
    Id id;
    Id parent;
    std::string name;
  };
  std::vector<NewLabel> take_labels();
  std::vector<stream::Message> take_messages();
  std::vector<std::shared_ptr<InternedObject>> take_names();

  // Waits until what was pushed has left the process, or the receiver is given up.
  void flush();
  // The process is about to end: everything goes out now, as far as the receiver takes it.
  void send_end();

 private:
  StreamConnection(std::unique_ptr<store::stream::StreamClient> client,
                   const CaptureSettings& settings);
  void handshake(const ApplicationInfo& info);
  Id label_locked(Id parent, const std::string& name);

  const std::unique_ptr<store::stream::StreamClient> client_;  // null: there is no receiver
  const CaptureSettings settings_;
  const int process_;
  std::atomic<Id> next_id_ = 1;
  std::mutex emission_mutex_;

  std::mutex mutex_;  // of what follows
  std::unordered_map<Hash128, std::shared_ptr<Module>> modules_;
  struct LabelKey {
    Id parent;
    std::string name;
    bool operator==(const LabelKey&) const = default;
  };
  struct LabelKeyHash {
    size_t operator()(const LabelKey& key) const {
      return hash_combine(key.parent, std::hash<std::string>{}(key.name));
    }
  };
  struct LabelNode {
    Id parent = 0;
    std::string name;
  };
  std::unordered_map<LabelKey, Id, LabelKeyHash> label_ids_;
  std::unordered_map<Id, LabelNode> labels_;
  std::vector<NewLabel> new_labels_;
  std::vector<stream::Message> messages_;
  std::unordered_map<std::string, bool> said_;
  std::vector<std::shared_ptr<InternedObject>> names_;
  bool end_sent_ = false;
};

}  // namespace tally::capture
