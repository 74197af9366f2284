// Runs the client program under the capture layer, as `tally run` would, and gives the capture.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "store/read/reader.h"
#include "store/testing/test_capture.h"
#include "store/write/collector.h"

namespace tally::capture::testing {

struct SessionOptions {
  std::string scenario;
  std::string how;
  std::string client = "";  // capture_client by default; gets `scenario` and `how`
  std::map<std::string, std::string> environment;
  std::string layers = "VK_LAYER_TALLY_capture:VK_LAYER_TALLY_test_native_driver";
  store::CollectorLimits limits;
  // Called while the client runs.
  std::function<void(store::Collector&, pid_t client)> meanwhile;
};

// The executions of a command of the capture.
struct SeenCommand {
  int64_t frame = 0;
  int64_t submission = 0;
  int64_t position = 0;
  int64_t runs = 0;
  std::string call;
  std::string parameters;
  std::string pipeline_name;
  std::string pass_name;
  int64_t pass = 0;
  std::string label;
  bool has_blocks = false;
  bool has_gpu_time = false;
  int64_t executions = -1;  // of the first stage's block 0; -1: nothing was measured
  int64_t fma = -1;         // of all stages and blocks
  int64_t subgroups = -1;
};

class Session {
 public:
  explicit Session(const SessionOptions& options);

  int exit_status() const { return exit_status_; }  // as a shell has it: 128 + signal
  const std::string& errors() const { return errors_; }
  const std::string& broken_rules() const { return broken_rules_; }
  // How often instrumentation began, in the double of a driver.
  size_t begins() const { return begins_; }
  // How many command buffers with instrumented commands were executed there.
  size_t counted_executions() const { return counted_executions_; }
  // The ends of frames that reached it.
  size_t frame_ends() const { return frame_ends_; }
  const store::Reader& reader() const { return *reader_; }

  std::vector<SeenCommand> commands() const;  // in order
  int64_t number(const std::string& sql) const;
  std::string text(const std::string& sql) const;

 private:
  store::TestDirectory directory_;
  int exit_status_ = -1;
  std::string errors_;
  std::string broken_rules_;
  size_t begins_ = 0;
  size_t counted_executions_ = 0;
  size_t frame_ends_ = 0;
  std::optional<store::Reader> reader_;
};

// One number for each command, in order.
inline std::vector<int64_t> executions(const Session& session) {
  std::vector<int64_t> values;
  for (const SeenCommand& command : session.commands()) values.push_back(command.executions);
  return values;
}

}  // namespace tally::capture::testing
