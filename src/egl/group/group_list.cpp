#define EGL_EGLEXT_PROTOTYPES 1

#include "egl/group/group_list.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "egl/driver/driver.h"
#include "egl/driver/lifetime.h"
#include "egl/gl/context.h"
#include "egl/gl/hot.h"
#include "egl/group/frames.h"

namespace tally::egl {
namespace {

// The catalogue lists these counters in the order of ApiCounter.
constexpr bool has_number(ApiCounter counter, catalogue::Number number) {
  return static_cast<uint32_t>(catalogue::Number::GlDrawCalls) + static_cast<uint32_t>(counter) ==
         static_cast<uint32_t>(number);
}
static_assert(has_number(ApiCounter::Errors, catalogue::Number::GlErrors));
static_assert(has_number(ApiCounter::Flushes, catalogue::Number::GlFlushes));
static_assert(static_cast<size_t>(ApiCounter::Flushes) + 1 == kApiCounterCount);

bool is(const std::vector<bool>& chosen, ApiCounter counter) {
  return chosen[static_cast<size_t>(counter)];
}

}  // namespace

ApiGroup::ApiGroup() : Group("API") {
  constexpr auto kFirst = static_cast<uint32_t>(catalogue::Number::GlDrawCalls);
  for (uint32_t i = 0; i < kApiCounterCount; ++i) {
    counters_.push_back(counter_info(static_cast<catalogue::Number>(kFirst + i)));
  }
}

void ApiGroup::add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const {
  if (std::find(chosen.begin(), chosen.end(), true) == chosen.end()) return;
  request.collecting |= kCollectApi;
  if (is(chosen, ApiCounter::ComputeInvocations)) request.collecting |= kCollectComputeInvocations;
  if (is(chosen, ApiCounter::Errors)) request.plan.errors = true;
}

std::vector<uint64_t> ApiGroup::read() {
  const ApiTotals totals = api_totals();
  return {totals.begin(), totals.end()};
}

using Kind = CounterInfo::Kind;
using catalogue::Number;

// In the order of read().
FrameGroup::FrameGroup() : Group("Frame") {
  counters_ = {
      counter_info(Number::Swaps),
      counter_info(Number::Frames),
      counter_info(Number::FrameTime),
      counter_info(Number::SwapTime),
      counter_info(Number::LatestFrameTime, Kind::Extreme),
      counter_info(Number::ShortestFrameTime, Kind::Extreme),
      counter_info(Number::LongestFrameTime, Kind::Extreme),
  };
}

void FrameGroup::add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const {
  if (std::find(chosen.begin(), chosen.end(), true) != chosen.end()) request.frames = true;
}

std::vector<uint64_t> FrameGroup::read() {
  const FrameNumbers now = frames().numbers();
  return {now.swaps,  now.frames,   now.frame_time, now.swap_time,
          now.latest, now.shortest, now.longest};
}

void FrameGroup::reset_extremes() { frames().reset_extremes(); }

namespace {

// The catalogue lists these counters in the order of QueryKind.
constexpr catalogue::Number number_of(QueryKind kind) {
  return static_cast<catalogue::Number>(static_cast<uint32_t>(catalogue::Number::GlGpuTime) +
                                        static_cast<uint32_t>(kind));
}
static_assert(number_of(QueryKind::VerticesSubmitted) == catalogue::Number::GlVerticesFetched);
static_assert(number_of(QueryKind::ClippingOutput) == catalogue::Number::GlClippingOutput);

}  // namespace

void GpuGroup::add_kinds(QueryKinds kinds) {
  for (size_t i = 0; i < kQueryKindCount; i++) {
    const auto kind = static_cast<QueryKind>(i);
    const bool listed = std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
    if (!(kinds & bit_of(kind)) || listed) continue;
    kinds_.push_back(kind);
    counters_.push_back(counter_info(number_of(kind)));
  }
}

void GpuGroup::add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const {
  for (size_t i = 0; i < chosen.size(); i++) {
    if (!chosen[i]) continue;
    request.plan.queries |= bit_of(kinds_[i]);
    request.collecting |= kCollectGpu;
  }
}

std::vector<uint64_t> GpuGroup::read() {
  std::vector<uint64_t> values;
  for (const QueryKind kind : kinds_) values.push_back(sum_of_queries(kind));
  return values;
}

namespace {

constexpr uint32_t kTimeoutMs = 5000;

// The path that the layer was loaded from; empty if it is not loaded.
std::string path_of_layer() {
  std::string path;
  const auto look = [](dl_phdr_info* info, size_t, void* found) {
    const std::string_view loaded = info->dlpi_name;
    if (loaded.substr(loaded.rfind('/') + 1) != kLiveCountersLibrary) return 0;
    *static_cast<std::string*>(found) = loaded;
    return 1;
  };
  dl_iterate_phdr(look, &path);
  return path;
}

// The pointer stays valid: the layer is never unloaded.
const TallyLiveCounters* find_layer() {
  const std::string path = path_of_layer();
  if (path.empty()) return nullptr;
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto get = reinterpret_cast<TallyGetLiveCounters*>(dlsym(library, kLiveCountersSymbol));
  dlclose(library);
  return get != nullptr ? get(kLiveCountersVersion) : nullptr;
}

}  // namespace

void VulkanGroup::discover() {
  if (layer_ == nullptr) layer_ = find_layer();
  if (layer_ == nullptr) return;
  const uint32_t count = layer_->count();
  for (auto i = static_cast<uint32_t>(counters_.size()); i < count; i++) {
    TallyLiveCounter listed{};
    if (!layer_->describe(i, &listed)) return;
    counters_.push_back({listed.name, listed.unit, CounterInfo::Kind::Total, listed.denominator, 0,
                         UINT64_MAX / listed.denominator});
  }
}

void VulkanGroup::collect(bool on) {
  if (layer_ == nullptr || on == collecting_) return;
  collecting_ = on;
  layer_->request(on ? 1 : 0);
}

void VulkanGroup::add_to_request(const std::vector<bool>& chosen,
                                 CollectionRequest& request) const {
  if (std::find(chosen.begin(), chosen.end(), true) != chosen.end()) request.vulkan = true;
}

void VulkanGroup::resolve_pending() {
  finish_current_context();
  if (layer_ != nullptr) layer_->wait(kTimeoutMs);
}

std::vector<uint64_t> VulkanGroup::read() {
  std::vector<uint64_t> values(counters_.size());
  if (layer_ != nullptr) layer_->read(values.data(), static_cast<uint32_t>(values.size()));
  return values;
}

namespace {

// The driver's function, cast to its type.
template <EglFn kFunction, typename Signature>
auto call(const Driver& driver) {
  return reinterpret_cast<Signature*>(driver.egl(kFunction));
}
#define REAL(driver, function) call<EglFn::function, decltype(::function)>(driver)

// A small private context on a display of the application, used to query what the driver offers. It
// bypasses libEGL and our stubs; the application cannot see it.
class OwnContext {
 public:
  OwnContext(Driver& driver, EGLDisplay display, EGLenum api) : driver_(driver), display_(display) {
    if (REAL(driver_, eglBindAPI) != nullptr) REAL(driver_, eglBindAPI)(api);
    const EGLint renderable = api == EGL_OPENGL_ES_API ? EGL_OPENGL_ES2_BIT : EGL_OPENGL_BIT;
    const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, renderable,
                             EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    REAL(driver_, eglChooseConfig)(display_, wanted, &config, 1, &count);
    if (count == 0) return;
    create(config, api);
    const EGLint size[] = {EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE};
    surface_ = REAL(driver_, eglCreatePbufferSurface)(display_, config, size);
    if (context_ == EGL_NO_CONTEXT) return;
    current_ = REAL(driver_, eglMakeCurrent)(display_, surface_, surface_, context_);
  }
  ~OwnContext() {
    if (current_) {
      REAL(driver_, eglMakeCurrent)(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    }
    if (surface_ != EGL_NO_SURFACE) REAL(driver_, eglDestroySurface)(display_, surface_);
    if (context_ != EGL_NO_CONTEXT) REAL(driver_, eglDestroyContext)(display_, context_);
    REAL(driver_, eglReleaseThread)();
  }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;

  bool current() const { return current_; }
  EGLContext handle() const { return context_; }

 private:
  // Creates a context of the newest API version that the driver supports.
  void create(EGLConfig config, EGLenum api) {
    const EGLint es3[] = {EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE};
    const EGLint es2[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
    const EGLint any[] = {EGL_NONE};
    for (const EGLint* attributes : {api == EGL_OPENGL_ES_API ? es3 : any, es2}) {
      if (context_ != EGL_NO_CONTEXT) return;
      context_ = REAL(driver_, eglCreateContext)(display_, config, EGL_NO_CONTEXT, attributes);
    }
  }

  Driver& driver_;
  EGLDisplay display_;
  EGLContext context_ = EGL_NO_CONTEXT;
  EGLSurface surface_ = EGL_NO_SURFACE;
  bool current_ = false;
};

// Calls `body` on a new thread with the context current, and waits for it. Returns false if no
// context could be created.
bool with_own_context(Driver& driver, EGLDisplay display, EGLenum api,
                      const std::function<void(GlContext&)>& body) try {
  bool made = false;
  std::thread([&] {
    const OwnContext own(driver, display, api);
    if (!own.current()) return;
    try {
      GlContext context(driver, display, own.handle());
      body(context);
      made = true;
    } catch (const std::bad_alloc&) {
    }
  }).join();
  return made;
} catch (const std::system_error&) {  // the thread could not be started
  return false;
}

}  // namespace

// One group of driver counters (gl/driver_counters.h), under the driver's names.

class DriverGroup final : public Group {
 public:
  // `index` is the group's index in driver.counters().
  DriverGroup(const Driver& driver, size_t index);

  uint32_t max_active() const override { return source().max_active; }
  void add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const override;
  std::vector<uint64_t> read() override;

 private:
  const DriverCounterGroup& source() const { return listed_->groups[index_]; }

  const Driver& driver_;
  std::shared_ptr<const DriverCounters> listed_;
  size_t index_;
};

DriverGroup::DriverGroup(const Driver& driver, size_t index)
    : Group(driver.counters()->groups[index].name),
      driver_(driver),
      listed_(driver.counters()),
      index_(index) {
  for (const DriverCounter& counter : source().counters) {
    counters_.push_back({counter.name, counter.unit,
                         counter.is_level ? CounterInfo::Kind::Level : CounterInfo::Kind::Total,
                         counter.denominator, counter.minimum, counter.maximum});
  }
}

void DriverGroup::add_to_request(const std::vector<bool>& chosen,
                                 CollectionRequest& request) const {
  if (std::find(chosen.begin(), chosen.end(), true) == chosen.end()) return;
  request.collecting |= kCollectGpu;
  DriverChoice& choice = request.plan.driver_choices[&driver_];
  choice.resize(listed_->groups.size());
  choice[index_] = chosen;
}

std::vector<uint64_t> DriverGroup::read() {
  std::vector<uint64_t> values;
  for (const DriverCounter& counter : source().counters) {
    values.push_back(sum_of_driver_counter(driver_, counter));
  }
  return values;
}

GroupList::GroupList() {
  auto process = std::make_unique<ProcessGroup>();
  process_ = process.get();
  groups_.push_back(std::make_unique<ApiGroup>());
  groups_.push_back(std::make_unique<FrameGroup>());
  groups_.push_back(std::move(process));
  unlisted_gpu_ = std::make_unique<GpuGroup>();
  gpu_ = unlisted_gpu_.get();
  unlisted_vulkan_ = std::make_unique<VulkanGroup>();
  vulkan_ = unlisted_vulkan_.get();
}

void GroupList::add_capabilities(Driver& driver, Capabilities capabilities) {
  gpu_->add_kinds(capabilities.kinds);
  if (unlisted_gpu_ && !gpu_->counters().empty()) groups_.push_back(std::move(unlisted_gpu_));
  // All contexts of a driver have the same driver counters.
  if (capabilities.counters.groups.empty() || !driver.counters()->groups.empty()) return;
  driver.set_counters(std::move(capabilities.counters));
  for (size_t i = 0; i < driver.counters()->groups.size(); i++) {
    groups_.push_back(std::make_unique<DriverGroup>(driver, i));
  }
}

void GroupList::discover(bool gpu_usage) {
  if (gpu_usage) process_->discover();
  query_driver();
  discover_vulkan();
}

void GroupList::discover_vulkan() {
  vulkan_->discover();
  if (unlisted_vulkan_ && !vulkan_->counters().empty()) {
    groups_.push_back(std::move(unlisted_vulkan_));
  }
}

bool GroupList::is_left_to_capture(size_t index) const {
  if (groups_[index].get() == vulkan_) return vulkan_->is_captured_by_frame();
  const GlContext* const context = t_hot.context;
  return groups_[index].get() == gpu_ && !unlisted_vulkan_ && context && context->runs_on_vulkan();
}

void GroupList::query_driver() {
  std::optional<KnownDisplay> known;
  bool es = true;
  if (GlContext* const context = t_hot.context) {
    known = {&context->driver(), context->display()};
    es = context->is_es();
  } else if (queried_.empty()) {
    known = latest_display();
    es = known && known->driver->current_api() == EGL_OPENGL_ES_API;
  }
  if (!known || queried_.contains({known->driver, es})) return;
  Capabilities capabilities;
  const auto ask = [&capabilities](GlContext& context) {
    capabilities = {context.probe_query_kinds(), context.list_driver_counters()};
  };
  const EGLenum api = es ? EGL_OPENGL_ES_API : EGL_OPENGL_API;
  if (!with_own_context(*known->driver, known->display, api, ask)) {
    if (t_hot.context == nullptr) return;
    ask(*t_hot.context);  // visible only in the query names that the application gets next
  }
  queried_.emplace(known->driver, es);
  add_capabilities(*known->driver, std::move(capabilities));
}

}  // namespace tally::egl
