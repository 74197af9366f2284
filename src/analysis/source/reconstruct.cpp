#include "analysis/source/reconstruct.h"

#include <utility>

#include "analysis/source/decompile.h"
#include "analysis/source/glsl_lines.h"
#include "analysis/source/isolated.h"
#include "analysis/source/line_marks.h"

namespace tally::analysis {
namespace {

std::vector<uint32_t> marked_copy(const spirv::Module& module) {
  const std::vector<bool> marks = markable(module);
  std::vector<uint32_t> lines(marks.size());
  for (uint32_t i = 0; i < marks.size(); ++i) lines[i] = marks[i] ? i + 1 : 0;
  return with_lines(module, kMarkFile, lines);
}

}  // namespace

Result<Reconstruction> reconstruct(const spirv::Module& module, const spirv::EntryPoint& entry,
                                   const std::string& file_name) {
  const auto glsl = run_isolated([&]() -> Result<std::string> {
    const auto copy = spirv::Module::parse(marked_copy(module));
    if (!copy) return copy.error();
    const std::vector<uint32_t> marked = without_unknown_declarations(*copy);
    if (Status valid = check_decompilable(marked); !valid) return valid.error();
    return decompile(marked, entry);
  });
  if (!glsl) return glsl.error();
  GlslLines read = read_marks(module, *glsl);
  const auto copy = spirv::Module::parse(with_lines(module, file_name, read.line_of));
  if (!copy) return copy.error();
  auto map = spirv::BlockMap::build(*copy, entry.model, entry.name);
  if (!map) return map.error();
  return Reconstruction{std::move(*map), std::move(read.text)};
}

}  // namespace tally::analysis
