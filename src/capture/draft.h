// Messages on their way to the receiver, with the definitions that they rely on in front of them.
// Either all of it is queued, or it is as if nothing had been written: then what would have been
// defined is not. Exists under the channel's emission lock.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "capture/channel.h"
#include "capture/passes.h"
#include "capture/shaders.h"
#include "store/stream_codec.h"

namespace tally::capture {

class Draft {
 public:
  // Begins with what waits in the channel: labels, messages, names.
  Draft(Channel& channel, Id device);
  ~Draft();  // takes everything back, unless it was committed
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  void add(const stream::AnyMessage& message) { append_message(bytes_, message); }
  // Marks something as defined by this draft; false when it was already.
  bool mark(bool& defined);

  // The id, defined first where it was not.
  Id need(const std::shared_ptr<Object>& object);
  Id need(const std::shared_ptr<Pipeline>& pipeline);
  // Labels that came into being since the draft was begun.
  void add_labels();
  void add_costs(Shader& shader);

  // Pipelines that came from `shaders.take_new()` and go back there if the draft fails.
  void keep_new(ShaderRegistry& shaders, std::vector<std::shared_ptr<Pipeline>> pipelines);

  size_t size() const { return bytes_.size(); }
  // Queues it if no more than `limit` bytes are waiting then.
  bool push(size_t limit);

 private:
  void define(Shader& shader);
  Id need(const std::shared_ptr<Module>& module);
  void add_name(const std::shared_ptr<Definable>& thing);
  void roll_back();

  Channel& channel_;
  const Id device_;
  stream::Bytes bytes_;
  bool committed_ = false;
  std::vector<bool*> defined_;
  std::vector<std::shared_ptr<Definable>> kept_;  // so that defined_ stays valid
  std::vector<std::shared_ptr<Module>> modules_;
  std::vector<Channel::NewLabel> labels_;
  std::vector<stream::Message> messages_;
  std::vector<std::shared_ptr<Definable>> names_;
  std::vector<std::pair<Shader*, std::vector<BlockCosts::News>>> costs_;
  ShaderRegistry* shaders_ = nullptr;
  std::vector<std::shared_ptr<Pipeline>> pipelines_;
};

}  // namespace tally::capture
