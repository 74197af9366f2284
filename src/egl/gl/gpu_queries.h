// The layer's query objects in one context of the application. A query begins when the GPU gets
// work, ends at the end of the frame or when a value is read, and is read back once its result is
// available.
//
// The application does not notice these queries. If it begins a query of the same kind, its query
// takes precedence: ours ends before it and a new one begins after it, so our sum excludes the GPU
// work in between. GPU time is measured with a pair of timestamps, which conflict with no query, or
// with a TIME_ELAPSED query where the driver has no timestamps.
//
// All functions except totals() must be called on the thread in which the context is current.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "egl/gl/raw.h"

namespace tally::egl {

// The values that GL query objects provide, as the GPU group lists them.

enum class QueryKind : uint8_t {
  GpuTime,
  SamplesPassed,
  PrimitivesGenerated,
  PrimitivesWritten,
  VerticesSubmitted,
  PrimitivesSubmitted,
  VertexInvocations,
  TessControlPatches,
  TessEvaluationInvocations,
  GeometryInvocations,
  GeometryPrimitives,
  FragmentInvocations,
  ComputeInvocations,
  ClippingInput,
  ClippingOutput,
  Count
};

inline constexpr size_t kQueryKindCount = static_cast<size_t>(QueryKind::Count);

// Bit (1 << kind) for each kind.
using QueryKinds = uint32_t;
constexpr QueryKinds bit_of(QueryKind kind) { return QueryKinds{1} << static_cast<unsigned>(kind); }

// Sums over the results so far. They only grow; the context's thread writes them, any thread may
// read them.
using QueryTotals = std::array<std::atomic<uint64_t>, kQueryKindCount>;

class GpuQueries {
 public:
  explicit GpuQueries(const RawGl& gl) : gl_(gl) {}

  // Finds the kinds that this context supports by trying each. Does not end queries of the
  // application.
  QueryKinds probe_kinds();

  // Measures the given kinds between open() and close(). The caller of any function below that
  // calls GL must hold an ErrorGuard.
  void open(QueryKinds kinds);
  void close();
  bool is_open() const { return open_; }
  // True while results are pending.
  bool is_busy() const { return !pending_.empty(); }
  // Adds available results to the totals; with `wait`, waits for all pending results.
  void collect_results(bool wait);

  // Bracket each call of the application that begins or ends a query, or tries to, while a segment
  // is open.
  void before_application(GLenum target, GLuint index);
  void after_application(GLenum target, GLuint index);
  // Returns true if a query for the active query of this target would return ours instead of the
  // application's.
  bool hides(GLenum target, GLuint index) const;
  bool owns(GLuint name) const;

  const QueryTotals& totals() const { return totals_; }

 private:
  struct Pending {
    QueryKind kind;
    GLuint name;        // result query; for timestamps, the end timestamp
    GLuint begin_name;  // begin timestamp, otherwise 0
  };

  bool can_count_time();
  GLuint acquire_name(QueryKind kind);
  void release_name(QueryKind kind, GLuint name);
  void delete_names();
  bool application_uses(QueryKind kind) const;
  void begin(QueryKind kind);
  void end(QueryKind kind);
  GLenum begin_query(GLenum target, GLuint name);
  bool is_available(GLuint name) const;
  uint64_t result(GLuint name) const;
  void finish(const Pending& pending);

  const RawGl& gl_;
  QueryTotals totals_{};
  bool open_ = false;
  QueryKinds wanted_ = 0;  // requested for the open segment
  QueryKinds failed_ = 0;  // not supported by this context
  std::optional<bool> timestamps_;
  std::array<GLuint, kQueryKindCount> active_{};  // our active queries, or 0
  std::deque<Pending> pending_;
  std::array<std::vector<GLuint>, kQueryKindCount>
      free_names_;  // by kind: a query object keeps its target for its lifetime
  std::vector<GLuint> all_names_;
};

// Preserves GL's error flag for the application: moves a pending error into `stash`, from where it
// is reported later, and discards errors raised during the guard's lifetime.
class ErrorGuard {
 public:
  ErrorGuard(const RawGl& gl, GLenum& stash) : gl_(gl) {
    const GLenum pending = clear();
    if (stash == GL_NO_ERROR) stash = pending;
    raised_ = pending != GL_NO_ERROR;
  }
  ~ErrorGuard() { clear(); }
  ErrorGuard(const ErrorGuard&) = delete;
  ErrorGuard& operator=(const ErrorGuard&) = delete;

  // True if an error of the application was pending.
  bool raised() const { return raised_; }

 private:
  // Returns the first error. More may follow in a distributed implementation, and a lost context
  // may report errors forever, so the loop is bounded.
  GLenum clear() {
    const GLenum first = gl_.glGetError();
    GLenum next = first;
    for (int i = 0; i < 8 && next != GL_NO_ERROR; i++) next = gl_.glGetError();
    return first;
  }

  const RawGl& gl_;
  bool raised_ = false;
};

}  // namespace tally::egl
