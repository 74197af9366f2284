// How long the EGL library's objects live.
//
// Threads may call GL while the process exits, so exit destroys nothing. But libEGL unloads its
// vendor libraries when it is unloaded itself, and the process runs on. Then everything goes, and
// nothing of ours or of the real vendors stays mapped. Therefore
//  - objects of the process are kept(), in place of static objects with destructors, and
//  - objects of a thread are PerThread, in place of thread_local objects with destructors: for each
//    of those the dynamic linker keeps the library until the thread ends.
#pragma once

#include <EGL/egl.h>
#include <pthread.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tally::egl {

// Keeps the object until the library is unloaded. Objects are destroyed in the reverse order of
// their creation.
void keep(void* object, void (*destroy)(void*));
template <typename T>
T& kept(std::unique_ptr<T> object) {
  keep(object.get(), [](void* kept_object) { delete static_cast<T*>(kept_object); });
  return *object.release();
}

// Destroys what is kept. Only for the library's end: no thread may call it any more.
void destroy_kept() noexcept;

// One object for each thread that asked for it. It is destroyed when its thread ends, or with the
// library.
template <typename T>
class PerThread {
 public:
  static T& of_this_thread() {
    if (t_object == nullptr) t_object = &all().add();
    return *t_object;
  }

  PerThread() : has_key_(pthread_key_create(&key_, &PerThread::end_thread) == 0) {}
  ~PerThread() {
    if (has_key_) pthread_key_delete(key_);
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

 private:
  static PerThread& all() {
    static PerThread& one = kept(std::make_unique<PerThread>());
    return one;
  }
  // Without a key the object stays until the library ends.
  T& add() {
    auto object = std::make_unique<T>();
    T& added = *object;
    {
      const std::lock_guard lock(mutex_);
      objects_.push_back(std::move(object));
    }
    if (has_key_) pthread_setspecific(key_, &added);
    return added;
  }
  static void end_thread(void* object) {
    t_object = nullptr;
    std::unique_ptr<T> ended;  // destroyed without the mutex
    auto& objects = all().objects_;
    const std::lock_guard lock(all().mutex_);
    const auto found = std::ranges::find(objects, object, &std::unique_ptr<T>::get);
    if (found == objects.end()) return;
    ended.swap(*found);
    found->swap(objects.back());
    objects.pop_back();
  }

  static inline constinit thread_local T* t_object = nullptr;

  pthread_key_t key_{};
  const bool has_key_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> objects_;
};

// The displays that the application has initialised. The profiler may create a context on one of
// them to query what the driver offers.

class Driver;

struct KnownDisplay {
  Driver* driver;
  EGLDisplay display;
};

void remember_display(Driver& driver, EGLDisplay display) noexcept;
void drop_display(Driver& driver, EGLDisplay display) noexcept;
// The display that was initialised last and is not terminated.
std::optional<KnownDisplay> latest_display();

}  // namespace tally::egl
