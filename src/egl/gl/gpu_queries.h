// Query objects of ours in one context of the application: begun when the GPU gets work, ended at
// the end of the frame or when a value is asked for, read when the GPU is done with them.
//
// The application does not notice them. A query that it begins itself of the same kind wins: ours
// is ended before and a new one begun after it, and what the GPU does in between is not in our sum.
// GPU time is a pair of timestamps, which conflict with nothing (a TIME_ELAPSED query where the
// driver has no timestamps).
//
// All calls come from the thread in which the context is current, except totals().
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "egl/gl/query_kinds.h"
#include "egl/gl/raw.h"

namespace tally::egl {

class GpuQueries {
 public:
  explicit GpuQueries(const RawGl& gl) : gl_(gl) {}

  // Which kinds this context can give, found out by trying. Ends nothing of the application's.
  QueryKinds try_kinds();

  // Between open() and close() the kinds asked for are measured. The caller of anything here that
  // calls GL holds an ErrorGuard.
  void open(QueryKinds kinds);
  void close();
  bool is_open() const { return open_; }
  // Results are on their way.
  bool is_busy() const { return !pending_.empty(); }
  // Adds the results that are there to the totals; with `wait` all results.
  void harvest(bool wait);

  // Around the application's calls that begin or end a query of its own, or try to, while a segment
  // is open.
  void before_application(GLenum target, GLuint index);
  void after_application(GLenum target, GLuint index);
  // The application asks which query of this target is active: true where it would see ours.
  bool hides(GLenum target, GLuint index) const;
  bool owns(GLuint name) const;

  const QueryTotals& totals() const { return totals_; }

 private:
  struct Pending {
    QueryKind kind;
    GLuint name;        // of the result; for timestamps of the end
    GLuint begin_name;  // of the first timestamp, else 0
  };

  bool can_count_time();
  GLuint take_name(QueryKind kind);
  void give_back(QueryKind kind, GLuint name);
  void forget_names();
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
  QueryKinds wanted_ = 0;  // by the segment that is open
  QueryKinds failed_ = 0;  // this context cannot
  std::optional<bool> timestamps_;
  std::array<GLuint, kQueryKindCount> active_{};  // our query names, 0 where none
  std::deque<Pending> pending_;
  std::array<std::vector<GLuint>, kQueryKindCount>
      free_names_;  // a query object keeps its target for ever
  std::vector<GLuint> all_names_;
};

// Keeps GL's error flag as the application left it: takes an error that is pending and gives it
// back through `stash`, and drops those that come while the guard stands.
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

  // An error of the application's was found.
  bool raised() const { return raised_; }

 private:
  // The first error; then there may be more where the driver is distributed, or for ever where the
  // context is lost.
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
