// The shaders of `tally run --replace`. A shader of the application that one of them names runs
// with its SPIR-V, if the two are interchangeable (spirv/analysis/substitution.h).
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "store/stream/stream.h"

namespace tally::capture {

namespace stream = store::stream;

// A shader of the application, as reports name it.
struct NamedShader {
  Hash128 hash;        // of its module
  std::string name;    // debug name
  std::string source;  // the file that debug information names
  VkShaderStageFlagBits stage{};
  std::string entry_point;

  // The name in tables: a debug name, else a source, else the start of the hash.
  std::string title() const;
};

// Thread-safe.
class Replacements {
 public:
  using Words = std::shared_ptr<const std::vector<uint32_t>>;

  // `list`: the file that `tally run` writes; empty: nothing is replaced. A line for each
  // replacement has fields with tabs between them: a pattern, as the user gave it, the user's file,
  // and the files of its SPIR-V (none: it cannot be used), of which the one that is most like the
  // original in version and debug information is used.
  explicit Replacements(const std::string& list);

  bool any() const { return !entries_.empty(); }
  // Why the list or a file of it could not be read; empty if it could.
  const std::string& problem() const { return problem_; }

  // The SPIR-V that takes the place of a shader's; null: it is not replaced. `words`: of its
  // module; empty: they are not known. `max_version`: of SPIR-V that the device takes.
  Words find(const NamedShader& shader, std::span<const uint32_t> words, uint32_t max_version);
  // The driver did not accept it: the shader is not replaced any more.
  void refuse(const NamedShader& shader, const std::string& reason);
  // The shaders that were replaced or refused since the last call.
  std::vector<stream::Replacement> take_news();

 private:
  struct Entry {
    std::string match;
    std::string pattern;  // as the user gave it
    std::string file;
    std::vector<Words> candidates;
  };
  struct Decision {
    Words words;
    const Entry* entry = nullptr;
  };
  using Key = std::tuple<Hash128, VkShaderStageFlagBits, std::string, std::string>;

  Decision decide(const NamedShader& shader, std::span<const uint32_t> words, uint32_t max_version);
  Words choose(const Entry& entry, const NamedShader& shader, std::span<const uint32_t> words,
               uint32_t max_version, std::string& refusal) const;
  void report(const Entry& entry, const NamedShader& shader, const Words& words,
              const std::string& refusal);

  std::vector<Entry> entries_;
  std::string problem_;
  std::mutex mutex_;  // guards the members below
  std::map<Key, Decision> decisions_;
  std::vector<stream::Replacement> news_;
};

}  // namespace tally::capture
