#include "egl/gl/raw.h"

#include <string>

namespace tally::egl {

RawGl RawGl::load(const std::function<AnyFunction(const char*)>& resolve) {
  const auto find = [&resolve](const std::string& name) {
    AnyFunction found = nullptr;
    for (const char* suffix : {"", "EXT", "ARB"}) {
      found = resolve((name + suffix).c_str());
      if (found != nullptr) break;
    }
    return found;
  };
  RawGl gl;
#define X(function) gl.function = reinterpret_cast<decltype(gl.function)>(find(#function));
  TALLY_RAW_GL(X)
#undef X
  return gl;
}

}  // namespace tally::egl
