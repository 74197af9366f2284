#include "report/export/exports.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "base/hash.h"

namespace tally::report {
namespace {

using analysis::kNone;

bool is_zero(const std::vector<uint64_t>& values) {
  return std::ranges::all_of(values, [](uint64_t value) { return value == 0; });
}

// The stacks of one group of draws in one shader.
class GroupStacks {
 public:
  GroupStacks(const CallTree& tree, StackNames& names, const VisitStack& visit)
      : tree_(tree), names_(names), visit_(visit) {}

  void run(size_t group) {
    const auto& commands = tree_.commands();
    const auto& [draw, variant] = commands.groups()[group];
    variant_ = variant;
    stack_.resize(3);
    if (draw != draw_) {
      draw_ = draw;
      const auto& of_draw = commands.draws()[draw];
      if (of_draw.place != place_) {
        place_ = of_draw.place;
        stack_[0] = {names_.add(commands.places()[place_], {}), 0};
      }
      stack_[1] = {names_.add(commands.draw_text(of_draw), {}), 0};
    }
    stack_[2] = {shader_frame(), 0};
    commands.values(group, values_);
    if (tree_.code(variant) != nullptr) {
      const analysis::CallCosts costs(tree_.calls(variant), values_.blocks(), tree_.metrics());
      costs.visit_paths({.cost = [this](auto path, const auto& cost) { add(path, cost); }});
    } else {
      add_without_code();
    }
  }

 private:
  void add(std::span<const uint32_t> path, const analysis::SelfCost& cost) {
    if (is_zero(cost.metrics)) return;
    stack_.resize(3);
    for (const uint32_t of_path : path) stack_.push_back({name_of(of_path), 0});
    if (tree_.calls(variant_).is_inlined(path.back()))
      stack_.back() = {name_of(path.back(), cost.location.file), 0};
    stack_.back().line = cost.location.line;
    visit_(stack_, cost.metrics);
  }

  // The name is made on first use: a shader's functions are those of many draws.
  template <typename Key, typename Make>
  static uint32_t frame(std::map<Key, uint32_t>& known, const Key& key, const Make& make) {
    const auto [found, is_new] = known.try_emplace(key);
    if (is_new) found->second = make();
    return found->second;
  }

  uint32_t shader_frame() {
    return frame(shaders_, variant_, [&] { return names_.add(tree_.shader_text(variant_), {}); });
  }

  uint32_t name_of(uint32_t of_path) {
    return frame(functions_, std::pair(variant_, of_path), [&] {
      return names_.add(tree_.frame_text(variant_, of_path), tree_.frame_file(variant_, of_path));
    });
  }

  // Inlined code may be of several files.
  uint32_t name_of(uint32_t inlined, uint32_t file) {
    return frame(inlined_, std::tuple(variant_, inlined, file), [&] {
      return names_.add(tree_.frame_text(variant_, inlined), tree_.file_text(variant_, file));
    });
  }

  void add_without_code() {
    sums_.assign(tree_.metrics().size(), 0);
    for (const analysis::BlockValues& block : values_.blocks()) {
      for (size_t m = 0; m < sums_.size(); ++m)
        sums_[m] = analysis::saturating_sum(sums_[m], block.metrics[m]);
    }
    if (!is_zero(sums_)) visit_(stack_, sums_);
  }

  const CallTree& tree_;
  StackNames& names_;
  const VisitStack& visit_;
  uint32_t place_ = kNone, draw_ = kNone, variant_ = 0;  // of stack_
  std::vector<StackFrame> stack_;
  std::vector<uint64_t> sums_;
  analysis::BlockValueList values_;
  std::map<uint32_t, uint32_t> shaders_;                                  // by variant
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> functions_;           // by variant and frame
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> inlined_;  // and file
};

}  // namespace

Result<CallTree> CallTree::make(const analysis::Model& model, const analysis::Progress& progress) {
  CallTree tree;
  tree.model_ = &model;
  tree.metrics_ = analysis::describe_metrics(model);
  tree.shader_names_ = model.shader_names;
  tree.codes_ = std::make_unique<analysis::ShaderCodes>(model);
  tree.variants_ = std::make_unique<analysis::Variants>(model, *tree.codes_);
  auto commands = TALLY_TRY(analysis::CommandCosts::count(model, *tree.variants_, progress));
  tree.commands_ = std::make_unique<analysis::CommandCosts>(std::move(commands));
  return tree;
}

const analysis::ShaderCode* CallTree::code(uint32_t variant) const {
  const auto& code = codes_->of((*variants_)[variant].shader);
  return code.ok() ? &code.value() : nullptr;
}

const analysis::ShaderCalls& CallTree::calls(uint32_t variant) const {
  return calls_.try_emplace(variant, *code(variant)).first->second;
}

std::string CallTree::shader_text(uint32_t variant) const {
  const analysis::Variant& v = (*variants_)[variant];
  std::string text = fmt::format("{} {}", shader_names_[v.shader],
                                 analysis::stage_name(model_->shaders[v.shader].stage));
  const std::string pipeline = analysis::variant_text(*model_, v);
  return pipeline.empty() ? text : fmt::format("{} [{}]", text, pipeline);
}

std::string CallTree::frame_text(uint32_t variant, uint32_t frame) const {
  const analysis::ShaderCalls& of = calls(variant);
  std::string name = of.names()[of.frames()[frame].name];
  if (frame == of.entry() && name.starts_with('%'))  // without a name in the source
    name = model_->shaders[(*variants_)[variant].shader].entry_point;
  return fmt::format("{}: {}{}", shader_text(variant), name,
                     of.is_inlined(frame) ? " (inlined)" : "");
}

std::string CallTree::file_text(uint32_t variant, uint32_t file) const {
  const auto files = code(variant)->map.files();
  if (file < files.size() && !files[file].name.empty()) return files[file].name;
  return shader_names_[(*variants_)[variant].shader];
}

std::string CallTree::frame_file(uint32_t variant, uint32_t frame) const {
  const analysis::ShaderCalls& of = calls(variant);
  const spirv::BlockMap& map = of.code().map;
  const spirv::MappedFunction& f = map.functions()[of.frames()[frame].function];
  for (const spirv::Block& block : map.blocks().subspan(f.first_block, f.block_count)) {
    const auto lines = map.lines_of(block);
    for (size_t l = 0; l < lines.size(); ++l) {
      if (of.frame_of(block, l) == frame) return file_text(variant, lines[l].location.file);
    }
  }
  return file_text(variant, kNone);
}

StackNames::StackNames(const CallTree& tree) {
  const size_t draws = tree.commands().draws().size();
  texts_.reserve(draws);
  functions_.reserve(draws);
  numbers_.reserve(draws);
}

uint32_t StackNames::add(std::string_view name, std::string_view file) {
  const Function added{texts_.add(name), texts_.add(file)};
  const auto next = static_cast<uint32_t>(functions_.size());
  const uint32_t number = numbers_.find_or_add(
      hash_combine(added.name, added.file), next,
      [&](uint32_t other) {
        return functions_[other].name == added.name && functions_[other].file == added.file;
      },
      [&](uint32_t other) { return hash_combine(functions_[other].name, functions_[other].file); });
  if (number == next) functions_.push_back(added);
  return number;
}

void visit_stacks(const CallTree& tree, StackNames& names, const VisitStack& visit) {
  GroupStacks stacks(tree, names, visit);
  for (size_t group = 0; group < tree.commands().groups().size(); ++group) stacks.run(group);
}

}  // namespace tally::report
