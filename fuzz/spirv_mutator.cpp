#include "spirv_mutator.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <spirv/unified1/spirv.hpp11>

#include "spirv/ir/opcode.h"
#include "spirv_input.h"

namespace tally::fuzz {
namespace {
constexpr size_t kHeaderWords = 5;
constexpr size_t kBoundWord = 3;
}  // namespace

SpirvMutator::SpirvMutator(std::vector<uint32_t>& words, std::span<const uint32_t> donor,
                           uint32_t seed)
    : words_(words), donor_(donor), instructions_(instructions_of(words)), random_(seed) {}

std::vector<SpirvMutator::Range> SpirvMutator::instructions_of(std::span<const uint32_t> words) {
  std::vector<Range> ranges;
  for (size_t at = kHeaderWords; at < words.size();) {
    const size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at) break;
    ranges.push_back({at, at + length});
    at += length;
  }
  return ranges;
}

void SpirvMutator::mutate() {
  if (instructions_.empty()) return;
  // Operands most often: only they reach new shapes of valid control flow.
  switch (pick(15)) {
    case 0:
      return swap_neighbours();
    case 1:
      return duplicate();
    case 2:
      return erase();
    case 3:
    case 4:
      return take_from_donor();
    case 5:
      return change_opcode();
    case 6:
      return change_bound();
    case 7:
      return group_decoration();
    case 8:
      return change_builtin();
    case 9:
      return make_chain();
    case 10:
      return make_cycle();
    default:
      return change_operand();
  }
}

void SpirvMutator::change_operand() {
  const Range range = instructions_[pick(instructions_.size())];
  if (range.end - range.begin < 2) return;
  uint32_t& operand = words_[range.begin + 1 + pick(range.end - range.begin - 1)];
  switch (pick(4)) {
    case 0:
      operand = static_cast<uint32_t>(pick(words_[kBoundWord] + size_t{1}));
      break;
    case 1:
      operand = words_[pick(words_.size())];
      break;
    case 2:
      operand = static_cast<uint32_t>(pick(64));
      break;
    default:
      operand ^= 1u << pick(32);
  }
}

void SpirvMutator::swap_neighbours() {
  if (instructions_.size() < 2) return;
  const size_t first = pick(instructions_.size() - 1);
  std::rotate(words_.begin() + instructions_[first].begin,
              words_.begin() + instructions_[first].end,
              words_.begin() + instructions_[first + 1].end);
}

void SpirvMutator::duplicate() {
  const Range from = instructions_[pick(instructions_.size())];
  const Range to = instructions_[pick(instructions_.size())];
  const std::vector<uint32_t> copy(words_.begin() + from.begin, words_.begin() + from.end);
  words_.insert(words_.begin() + to.begin, copy.begin(), copy.end());
}

void SpirvMutator::erase() {
  const Range range = instructions_[pick(instructions_.size())];
  words_.erase(words_.begin() + range.begin, words_.begin() + range.end);
}

void SpirvMutator::take_from_donor() {
  const std::vector<Range> ranges = instructions_of(donor_);
  if (ranges.empty()) return;
  const Range from = ranges[pick(ranges.size())];
  const Range to = instructions_[pick(instructions_.size())];
  const auto source = donor_.subspan(from.begin, from.end - from.begin);
  words_.insert(words_.begin() + to.begin, source.begin(), source.end());
}

void SpirvMutator::change_opcode() {
  const Range range = instructions_[pick(instructions_.size())];
  const Range other = instructions_[pick(instructions_.size())];
  uint32_t& word = words_[range.begin];
  word = (word & 0xffff0000u) | (words_[other.begin] & 0xffffu);
}

void SpirvMutator::change_bound() {
  constexpr uint32_t kLimit = 0x3fffff;
  constexpr uint32_t kBounds[] = {kLimit + 1, kLimit, kLimit - 1, kLimit - 500, kLimit - 20'000};
  words_[kBoundWord] = kBounds[pick(std::size(kBounds))];
}

void SpirvMutator::group_decoration() {
  const Range range = instructions_[pick(instructions_.size())];
  const auto opcode = static_cast<spv::Op>(words_[range.begin] & spv::OpCodeMask);
  const bool of_member = opcode == spv::Op::OpMemberDecorate;
  const size_t target_words = of_member ? 2 : 1;
  if (opcode != spv::Op::OpDecorate && !of_member) return;
  if (range.end - range.begin < 2 + target_words) return;
  const uint32_t group = words_[kBoundWord]++;
  const auto first = [](size_t count, spv::Op op) {
    return static_cast<uint32_t>(count << spv::WordCountShift) | static_cast<uint32_t>(op);
  };
  const auto what = std::span(words_).subspan(range.begin + 1 + target_words,
                                              range.end - range.begin - 1 - target_words);
  std::vector<uint32_t> code = {first(2 + what.size(), spv::Op::OpDecorate), group};
  code.insert(code.end(), what.begin(), what.end());
  code.insert(code.end(), {first(2, spv::Op::OpDecorationGroup), group});
  const auto apply = of_member ? spv::Op::OpGroupMemberDecorate : spv::Op::OpGroupDecorate;
  code.insert(code.end(), {first(2 + target_words, apply), group});
  code.insert(code.end(), words_.begin() + range.begin + 1,
              words_.begin() + range.begin + 1 + target_words);
  words_.erase(words_.begin() + range.begin, words_.begin() + range.end);
  words_.insert(words_.begin() + range.begin, code.begin(), code.end());
}

void SpirvMutator::change_builtin() {
  using spv::BuiltIn;
  constexpr BuiltIn kRead[] = {BuiltIn::SampleMask,    BuiltIn::HelperInvocation,
                               BuiltIn::FragCoord,     BuiltIn::PrimitiveId,
                               BuiltIn::Layer,         BuiltIn::ViewIndex,
                               BuiltIn::InstanceIndex, BuiltIn::VertexIndex,
                               BuiltIn::WorkgroupId,   BuiltIn::LocalInvocationIndex};
  const size_t start = pick(instructions_.size());
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Range range = instructions_[(start + i) % instructions_.size()];
    const auto opcode = static_cast<spv::Op>(words_[range.begin] & spv::OpCodeMask);
    if (opcode != spv::Op::OpDecorate || range.end - range.begin != 4) continue;
    if (words_[range.begin + 2] != static_cast<uint32_t>(spv::Decoration::BuiltIn)) continue;
    words_[range.begin + 3] = static_cast<uint32_t>(kRead[pick(std::size(kRead))]);
    return;
  }
}

void SpirvMutator::make_chain() {
  const Range range = instructions_[pick(instructions_.size())];
  const auto opcode = static_cast<spv::Op>(words_[range.begin] & spv::OpCodeMask);
  const spirv::OpcodeLayout layout = spirv::opcode_layout(opcode);
  // The validator's messages take long for many types that would have the same or nested names.
  if ((!layout.has_type && opcode != spv::Op::OpTypeStruct) || layout.ids == 0) return;
  const size_t result = layout.has_type ? 2 : 1;
  std::vector<uint32_t> copy(words_.begin() + range.begin, words_.begin() + range.end);
  if (copy.size() <= result + 1) return;
  const size_t operand = result + 1 + pick(copy.size() - result - 1);
  const uint32_t first = copy[result];
  uint32_t last = first;
  std::vector<uint32_t> chain;
  for (size_t links = size_t{1} << pick(12); links > 0; --links) {
    copy[operand] = last;
    last = copy[result] = words_[kBoundWord]++;
    chain.insert(chain.end(), copy.begin(), copy.end());
  }
  // The next use of the first one becomes one of the last.
  const auto use = std::find(words_.begin() + range.end, words_.end(), first);
  if (use != words_.end()) *use = last;
  words_.insert(words_.begin() + range.end, chain.begin(), chain.end());
}

void SpirvMutator::make_cycle() {
  const size_t user = pick(instructions_.size());
  const size_t used = user + pick(std::min<size_t>(instructions_.size() - user, 16));
  const Range from = instructions_[user], to = instructions_[used];
  const auto layout_of = [&](const Range& range) {
    return spirv::opcode_layout(static_cast<spv::Op>(words_[range.begin] & spv::OpCodeMask));
  };
  const size_t result = layout_of(to).has_type ? 2 : 1;
  if (!layout_of(to).has_result || to.end - to.begin <= result || from.end - from.begin < 2) return;
  words_[from.begin + 1 + pick(from.end - from.begin - 1)] = words_[to.begin + result];
}

}  // namespace tally::fuzz

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using tally::fuzz::kChoiceBytes;

size_t write_back(const tally::fuzz::SpirvInput& input, uint8_t* data, size_t max_size) {
  const size_t bytes = input.words.size() * sizeof(uint32_t);
  if (kChoiceBytes + bytes > max_size) return 0;
  std::memcpy(data, input.choices.data(), kChoiceBytes);
  if (bytes != 0) std::memcpy(data + kChoiceBytes, input.words.data(), bytes);
  return kChoiceBytes + bytes;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  tally::fuzz::SpirvInput input = tally::fuzz::split_input(data, size);
  if (input.words.empty() || seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 1) input.choices[seed / 8 % kChoiceBytes] = static_cast<uint8_t>(seed >> 16);
  const std::vector<uint32_t> donor = input.words;
  tally::fuzz::SpirvMutator(input.words, donor, seed).mutate();
  const size_t written = write_back(input, data, max_size);
  return written ? written : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2, uint8_t* out,
                                            size_t max_size, unsigned seed) {
  tally::fuzz::SpirvInput input = tally::fuzz::split_input(data1, size1);
  const tally::fuzz::SpirvInput donor = tally::fuzz::split_input(data2, size2);
  for (unsigned i = 0; i < 1 + seed % 4; ++i) {
    tally::fuzz::SpirvMutator(input.words, donor.words, seed + i).mutate();
  }
  return write_back(input, out, max_size);
}
