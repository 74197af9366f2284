#include "capture/draft.h"

#include <fmt/format.h>

#include <iterator>

namespace tally::capture {
namespace {

constexpr size_t kCostsPerMessage = size_t{64} << 10;

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

// Why a shader cannot be counted, as far as the module tells.
const char* module_problem(const Shader& shader) {
  if (!shader.module) return "its SPIR-V is not known: the pipeline was created from an identifier";
  const auto& words = shader.module->words;
  if (words && words->size() * sizeof(uint32_t) + 256 > stream::kMaxModuleBytes) {
    return "its SPIR-V is too large for a capture";
  }
  return "";
}

}  // namespace

Draft::Draft(Channel& channel, Id device)
    : channel_(channel), device_(device), messages_(channel.take_messages()) {
  add_labels();
  for (const stream::Message& message : messages_) add(message);
  names_ = channel.take_names();
  for (const auto& thing : names_) {
    if (thing->defined) add_name(thing);
  }
}

Draft::~Draft() {
  if (!committed_) roll_back();
}

void Draft::add_labels() {
  std::vector<Channel::NewLabel> labels = channel_.take_labels();
  for (const Channel::NewLabel& label : labels) {
    add(stream::Label{label.id, label.parent, label.name});
  }
  std::move(labels.begin(), labels.end(), std::back_inserter(labels_));
}

void Draft::add_name(const std::shared_ptr<Definable>& thing) {
  if (std::string name = thing->name(); !name.empty()) {
    add(stream::Name{thing->kind(), thing->id(), std::move(name)});
  }
}

bool Draft::mark(bool& defined) {
  if (defined) return false;
  defined = true;
  defined_.push_back(&defined);
  return true;
}

Id Draft::need(const std::shared_ptr<Object>& object) {
  if (!object) return 0;
  if (mark(object->defined)) {
    kept_.push_back(object);
    add(stream::Object{object->id(), device_, object->type, object->handle});
    add_name(object);
  }
  return object->id();
}

Id Draft::need(const std::shared_ptr<Module>& module) {
  if (mark(module->defined)) {
    kept_.push_back(module);
    modules_.push_back(module);
    add(stream::Module{module->id(), to_string(module->hash), *module->words});
    add_name(module);
  }
  return module->id();
}

void Draft::define(Shader& shader) {
  if (!mark(shader.defined)) return;
  const std::string problem = module_problem(shader);
  const Id module = problem.empty() ? need(shader.module) : 0;
  add(stream::Shader{shader.id, device_, module, static_cast<uint32_t>(shader.stage),
                     shader.entry_point, problem});
}

Id Draft::need(const std::shared_ptr<Pipeline>& pipeline) {
  if (!pipeline) return 0;
  if (!mark(pipeline->defined)) return pipeline->id();
  kept_.push_back(pipeline);
  stream::Pipeline message{pipeline->id(),
                           device_,
                           to_string(pipeline->hash),
                           bind_point_word(pipeline->bind_point),
                           pipeline->not_instrumented,
                           {}};
  for (const auto& shader : pipeline->shaders) {
    define(*shader);
    message.shaders.push_back(shader->id);
  }
  add(message);
  add_name(pipeline);
  return pipeline->id();
}

void Draft::add_costs(Shader& shader) {
  std::vector<BlockCosts::News> news = shader.costs.take_news();
  stream::BlockCosts message{shader.id, 0, 0, {}};
  const auto flush = [&] {
    if (!message.costs.empty()) add(message);
    message.costs.clear();
  };
  for (const BlockCosts::News& item : news) {
    const size_t metrics = item.costs.size();
    const bool continues = message.metrics == metrics && !message.costs.empty() &&
                           message.first_block + message.costs.size() / metrics == item.first_block;
    if (!continues || message.costs.size() > kCostsPerMessage) {
      flush();
      message.first_block = item.first_block;
      message.metrics = static_cast<uint32_t>(metrics);
    }
    message.costs.insert(message.costs.end(), item.costs.begin(), item.costs.end());
  }
  flush();
  if (!news.empty()) costs_.emplace_back(&shader, std::move(news));
}

void Draft::keep_new(ShaderRegistry& shaders, std::vector<std::shared_ptr<Pipeline>> pipelines) {
  shaders_ = &shaders;
  pipelines_ = std::move(pipelines);
}

bool Draft::push(size_t limit) {
  if (!bytes_.empty() && !channel_.push(std::move(bytes_), limit)) return false;
  committed_ = true;
  for (const auto& module : modules_) module->words.reset();
  return true;
}

void Draft::roll_back() {
  for (bool* defined : defined_) *defined = false;
  for (auto& [shader, news] : costs_) shader->costs.put_back(std::move(news));
  if (shaders_) shaders_->put_back(std::move(pipelines_));
  channel_.put_back(std::move(labels_));
  channel_.put_back(std::move(messages_));
  channel_.put_back(std::move(names_));
}

}  // namespace tally::capture
