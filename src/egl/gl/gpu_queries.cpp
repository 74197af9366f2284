#include "egl/gl/gpu_queries.h"

#include <algorithm>

namespace tally::egl {
namespace {

constexpr size_t kMaxPendingQueries = 256;  // pending results before we wait for the oldest

constexpr std::array<GLenum, kQueryKindCount> kTargets = {
    GL_TIME_ELAPSED,
    GL_SAMPLES_PASSED,
    GL_PRIMITIVES_GENERATED,
    GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN,
    GL_VERTICES_SUBMITTED,
    GL_PRIMITIVES_SUBMITTED,
    GL_VERTEX_SHADER_INVOCATIONS,
    GL_TESS_CONTROL_SHADER_PATCHES,
    GL_TESS_EVALUATION_SHADER_INVOCATIONS,
    GL_GEOMETRY_SHADER_INVOCATIONS,
    GL_GEOMETRY_SHADER_PRIMITIVES_EMITTED,
    GL_FRAGMENT_SHADER_INVOCATIONS,
    GL_COMPUTE_SHADER_INVOCATIONS,
    GL_CLIPPING_INPUT_PRIMITIVES,
    GL_CLIPPING_OUTPUT_PRIMITIVES,
};

GLenum target_of(QueryKind kind) { return kTargets[static_cast<size_t>(kind)]; }

// Our kind of query that cannot be active together with a query of this target. We use stream 0 of
// the indexed targets.
std::optional<QueryKind> conflicting_kind(GLenum target, GLuint index) {
  if (index != 0) return std::nullopt;
  if (target == GL_ANY_SAMPLES_PASSED || target == GL_ANY_SAMPLES_PASSED_CONSERVATIVE) {
    return QueryKind::SamplesPassed;  // drivers have only one active occlusion query
  }
  const auto found = std::find(kTargets.begin(), kTargets.end(), target);
  if (found == kTargets.end()) return std::nullopt;
  return static_cast<QueryKind>(found - kTargets.begin());
}

template <typename Action>
void for_each_kind(QueryKinds kinds, Action action) {
  for (size_t i = 0; i < kQueryKindCount; i++) {
    const auto kind = static_cast<QueryKind>(i);
    if (kinds & bit_of(kind)) action(kind);
  }
}

// Unbinds the query buffer: with one bound, reading a result would write into that buffer.
class QueryBufferUnbinder {
 public:
  explicit QueryBufferUnbinder(const RawGl& gl) : gl_(gl) {
    gl_.glGetIntegerv(GL_QUERY_BUFFER_BINDING, &bound_);
    if (gl_.glGetError() != GL_NO_ERROR) bound_ = 0;  // this version of GL has no query buffers
    if (bound_ != 0) gl_.glBindBuffer(GL_QUERY_BUFFER, 0);
  }
  ~QueryBufferUnbinder() {
    if (bound_ != 0) gl_.glBindBuffer(GL_QUERY_BUFFER, static_cast<GLuint>(bound_));
  }
  QueryBufferUnbinder(const QueryBufferUnbinder&) = delete;
  QueryBufferUnbinder& operator=(const QueryBufferUnbinder&) = delete;

 private:
  const RawGl& gl_;
  GLint bound_ = 0;
};

}  // namespace

GLuint GpuQueries::acquire_name(QueryKind kind) {
  std::vector<GLuint>& names = free_names_[static_cast<size_t>(kind)];
  if (names.empty()) {
    all_names_.reserve(all_names_.size() + 1);
    GLuint name = 0;
    gl_.glGenQueries(1, &name);
    if (name != 0) all_names_.push_back(name);
    return name;
  }
  const GLuint name = names.back();
  names.pop_back();
  return name;
}

void GpuQueries::release_name(QueryKind kind, GLuint name) {
  free_names_[static_cast<size_t>(kind)].push_back(name);
}

GLenum GpuQueries::begin_query(GLenum target, GLuint name) {
  gl_.glBeginQuery(target, name);
  return gl_.glGetError();
}

bool GpuQueries::can_count_time() {
  if (!timestamps_) {
    GLint bits = 0;
    if (gl_.glQueryCounter != nullptr) gl_.glGetQueryiv(GL_TIMESTAMP, GL_QUERY_COUNTER_BITS, &bits);
    timestamps_ = gl_.glGetError() == GL_NO_ERROR && bits > 0;
  }
  return *timestamps_;
}

QueryKinds GpuQueries::probe_kinds() {
  if (gl_.glGenQueries == nullptr || gl_.glGetQueryiv == nullptr) return 0;
  QueryKinds works = can_count_time() ? bit_of(QueryKind::GpuTime) : 0;
  for_each_kind(~(works | failed_), [&](QueryKind kind) {
    const GLuint name = acquire_name(kind);
    if (name == 0) return;
    const GLenum error = begin_query(target_of(kind), name);
    if (error == GL_NO_ERROR) gl_.glEndQuery(target_of(kind));
    // An active query of the application blocks ours, but the kind is supported.
    if (error == GL_NO_ERROR || error == GL_INVALID_OPERATION) works |= bit_of(kind);
    release_name(kind, name);
  });
  failed_ = ~works;
  if (!open_ && pending_.empty()) delete_names();
  return works;
}

// Probing must leave no trace among the application's query names.
void GpuQueries::delete_names() {
  if (!all_names_.empty())
    gl_.glDeleteQueries(static_cast<GLsizei>(all_names_.size()), all_names_.data());
  all_names_.clear();
  for (auto& names : free_names_) names.clear();
}

bool GpuQueries::application_uses(QueryKind kind) const {
  const auto is_active = [this](GLenum target) {
    GLint name = 0;
    gl_.glGetQueryiv(target, GL_CURRENT_QUERY, &name);
    return gl_.glGetError() == GL_NO_ERROR && name != 0;
  };
  return is_active(target_of(kind)) ||
         (kind == QueryKind::SamplesPassed &&
          (is_active(GL_ANY_SAMPLES_PASSED) || is_active(GL_ANY_SAMPLES_PASSED_CONSERVATIVE)));
}

void GpuQueries::begin(QueryKind kind) {
  if (active_[static_cast<size_t>(kind)] != 0) return;
  const bool timestamp = kind == QueryKind::GpuTime && can_count_time();
  if (!timestamp && application_uses(kind)) return;
  const GLuint name = acquire_name(kind);
  if (name == 0) return;
  if (timestamp) {
    gl_.glQueryCounter(name, GL_TIMESTAMP);
  } else if (begin_query(target_of(kind), name) != GL_NO_ERROR) {
    failed_ |= bit_of(kind);
    release_name(kind, name);
    return;
  }
  active_[static_cast<size_t>(kind)] = name;
}

void GpuQueries::end(QueryKind kind) {
  GLuint& active = active_[static_cast<size_t>(kind)];
  if (active == 0) return;
  if (kind == QueryKind::GpuTime && can_count_time()) {
    const GLuint name = acquire_name(kind);
    if (name != 0) {
      gl_.glQueryCounter(name, GL_TIMESTAMP);
      pending_.push_back({kind, name, active});
    } else {
      release_name(kind, active);
    }
  } else {
    gl_.glEndQuery(target_of(kind));
    pending_.push_back({kind, active, 0});
  }
  active = 0;
}

void GpuQueries::open(QueryKinds kinds) {
  if (open_ || gl_.glGenQueries == nullptr || gl_.glGetQueryiv == nullptr) return;
  open_ = true;
  wanted_ = kinds & ~failed_;
  for_each_kind(wanted_, [this](QueryKind kind) { begin(kind); });
}

void GpuQueries::close() {
  if (!open_) return;
  for_each_kind(wanted_, [this](QueryKind kind) { end(kind); });
  open_ = false;
}

bool GpuQueries::is_available(GLuint name) const {
  GLuint available = GL_FALSE;
  gl_.glGetQueryObjectuiv(name, GL_QUERY_RESULT_AVAILABLE, &available);
  return available != GL_FALSE;
}

uint64_t GpuQueries::result(GLuint name) const {
  if (gl_.glGetQueryObjectui64v != nullptr) {
    GLuint64 value = 0;
    gl_.glGetQueryObjectui64v(name, GL_QUERY_RESULT, &value);
    if (gl_.glGetError() == GL_NO_ERROR) return value;
  }
  GLuint value = 0;
  gl_.glGetQueryObjectuiv(name, GL_QUERY_RESULT, &value);
  return value;
}

void GpuQueries::finish(const Pending& pending) {
  uint64_t value = result(pending.name);
  if (pending.begin_name != 0) {
    const uint64_t begin = result(pending.begin_name);
    value = value > begin ? value - begin : 0;
    release_name(pending.kind, pending.begin_name);
  }
  release_name(pending.kind, pending.name);
  totals_[static_cast<size_t>(pending.kind)].fetch_add(value, std::memory_order_relaxed);
}

void GpuQueries::collect_results(bool wait) {
  if (pending_.empty()) return;
  const QueryBufferUnbinder guard(gl_);
  while (!pending_.empty() &&
         (wait || pending_.size() > kMaxPendingQueries || is_available(pending_.front().name))) {
    finish(pending_.front());
    pending_.pop_front();
  }
}

void GpuQueries::before_application(GLenum target, GLuint index) {
  if (hides(target, index)) end(*conflicting_kind(target, index));
}

void GpuQueries::after_application(GLenum target, GLuint index) {
  const auto conflict = conflicting_kind(target, index);
  if (conflict && (wanted_ & bit_of(*conflict))) begin(*conflict);
}

bool GpuQueries::hides(GLenum target, GLuint index) const {
  const auto conflict = conflicting_kind(target, index);
  return conflict && active_[static_cast<size_t>(*conflict)] != 0 &&
         !(*conflict == QueryKind::GpuTime && timestamps_.value_or(false));
}

bool GpuQueries::owns(GLuint name) const {
  return std::find(all_names_.begin(), all_names_.end(), name) != all_names_.end();
}

}  // namespace tally::egl
