#include "capture/send/packet_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace tally::capture {
namespace {

constexpr size_t kPacketBytes = size_t{256} << 10;
constexpr size_t kCostsPerMessage = size_t{64} << 10;
constexpr size_t kGonePerMessage = size_t{64} << 10;

const char* bind_point_word(VkPipelineBindPoint bind_point) {
  switch (bind_point) {
    case VK_PIPELINE_BIND_POINT_GRAPHICS:
      return "graphics";
    case VK_PIPELINE_BIND_POINT_COMPUTE:
      return "compute";
    case VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR:
      return "ray tracing";
    default:
      return "other";
  }
}

// Returns why a shader cannot be counted, as far as its module tells.
const char* module_problem(const Shader& shader) {
  if (!shader.module)
    return "its SPIR-V is not known: it was created from an identifier or a binary";
  const auto& words = shader.module->words;
  if (words && words->size() * sizeof(uint32_t) + 256 > stream::kMaxModuleBytes) {
    return "its SPIR-V is too large for a capture";
  }
  return "";
}

}  // namespace

PacketBuilder::PacketBuilder(StreamConnection& connection, Id device)
    : connection_(connection), emission_lock_(connection.emission_mutex()), device_(device) {
  stream::Gone gone;
  add_labels(&gone);
  for (const stream::Message& message : connection_.take_messages()) add(message);
  for (const stream::Replacement& one : connection_.replacements().take_news()) add(one);
  for (const auto& thing : connection_.take_names()) {
    if (thing->defined) add_name(thing);
  }
  for (const auto& pipeline : connection_.take_bound()) {
    if (pipeline->defined) add(stream::Bound{pipeline->id()});
  }
  add_gone(std::move(gone));
}

void PacketBuilder::add_gone(stream::Gone gone) {
  const auto add_part = [&](std::vector<Id>& ids, std::vector<Id> stream::Gone::*member) {
    while (!ids.empty()) {
      const size_t rest = ids.size() > kGonePerMessage ? ids.size() - kGonePerMessage : 0;
      stream::Gone part;
      (part.*member).assign(ids.begin() + static_cast<ptrdiff_t>(rest), ids.end());
      ids.resize(rest);
      add(part);
    }
  };
  add_part(gone.objects, &stream::Gone::objects);
  add_part(gone.labels, &stream::Gone::labels);
}

void PacketBuilder::add(const stream::AnyMessage& message) {
  append_message(bytes_, message);
  if (bytes_.size() > kPacketBytes) push();
}

void PacketBuilder::push() {
  if (!bytes_.empty()) connection_.push(std::exchange(bytes_, {}));
}

void PacketBuilder::add_labels(stream::Gone* gone) {
  for (const LabelRef& label : connection_.take_labels(gone)) {
    add(stream::Label{label->id, label->parent ? label->parent->id : 0, label->name});
  }
}

Id PacketBuilder::need(const Label* label, const Label* root) {
  if (!label) std::swap(label, root);
  if (!label) return 0;
  LabelRef path;
  if (root) {
    path = connection_.label_under(*root, *label);
    label = path.get();
  }
  if (!label->sent) add_labels();
  return label->id;
}

void PacketBuilder::add_name(const std::shared_ptr<InternedObject>& thing) {
  if (std::string name = thing->name(); !name.empty()) {
    add(stream::Name{thing->kind(), thing->id(), std::move(name)});
  }
}

Id PacketBuilder::need(const std::shared_ptr<Object>& object) {
  if (!object) return 0;
  if (!std::exchange(object->defined, true)) {
    add(stream::Object{
        .id = object->id(), .device = device_, .type = object->type, .handle = object->handle});
    add_name(object);
  }
  return object->id();
}

Id PacketBuilder::need(const std::shared_ptr<Module>& module) {
  if (!std::exchange(module->defined, true)) {
    add(stream::Module{
        .id = module->id(), .hash = to_string(module->hash), .spirv = *module->words});
    module->words.reset();
    add_name(module);
  }
  return module->id();
}

void PacketBuilder::define(Shader& shader) {
  if (std::exchange(shader.defined, true)) return;
  const std::string problem = module_problem(shader);
  const Id module = problem.empty() ? need(shader.module) : 0;
  const std::span<const SpecializationConstant> constants = shader.constants;
  const auto sent = constants.first(std::min(constants.size(), stream::kMaxConstants));
  if (sent.size() < constants.size()) {
    connection_.message(
        store::Severity::Warning,
        fmt::format("a shader has {} specialization constants; the capture stores the first {}",
                    constants.size(), sent.size()));
  }
  add(stream::Shader{shader.id,
                     device_,
                     module,
                     static_cast<uint32_t>(shader.stage),
                     shader.entry_point,
                     problem,
                     {sent.begin(), sent.end()}});
}

Id PacketBuilder::need(const std::shared_ptr<Pipeline>& pipeline) {
  if (!pipeline) return 0;
  if (std::exchange(pipeline->defined, true)) return pipeline->id();
  stream::Pipeline message{
      {.id = pipeline->id(),
       .device = device_,
       .hash = to_string(pipeline->hash),
       .bind_point = bind_point_word(pipeline->bind_point),
       .not_instrumented = pipeline->instrumented() ? std::string() : pipeline->not_instrumented}};
  for (const auto& shader : pipeline->shaders) {
    define(*shader);
    message.shaders.push_back(shader->id);
  }
  add(message);
  for (stream::PipelineStatistic& statistic : std::exchange(pipeline->statistics, {})) {
    statistic.pipeline = pipeline->id();
    add(statistic);
  }
  add_name(pipeline);
  if (pipeline->bound.load(std::memory_order_relaxed)) add(stream::Bound{pipeline->id()});
  return pipeline->id();
}

void PacketBuilder::add_costs(Shader& shader) {
  stream::BlockCosts message{shader.id, 0, 0, {}};
  const auto flush = [&] {
    if (!message.costs.empty()) add(message);
    message.costs.clear();
  };
  for (const BlockCosts::Update& item : shader.costs.take_updates()) {
    const size_t metrics = item.costs.size();
    const bool continues = message.metrics == metrics && !message.costs.empty() &&
                           message.first_block + message.costs.size() / metrics == item.block;
    if (!continues || message.costs.size() > kCostsPerMessage) {
      flush();
      message.first_block = item.block;
      message.metrics = static_cast<uint32_t>(metrics);
    }
    message.costs.insert(message.costs.end(), item.costs.begin(), item.costs.end());
  }
  flush();
}

}  // namespace tally::capture
