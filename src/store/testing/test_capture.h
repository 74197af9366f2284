// A small capture that fills every table, for tests: one process, one device, one frame, one render
// pass with a batch of two draws, and one dispatch.
#pragma once

#include <string>
#include <utility>

#include "store/write/writer.h"

namespace tally::store {

// Checks a precondition of tests: ends the program with the message where it failed.
void require(const Status& status);
template <typename T>
T require(Result<T> result) {
  require(result.ok() ? Status() : Status(result.error()));
  return std::move(*result);
}

// The rows that tests refer to.
struct TestCapture {
  RowId process = 0, device = 0, queue = 0, executions = 0, fma = 0, module = 0, shader = 0;
  RowId pipeline = 0, object = 0, label = 0, inner_label = 0, frame = 0, submission = 0;
  RowId execution = 0, pass = 0, draws = 0, dispatch = 0, frame_counter = 0;
  RowId warps = 0, invocations = 0, regions = 0;
};

CaptureRow test_capture_row();

// Adds the rows to a writer that is new.
TestCapture write_test_rows(Writer& writer);

// Creates the whole file and finishes it; aborts the test program if that fails.
TestCapture write_test_capture(const std::string& path);

// A directory of the test's own, removed at the end.
class TestDirectory {
 public:
  TestDirectory();
  ~TestDirectory();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tally::store
