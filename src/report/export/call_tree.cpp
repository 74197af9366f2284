#include "report/export/call_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/model/counts.h"
#include "analysis/model/names.h"

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
    const std::string& place = commands.places()[commands.draws()[draw].place];
    stack_ = {{names_.add(place, {}), 0},
              {names_.add(commands.draw_text(commands.draws()[draw]), {}), 0},
              {names_.add(tree_.shader_text(variant), {}), 0}};
    const auto values = commands.values(group);
    if (tree_.code(variant) != nullptr) {
      const analysis::CallCosts costs(tree_.calls(variant), values, tree_.metrics());
      costs.visit_paths([this](auto path, const auto& cost) { add(path, cost); });
    } else {
      add_without_code(values);
    }
  }

 private:
  void add(std::span<const uint32_t> path, const analysis::SelfCost& cost) {
    if (is_zero(cost.metrics)) return;
    stack_.resize(3);
    for (const uint32_t function : path) {
      stack_.push_back({function_frame(function), 0});
    }
    if (cost.inlined != kNone)
      stack_.push_back({names_.add(tree_.inlined_text(variant_, cost.inlined),
                                   tree_.file_text(variant_, cost.location.file)),
                        0});
    stack_.back().line = cost.location.line;
    visit_(stack_, cost.metrics);
  }

  uint32_t function_frame(uint32_t function) {
    const auto [found, is_new] = functions_.try_emplace({variant_, function});
    if (is_new)
      found->second = names_.add(tree_.function_text(variant_, function),
                                 tree_.function_file(variant_, function));
    return found->second;
  }

  void add_without_code(const std::vector<analysis::BlockValues>& values) {
    std::vector<uint64_t> sums(tree_.metrics().size());
    for (const analysis::BlockValues& block : values) {
      for (size_t m = 0; m < sums.size(); ++m)
        sums[m] = analysis::saturating_sum(sums[m], block.metrics[m]);
    }
    if (!is_zero(sums)) visit_(stack_, sums);
  }

  const CallTree& tree_;
  StackNames& names_;
  const VisitStack& visit_;
  uint32_t variant_ = 0;
  std::vector<StackFrame> stack_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> functions_;  // by variant and function
};

}  // namespace

Result<CallTree> CallTree::make(const analysis::Model& model, const analysis::Progress& progress) {
  CallTree tree;
  tree.model_ = &model;
  tree.metrics_ = analysis::describe_metrics(model);
  tree.shader_names_ = analysis::disambiguated_shader_names(model);
  tree.codes_ = std::make_unique<analysis::ShaderCodes>(model);
  tree.variants_ = std::make_unique<analysis::Variants>(model, *tree.codes_);
  auto commands = analysis::CommandCosts::count(model, *tree.variants_, progress);
  if (!commands) return commands.error();
  tree.commands_ = std::make_unique<analysis::CommandCosts>(std::move(*commands));
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

std::string CallTree::function_text(uint32_t variant, uint32_t function) const {
  const analysis::ShaderCode& of = *code(variant);
  const bool is_entry =
      of.entry_block != kNone && of.map.blocks()[of.entry_block].function == function;
  std::string name = of.map.functions()[function].name;
  if (is_entry && name.starts_with('%'))  // without a name in the source
    name = model_->shaders[(*variants_)[variant].shader].entry_point;
  return fmt::format("{}: {}", shader_text(variant), name);
}

std::string CallTree::inlined_text(uint32_t variant, uint32_t inlined) const {
  return fmt::format("{}: {} (inlined)", shader_text(variant),
                     code(variant)->map.source_functions()[inlined]);
}

std::string CallTree::file_text(uint32_t variant, uint32_t file) const {
  const auto files = code(variant)->map.files();
  if (file < files.size() && !files[file].name.empty()) return files[file].name;
  return shader_names_[(*variants_)[variant].shader];
}

std::string CallTree::function_file(uint32_t variant, uint32_t function) const {
  const spirv::BlockMap& map = code(variant)->map;
  const spirv::MappedFunction& f = map.functions()[function];
  for (const spirv::Block& block : map.blocks().subspan(f.first_block, f.block_count)) {
    for (const spirv::LineCost& line : map.lines_of(block)) {
      const bool is_own = line.source_function >= map.source_functions().size() ||
                          map.source_functions()[line.source_function] == f.name;
      if (is_own) return file_text(variant, line.location.file);
    }
  }
  return file_text(variant, kNone);
}

uint32_t StackNames::add(std::string name, std::string file) {
  const auto [found, is_new] =
      index_.try_emplace({std::move(name), std::move(file)}, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(&found->first);
  return found->second;
}

void visit_stacks(const CallTree& tree, StackNames& names, const VisitStack& visit) {
  GroupStacks stacks(tree, names, visit);
  for (size_t group = 0; group < tree.commands().groups().size(); ++group) stacks.run(group);
}

}  // namespace tally::report
