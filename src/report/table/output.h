// Receives a report piece by piece.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tally::report {

using Output = std::function<void(std::string_view)>;

// Compresses a stream of bytes in the format of gzip.

class Gzip {
 public:
  // Level 1 is the fastest, 9 makes the smallest file.
  explicit Gzip(Output out, int level = 1);
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void write(std::string_view piece);
  Status finish();

 private:
  struct Stream;
  void deflate_pending(int flush);

  const Output out_;
  std::unique_ptr<Stream> stream_;
  std::string pending_;
  bool failed_ = false;
};

}  // namespace tally::report
