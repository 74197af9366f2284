// Builds messages for the receiver, preceded by the definitions that they need, and pushes them as
// they grow. Holds the emission lock of the connection.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "capture/base/sender.h"
#include "capture/record/passes.h"
#include "capture/record/shaders.h"
#include "store/stream/stream.h"

namespace tally::capture {

class PacketBuilder {
 public:
  // Starts with the queued labels, messages and names of the connection.
  PacketBuilder(StreamConnection& connection, Id device);
  ~PacketBuilder() { push(); }
  PacketBuilder(const PacketBuilder&) = delete;
  PacketBuilder& operator=(const PacketBuilder&) = delete;

  void add(const stream::AnyMessage& message);
  // Waits while the queue to the receiver is full.
  void push();

  // Returns the id. Defines the object first if necessary.
  Id need(const std::shared_ptr<Object>& object);
  Id need(const std::shared_ptr<Pipeline>& pipeline);
  // The label `label` within `root`; both may be null.
  Id need(const Label* label, const Label* root = nullptr);
  void add_costs(Shader& shader);

 private:
  void define(Shader& shader);
  Id need(const std::shared_ptr<Module>& module);
  void add_labels(stream::Gone* gone = nullptr);
  void add_gone(stream::Gone gone);
  void add_name(const std::shared_ptr<InternedObject>& thing);

  StreamConnection& connection_;
  const std::lock_guard<std::mutex> emission_lock_;
  const Id device_;
  stream::Bytes bytes_;
};

}  // namespace tally::capture
