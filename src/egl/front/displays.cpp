#include "egl/front/displays.h"

#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "egl/driver/lifetime.h"

namespace tally::egl {
namespace {

struct Displays {
  std::mutex mutex;
  std::vector<KnownDisplay> known;

  void erase(const Driver& driver, EGLDisplay display) {
    std::erase_if(
        known, [&](const KnownDisplay& k) { return k.driver == &driver && k.display == display; });
  }
};

Displays& displays() {
  static Displays& all = kept(std::make_unique<Displays>());
  return all;
}

}  // namespace

void remember_display(Driver& driver, EGLDisplay display) noexcept try {
  const std::lock_guard lock(displays().mutex);
  displays().erase(driver, display);
  displays().known.push_back({&driver, display});
} catch (const std::bad_alloc&) {
}

void drop_display(Driver& driver, EGLDisplay display) noexcept {
  const std::lock_guard lock(displays().mutex);
  displays().erase(driver, display);
}

std::optional<KnownDisplay> latest_display() {
  const std::lock_guard lock(displays().mutex);
  if (displays().known.empty()) return std::nullopt;
  return displays().known.back();
}

}  // namespace tally::egl
