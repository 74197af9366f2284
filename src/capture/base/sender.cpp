#include "capture/base/sender.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "catalogue/catalogue.h"
#include "platform/channel.h"
#include "spirv/analysis/block_map.h"
#include "store/stream/clock.h"
#include "store/stream/stream_client.h"
#include "vk/own_call.h"

namespace tally::capture {
namespace {

std::optional<VkShaderStageFlagBits> stage_of(spv::ExecutionModel model) {
  const auto* stage = catalogue::find_stage_of_model(static_cast<uint32_t>(model));
  if (stage == nullptr) return std::nullopt;
  return static_cast<VkShaderStageFlagBits>(stage->bit);
}

std::vector<BlockCost> static_costs(std::span<const spirv::Block> blocks) {
  std::vector<BlockCost> costs;
  for (uint32_t block = 0; block < blocks.size(); ++block) {
    for (size_t i = 0; i < spirv::kCostClassCount; ++i) {
      const auto cost = static_cast<spirv::CostClass>(i);
      const uint64_t count = blocks[block].mix[cost];
      // Every block has an entry, so that its executions are known.
      if (count != 0 || cost == spirv::CostClass::Instruction)
        costs.push_back({block, cost, static_cast<uint32_t>(count)});
    }
  }
  costs.shrink_to_fit();
  return costs;
}

}  // namespace

ModuleFacts module_facts(std::span<const uint32_t> words, const Specialization& constants) {
  ModuleFacts found;
  auto module = spirv::Module::parse(words);
  if (!module) return found;
  if (!constants.empty()) module = module->specialized(constants);
  for (const auto& constant : module->declared_constants()) {
    found.spec_ids.push_back(constant.spec_id);
  }
  std::ranges::sort(found.spec_ids);
  for (const spirv::EntryPoint& entry : module->entry_points()) {
    const auto map = spirv::BlockMap::build(*module, entry.model, entry.name);
    if (!map) continue;
    if (found.source.empty()) found.source = map->source_name();
    const auto stage = stage_of(entry.model);
    if (!stage) continue;
    const auto function =
        std::ranges::find(map->functions(), entry.function_id, &spirv::MappedFunction::id);
    if (function != map->functions().end() && function->block_count != 0) {
      found.entry_points.push_back({*stage, entry.name, function->first_block,
                                    static_costs(map->blocks()),
                                    map->costs_depend_on_specialization(),
                                    spirv::launch_inputs(*module, entry), words.size()});
    }
  }
  return found;
}

Specialization ModuleFacts::declared(Specialization constants) const {
  std::erase_if(constants, [&](const SpecializationConstant& constant) {
    return !std::ranges::binary_search(spec_ids, constant.id);
  });
  return constants;
}

const EntryPointFacts* ModuleFacts::find(VkShaderStageFlagBits stage,
                                         const std::string& name) const {
  for (const EntryPointFacts& entry : entry_points) {
    if (entry.stage == stage && entry.name == name) return &entry;
  }
  return nullptr;
}

namespace {

constexpr size_t kMaxLabels = 100'000;  // in use
// With as many in use, how often a label is refused until unused ones are looked for again.
constexpr uint64_t kRefusals = 10'000;
constexpr size_t kMaxMessages = 1'000;

}  // namespace

std::shared_ptr<StreamConnection> StreamConnection::acquire(const CaptureSettings& settings,
                                                            const ApplicationInfo& info) {
  static auto& mutex = *new std::mutex;  // both outlive every thread
  static auto& current = *new std::weak_ptr<StreamConnection>;
  if (settings.socket.empty() && !settings.live_counters) {
    log_once(LogLevel::Warning, "nothing is captured: start the application with `tally run`");
    return nullptr;
  }
  const std::lock_guard lock(mutex);
  std::shared_ptr<StreamConnection> connection = current.lock();
  // A child of fork() must not use its parent's connection.
  if (connection && connection->process_ == ::getpid()) return connection;
  std::unique_ptr<store::stream::StreamClient> client;
  if (!settings.socket.empty()) {
    auto connected = store::stream::StreamClient::connect(settings.socket, settings.patience);
    if (connected) {
      client = std::move(*connected);
    } else {
      log_once(LogLevel::Warning, "nothing is captured: {}", connected.error().message);
      if (!settings.live_counters) return nullptr;
    }
  }
  connection.reset(new StreamConnection(std::move(client), settings));
  connection->handshake(info);
  current = connection;
  return connection;
}

StreamConnection::StreamConnection(std::unique_ptr<store::stream::StreamClient> client,
                                   const CaptureSettings& settings)
    : client_(std::move(client)),
      settings_(settings),
      process_(::getpid()),
      replacements_(settings.replacements) {
  if (!replacements_.problem().empty())
    message(store::Severity::Error, "shaders are not replaced: " + replacements_.problem());
}

StreamConnection::~StreamConnection() {
  if (process_ == ::getpid()) send_end();
}

void StreamConnection::handshake(const ApplicationInfo& info) {
  stream::Bytes bytes;
  stream::append_message(bytes, stream::describe_this_process(info.application, info.engine));
  push(std::move(bytes));
}

std::shared_ptr<Module> StreamConnection::module(std::span<const uint32_t> words) {
  const Hash128 hash = hash_words(words);
  {
    const std::lock_guard lock(mutex_);
    const auto found = modules_.find(hash);
    if (found != modules_.end()) return found->second;
  }
  auto module = std::make_shared<Module>(new_id(), hash, module_facts(words));
  if (receiving()) {
    module->words = std::make_shared<std::vector<uint32_t>>(words.begin(), words.end());
  }
  if (module->facts.costs_depend_on_specialization() || replacements_.any()) {
    module->kept_words = module->words
                             ? module->words
                             : std::make_shared<std::vector<uint32_t>>(words.begin(), words.end());
  }
  const std::lock_guard lock(mutex_);
  return modules_.try_emplace(hash, std::move(module)).first->second;
}

LabelRef StreamConnection::label(const LabelRef& parent, const char* name) {
  if (!receiving()) return parent;
  const std::lock_guard lock(mutex_);
  return label_locked(parent, name ? name : "");
}

LabelRef StreamConnection::label_locked(const LabelRef& parent, std::string_view name) {
  const auto found = labels_.find({parent.get(), name});
  if (found != labels_.end()) return found->second;
  const bool full = labels_.size() >= kMaxLabels;
  if (full ? labels_refused_++ % kRefusals == 0 : labels_.size() >= most_labels_) {
    forget_unused_labels();
  }
  if (labels_.size() >= kMaxLabels) return parent;
  auto label = std::make_shared<const Label>(new_id(), parent, name);
  new_labels_.push_back(label);
  labels_.emplace(LabelKey{parent.get(), label->name}, label);
  return label;
}

// Those that only the connection itself refers to.
void StreamConnection::forget_unused_labels() {
  std::vector<decltype(labels_)::iterator> youngest_first;
  youngest_first.reserve(labels_.size());
  for (auto at = labels_.begin(); at != labels_.end(); ++at) youngest_first.push_back(at);
  // Labels refer to their parents, which are older.
  std::ranges::sort(youngest_first, std::greater{}, [](const auto& at) { return at->second->id; });
  auto waiting = new_labels_.end();  // oldest first
  for (const auto& at : youngest_first) {
    const LabelRef& label = at->second;
    LabelRef* const waits = label->sent ? nullptr : &*--waiting;
    if (label.use_count() > (waits ? 2 : 1)) continue;
    if (waits) {
      waits->reset();
    } else {
      gone_.labels.push_back(label->id);
    }
    labels_.erase(at);
  }
  std::erase(new_labels_, nullptr);
  most_labels_ = std::max(kFewLabels, 2 * labels_.size());
  if (labels_.size() < kMaxLabels) labels_refused_ = 0;
}

LabelRef StreamConnection::label_under(const Label& root, const Label& label) {
  const std::lock_guard lock(mutex_);
  std::vector<const std::string*> path;
  for (const Label* at = &label; at; at = at->parent.get()) path.push_back(&at->name);
  LabelRef under = root.shared_from_this();
  for (auto name = path.rbegin(); name != path.rend(); ++name) {
    under = label_locked(under, **name);
  }
  return under;
}

void StreamConnection::object_gone(Id id) noexcept {
  if (!receiving()) return;
  try {
    const std::lock_guard lock(mutex_);
    gone_.objects.push_back(id);
  } catch (const std::bad_alloc&) {
    // The receiver remembers it for longer than necessary.
  }
}

void StreamConnection::message(store::Severity severity, const std::string& text) {
  if (!receiving()) return;
  const std::lock_guard lock(mutex_);
  if (said_.size() >= kMaxMessages || !said_.emplace(text, true).second) return;
  messages_.push_back({.time_ns = store::monotonic_ns(), .severity = severity, .text = text});
}

void StreamConnection::name_changed(std::shared_ptr<InternedObject> thing, std::string name) {
  thing->set_name(std::move(name));
  if (!receiving()) return;
  std::vector<std::shared_ptr<InternedObject>>
      unused;  // ends after the lock, which objects may take
  const std::lock_guard lock(mutex_);
  if (std::exchange(thing->name_waits, true)) return;
  names_.push_back(std::move(thing));
  if (names_.size() < most_names_) return;
  // While no frame is captured, nobody takes them.
  const auto used = std::partition(names_.begin(), names_.end(),
                                   [](const auto& one) { return one.use_count() > 1; });
  unused.assign(std::move_iterator(used), std::move_iterator(names_.end()));
  names_.erase(used, names_.end());
  most_names_ = std::max(kFewNames, 2 * names_.size());
}

void StreamConnection::pipeline_bound(std::shared_ptr<InternedObject> pipeline) {
  if (!receiving()) return;
  const std::lock_guard lock(mutex_);
  bound_.push_back(std::move(pipeline));
}

std::vector<LabelRef> StreamConnection::take_labels(stream::Gone* gone) {
  const std::lock_guard lock(mutex_);
  for (const LabelRef& label : new_labels_) label->sent = true;
  if (gone) *gone = std::exchange(gone_, {});
  return std::exchange(new_labels_, {});
}

std::vector<stream::Message> StreamConnection::take_messages() {
  const std::lock_guard lock(mutex_);
  return std::exchange(messages_, {});
}

std::vector<std::shared_ptr<InternedObject>> StreamConnection::take_names() {
  const std::lock_guard lock(mutex_);
  for (const auto& thing : names_) thing->name_waits = false;
  return std::exchange(names_, {});
}

std::vector<std::shared_ptr<InternedObject>> StreamConnection::take_bound() {
  const std::lock_guard lock(mutex_);
  return std::exchange(bound_, {});
}

// A child of fork() shares the ledger's memory, but its submissions do not belong to the parent.
bool StreamConnection::receiving() const { return client_ && !client_->receiver_gone(); }

void StreamConnection::push(stream::Bytes bytes) {
  if (gathered_.empty()) {
    gathered_ = std::move(bytes);
  } else {
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  }
  if (gatherings_ == 0 || gathered_.size() >= platform::kLargeRead) send_gathered();
}

void StreamConnection::send_gathered() {
  stream::Bytes bytes = std::exchange(gathered_, {});
  if (client_ && !bytes.empty()) client_->push(std::move(bytes), settings_.queue_bytes);
}

StreamConnection::Gathering::Gathering(StreamConnection& connection) : connection_(connection) {
  const std::lock_guard lock(connection_.emission_mutex_);
  ++connection_.gatherings_;
}

StreamConnection::Gathering::~Gathering() {
  const std::lock_guard lock(connection_.emission_mutex_);
  --connection_.gatherings_;
  // Other threads may gather all the time.
  vk::guarded_void([&] { connection_.send_gathered(); });
}

void StreamConnection::count_submitted(uint64_t commands) {
  if (client_ && process_ == ::getpid()) client_->ledger().add_submitted(commands);
}

void StreamConnection::count_dropped_frame() {
  if (client_ && process_ == ::getpid()) client_->ledger().add_dropped_frame();
}

store::stream::Orders StreamConnection::orders() const {
  return client_ ? client_->ledger().orders() : store::stream::Orders{};
}

void StreamConnection::flush(std::chrono::milliseconds patience) {
  if (!client_) return;
  {
    std::unique_lock lock(emission_mutex_, std::defer_lock);
    if (patience == std::chrono::milliseconds::max()) lock.lock();
    // A thread that holds it may wait for the receiver.
    const auto begin = std::chrono::steady_clock::now();
    while (!lock && !lock.try_lock() && std::chrono::steady_clock::now() - begin < patience) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    if (!lock) return;
    send_gathered();
  }
  client_->flush(patience);
}

void StreamConnection::send_end() {
  const std::lock_guard lock(emission_mutex_);
  if (std::exchange(end_sent_, true) || !client_) return;
  stream::Bytes bytes;
  for (stream::Message& message : take_messages())
    stream::append_message(bytes, std::move(message));
  for (stream::Replacement& replacement : replacements_.take_news())
    stream::append_message(bytes, std::move(replacement));
  stream::append_message(bytes, stream::End{store::monotonic_ns()});
  push(std::move(bytes));
  send_gathered();
  client_->finish();
}

}  // namespace tally::capture
