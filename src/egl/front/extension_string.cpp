#include "egl/front/extension_string.h"

#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "egl/driver/lifetime.h"

namespace tally::egl {
namespace {

// The application keeps pointers to the strings.
struct LongerStrings {
  std::mutex mutex;
  std::set<std::string, std::less<>> strings;
};

}  // namespace

bool has_word(std::string_view list, std::string_view word) {
  for (size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

const char* with_extension(const char* list) try {
  if (list == nullptr || has_word(list, kExtensionName)) return list;
  std::string longer = list;
  if (!longer.empty() && longer.back() != ' ') longer += ' ';
  longer += kExtensionName;
  static LongerStrings& all = kept(std::make_unique<LongerStrings>());
  const std::lock_guard lock(all.mutex);
  return all.strings.insert(std::move(longer)).first->c_str();
} catch (const std::bad_alloc&) {
  return list;
}

}  // namespace tally::egl
