#include "counters/shader/shader_code.h"

#include <algorithm>

#include "spirv/ir/module.h"

namespace tally::counters {

bool sets_primitive_id(const ShaderCode& code) {
  const auto module = spirv::Module::parse(code.words);
  if (!module) return false;
  for (uint32_t i = 0; i < module->instruction_count(); ++i) {
    const spirv::Instruction instruction = module->instruction(i);
    if (instruction.opcode() != spv::Op::OpVariable) continue;
    if (instruction.operand(0) != static_cast<uint32_t>(spv::StorageClass::Output)) continue;
    const auto builtin = module->decoration(instruction.result_id(), spv::Decoration::BuiltIn);
    if (builtin == static_cast<uint32_t>(spv::BuiltIn::PrimitiveId)) return true;
  }
  return false;
}

std::shared_ptr<const ShaderCode> ShaderCodeStore::add(std::span<const uint32_t> words) {
  const Hash128 hash = hash_words(words);
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const ShaderCode>& slot = codes_[hash];
  if (auto known = slot.lock(); known && std::ranges::equal(known->words, words)) return known;
  if (codes_.size() > 2 * alive_after_prune_ + 64) {
    std::erase_if(codes_,
                  [&](const auto& entry) { return entry.second.expired() && entry.first != hash; });
    alive_after_prune_ = codes_.size();
  }
  auto code = std::make_shared<const ShaderCode>(ShaderCode{hash, {words.begin(), words.end()}});
  slot = code;
  return code;
}

}  // namespace tally::counters
