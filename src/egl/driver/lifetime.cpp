#include "egl/driver/lifetime.h"

#include <new>
#include <utility>

namespace tally::egl {
namespace {

struct Kept {
  void* object;
  void (*destroy)(void*);
};

struct KeptObjects {
  std::mutex mutex;
  std::vector<Kept> objects;
};

KeptObjects& kept_objects() {
  static auto* const all = new KeptObjects;  // deleted by destroy_kept()
  return *all;
}

}  // namespace

void keep(void* object, void (*destroy)(void*)) {
  const std::lock_guard lock(kept_objects().mutex);
  kept_objects().objects.push_back({object, destroy});
}

void destroy_kept() noexcept {
  const std::unique_ptr<KeptObjects> all(&kept_objects());
  while (!all->objects.empty()) {
    const Kept last = all->objects.back();
    all->objects.pop_back();
    last.destroy(last.object);
  }
}

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
