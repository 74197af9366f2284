#include "corpus/module_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <spirv/unified1/spirv.hpp11>

#include "spirv/ir/opcode.h"

namespace tally::test {
namespace {

constexpr size_t kHeaderWords = 5;

bool is_header(std::span<const uint32_t> words) {
  return words.size() > kHeaderWords && words[0] == spv::MagicNumber && words[1] >= 0x00010000 &&
         words[1] <= 0x00010600 && words[3] > 0 && words[3] < 1u << 22 && words[4] == 0;
}

// True if a module may continue with this opcode after a function.
bool may_follow_function(spv::Op opcode) {
  return opcode == spv::Op::OpFunction || spirv::is_line(opcode) || opcode == spv::Op::OpExtInst;
}

// The end of the last OpFunctionEnd of the module that begins at word 0, or 0 if it has none.
size_t module_length(std::span<const uint32_t> words) {
  size_t end = 0;
  bool inside = false;  // inside a function, or before the first
  for (size_t at = kHeaderWords; at < words.size();) {
    const auto opcode = static_cast<spv::Op>(words[at] & spv::OpCodeMask);
    const size_t length = words[at] >> spv::WordCountShift;
    if (length == 0 || length > words.size() - at || !spirv::opcode_layout(opcode).known) break;
    if (end > 0 && !inside && !may_follow_function(opcode)) break;
    at += length;
    if (opcode == spv::Op::OpFunction) inside = true;
    if (opcode == spv::Op::OpFunctionEnd) {
      inside = false;
      end = at;
    }
  }
  return end;
}

}  // namespace

std::vector<WordRange> find_modules(std::span<const uint32_t> words) {
  std::vector<WordRange> modules;
  for (auto from = words.begin();;) {
    from = std::find(from, words.end(), uint32_t{spv::MagicNumber});
    if (from == words.end()) return modules;
    const auto begin = static_cast<size_t>(from - words.begin());
    const auto rest = words.subspan(begin);
    const size_t length = is_header(rest) ? module_length(rest) : 0;
    if (length > 0) modules.push_back({begin, begin + length});
    from += std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(length));
  }
}

Result<std::vector<uint32_t>> read_words(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Error{"cannot read " + path};
  std::vector<uint32_t> words(static_cast<size_t>(file.tellg()) / sizeof(uint32_t));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(words.data()),
            static_cast<std::streamsize>(words.size() * sizeof(uint32_t)));
  if (!file) return Error{"cannot read " + path};
  return words;
}

Status write_words(const std::string& path, std::span<const uint32_t> words) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size_bytes()));
  if (!file) return Error{"cannot write " + path};
  return {};
}

std::vector<std::string> module_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".spv") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace tally::test
