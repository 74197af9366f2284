// The newest complete frame of a capture that may still be written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "analysis/tables/analyzer.h"
#include "base/status.h"

namespace tally::cli {

class TopSource {
 public:
  explicit TopSource(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  // Loads the newest frame that has ended. False: it is loaded already, or there is none.
  Result<bool> refresh();
  // The frame's number; none: none was loaded.
  std::optional<int64_t> frame() const { return frame_; }
  // The captured frame in short: the device and the frame's contents.
  const std::string& description() const { return description_; }
  // A table of the frame. Without columns: no frame.
  Result<analysis::Table> table(analysis::By by);

 private:
  const std::string file_;
  store::RowId row_ = 0;
  std::optional<int64_t> frame_;
  std::string description_;
  std::unique_ptr<analysis::Analyzer> analyzer_;
};

}  // namespace tally::cli
