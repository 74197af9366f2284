#include "spirv/analysis/site_places.h"

#include <algorithm>

#include "spirv/ir/opcode.h"

namespace tally::spirv {
namespace {

// Reads the lines in the order in which a BlockMap is built, so that files have the same numbers.
class PlaceFinder {
 public:
  PlaceFinder(const Module& module, std::span<const uint32_t> wanted)
      : module_(module), wanted_(wanted), sources_(module), cursor_(sources_) {}

  void visit(const MappedFunction& mapped) {
    const uint32_t index = module_.function_index(mapped.id);
    if (index == kNone) return;
    const Function& function = module_.functions()[index];
    cursor_ = LineCursor(sources_);
    uint32_t at = function.begin;
    while (at > 0 && is_line(module_.instruction(at - 1).opcode())) --at;
    uint32_t block = mapped.first_block;
    for (const BlockRange& range : module_.blocks_of(function)) {
      for (; at < range.begin; ++at) cursor_.advance(module_.instruction(at));
      for (; at < range.end; ++at) visit(at, block);
      ++block;
    }
    without_line_ = kNone;
  }

  std::vector<SitePlace> take() {
    std::ranges::sort(places_, {}, &SitePlace::word_offset);
    return std::move(places_);
  }

 private:
  void visit(uint32_t at, uint32_t block) {
    const Instruction instruction = module_.instruction(at);
    cursor_.advance(instruction);
    const auto& location = cursor_.place().location;
    if (location && without_line_ != kNone) {
      places_[without_line_].location = location;
      without_line_ = kNone;
    }
    if (!std::ranges::binary_search(wanted_, instruction.offset())) return;
    places_.push_back({instruction.offset(), at, block, location});
    const bool is_loop = instruction.opcode() == spv::Op::OpLoopMerge;
    if (is_loop && !location) without_line_ = static_cast<uint32_t>(places_.size() - 1);
  }

  const Module& module_;
  std::span<const uint32_t> wanted_;
  SourceInfo sources_;
  LineCursor cursor_;
  std::vector<SitePlace> places_;
  uint32_t without_line_ = kNone;  // a loop whose line is not known yet
};

}  // namespace

std::vector<SitePlace> site_places(const Module& module, const BlockMap& map,
                                   std::span<const uint32_t> word_offsets) {
  PlaceFinder finder(module, word_offsets);
  for (const MappedFunction& function : map.functions()) finder.visit(function);
  return finder.take();
}

}  // namespace tally::spirv
