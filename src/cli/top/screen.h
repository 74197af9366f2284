// The terminal as `tally top` uses it: full screen, keys one by one. The previous contents are
// there again when it ends.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "cli/top/view.h"

namespace tally::cli {

class Screen {
 public:
  // Standard input and output must be a terminal. None: its type is not known.
  static std::optional<Screen> open();
  Screen(Screen&& other) noexcept : open_(std::exchange(other.open_, false)) {}
  Screen& operator=(Screen&&) = delete;
  ~Screen();

  size_t width() const;
  size_t height() const;
  void draw(const std::vector<TopLine>& lines);
  // The next key; none after `milliseconds`, or where the size has changed.
  std::optional<int> key(int milliseconds);

 private:
  Screen() = default;
  bool open_ = true;
};

}  // namespace tally::cli
