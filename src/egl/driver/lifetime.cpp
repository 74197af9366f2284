#include "egl/driver/lifetime.h"

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

}  // namespace tally::egl
