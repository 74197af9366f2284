// Builds messages for the receiver, with the definitions that they rely on in front of them, and
// pushes them as they grow. Exists under the connection's emission lock.
#pragma once

#include <memory>
#include <vector>

#include "capture/emit/stream_connection.h"
#include "capture/recording/passes.h"
#include "capture/recording/shaders.h"
#include "store/stream_codec.h"

namespace tally::capture {

class PacketBuilder {
 public:
  // Begins with what waits in the connection: labels, messages, names.
  PacketBuilder(StreamConnection& connection, Id device);
  ~PacketBuilder() { push(); }
  PacketBuilder(const PacketBuilder&) = delete;
  PacketBuilder& operator=(const PacketBuilder&) = delete;

  void add(const stream::AnyMessage& message);
  // Waits for room where the receiver does not keep up.
  void push();

  // The id, defined first where it was not.
  Id need(const std::shared_ptr<Object>& object);
  Id need(const std::shared_ptr<Pipeline>& pipeline);
  // Labels that came into being since the packet was begun.
  void add_labels();
  void add_costs(Shader& shader);

 private:
  void define(Shader& shader);
  Id need(const std::shared_ptr<Module>& module);
  void add_name(const std::shared_ptr<InternedObject>& thing);

  StreamConnection& connection_;
  const Id device_;
  stream::Bytes bytes_;
};

}  // namespace tally::capture
