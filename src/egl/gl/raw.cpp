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

bool has_word(std::string_view list, std::string_view word) {
  for (size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

bool has_gl_extension(const RawGl& gl, std::string_view name) {
  // Before OpenGL 3.0 and OpenGL ES 3.0 there is only the list in one string; core profiles do not
  // have that string.
  GLint count = 0;
  gl.glGetIntegerv(GL_NUM_EXTENSIONS, &count);
  if (gl.glGetError() == GL_NO_ERROR && gl.glGetStringi != nullptr) {
    for (GLint i = 0; i < count; i++) {
      const GLubyte* const word = gl.glGetStringi(GL_EXTENSIONS, static_cast<GLuint>(i));
      if (word != nullptr && reinterpret_cast<const char*>(word) == name) return true;
    }
    return false;
  }
  const GLubyte* const list = gl.glGetString(GL_EXTENSIONS);
  return list != nullptr && has_word(reinterpret_cast<const char*>(list), name);
}

}  // namespace tally::egl
