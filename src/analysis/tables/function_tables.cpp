#include "analysis/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/cost/call_costs.h"
#include "analysis/model/counts.h"
#include "analysis/model/names.h"
#include "base/text.h"

namespace tally::analysis {
namespace {

constexpr const char* kWithCallees = "_with_callees";
constexpr const char* kUnknownCode = "(unknown)";

// The totals of the blocks of a variant that ran.
class RanBlocks {
 public:
  RanBlocks(const BlockTotals& totals, uint32_t variant, size_t metrics) {
    for (uint32_t b = 0; b < totals.block_count(variant); ++b) {
      const uint64_t executions = totals.executions(variant, b);
      for (size_t m = 0; m < metrics; ++m) values_.push_back(totals.value(variant, b, m));
      blocks_.push_back({.block = b, .executions = executions});
    }
    for (size_t i = 0; i < blocks_.size(); ++i)
      blocks_[i].metrics = std::span(values_).subspan(i * metrics, metrics);
  }
  std::span<const BlockValues> blocks() const { return blocks_; }

 private:
  std::vector<uint64_t> values_;
  std::vector<BlockValues> blocks_;
};

struct FunctionCosts {
  uint64_t calls = 0;
  std::vector<uint64_t> self, inclusive;  // by metric; inclusive is empty if it is not known
};

// The functions of a shader variant, by name, and its tree of calls.
class VariantCalls {
 public:
  struct Node {
    uint32_t parent;  // kNone: the entry point
    uint32_t name;
    uint32_t depth;
    bool is_inlined;  // everywhere
    FunctionCosts costs;
  };

  VariantCalls(const ShaderCode& code, const RanBlocks& values, const std::vector<Metric>& metrics)
      : shader_(code), functions_(shader_.names().size()), metrics_(metrics.size()) {
    for (FunctionCosts& function : functions_) clear(function);
    const CallCosts costs(shader_, values.blocks(), metrics);
    has_all_paths_ = costs.visit_paths(
        {.enter = [this](auto path, uint64_t calls) { enter(path, calls); },
         .cost = [this](auto path, const SelfCost& cost) { add(path, cost.metrics); }});
    if (has_all_paths_) return;
    for (uint32_t name = 0; name < functions_.size(); ++name) {
      if (name != shader_.frames()[shader_.entry()].name) functions_[name].inclusive.clear();
    }
    nodes_.clear();
  }

  const ShaderCalls& shader() const { return shader_; }
  const std::vector<FunctionCosts>& functions() const { return functions_; }
  // Empty if there are too many paths.
  const std::vector<Node>& nodes() const { return nodes_; }
  bool has_all_paths() const { return has_all_paths_; }

 private:
  void clear(FunctionCosts& costs) const {
    costs.self.assign(metrics_, 0);
    costs.inclusive.assign(metrics_, 0);
  }

  // The nodes from the entry point to the last frame.
  void find_nodes(CallCosts::Path path) {
    size_t common = 0;
    while (common < path_.size() && common < path.size() && path_[common] == path[common]) ++common;
    path_.assign(path.begin(), path.end());
    at_.resize(common);
    for (const uint32_t frame : path.subspan(common)) at_.push_back(child(frame));
  }

  uint32_t child(uint32_t frame) {
    const uint32_t parent = at_.empty() ? kNone : at_.back();
    const uint32_t name = shader_.frames()[frame].name;
    const auto [found, is_new] =
        children_.try_emplace({parent, name}, static_cast<uint32_t>(nodes_.size()));
    if (is_new) {
      const auto depth = static_cast<uint32_t>(at_.size());
      nodes_.push_back({parent, name, depth, true, {}});
      clear(nodes_.back().costs);
    }
    nodes_[found->second].is_inlined &= shader_.is_inlined(frame);
    return found->second;
  }

  void enter(CallCosts::Path path, uint64_t calls) {
    find_nodes(path);
    Node& node = nodes_[at_.back()];
    node.costs.calls = saturating_sum(node.costs.calls, calls);
    uint64_t& all = functions_[node.name].calls;
    all = saturating_sum(all, calls);
  }

  void add(CallCosts::Path path, const std::vector<uint64_t>& values) {
    find_nodes(path);
    add_saturating(nodes_[at_.back()].costs.self, values);
    add_saturating(functions_[nodes_[at_.back()].name].self, values);
    std::vector<uint32_t> names;  // functions of one name may call each other
    for (const uint32_t node : at_) {
      add_saturating(nodes_[node].costs.inclusive, values);
      const uint32_t name = nodes_[node].name;
      if (std::ranges::find(names, name) != names.end()) continue;
      names.push_back(name);
      add_saturating(functions_[name].inclusive, values);
    }
  }

  ShaderCalls shader_;
  std::vector<FunctionCosts> functions_;  // by name
  size_t metrics_;
  bool has_all_paths_ = true;
  std::vector<Node> nodes_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> children_;  // by parent and name
  std::vector<uint32_t> path_, at_;  // the frames of the last path, and their nodes
};

// Columns and cells that both tables have.
class FunctionReport {
 public:
  FunctionReport(const Model& model, ShaderCodes& codes, const Variants& variants,
                 const BlockTotals& totals, const TableOptions& options)
      : model_(model),
        codes_(codes),
        variants_(variants),
        totals_(totals),
        options_(options),
        metrics_(describe_metrics(model)) {}

 protected:
  // The metric by whose columns the rows are ranked. An error if they are ranked by another column.
  Status choose_metric() {
    ranked_ = default_metric(metrics_);
    if (options_.sort.empty()) return {};
    std::vector<KnownName> known;
    for (size_t m = 0; m < metrics_.size(); ++m) {
      known.push_back({metrics_[m].id, metrics_[m].title});
      known.push_back({metrics_[m].id + kWithCallees, title_with_callees(m)});
    }
    const auto found = TALLY_TRY(find_name("column", options_.sort, known));
    ranked_ = static_cast<uint32_t>(found / 2);
    return {};
  }

  bool has_value_per_call(size_t metric) const {
    return metrics_[metric].id != "executions" &&
           metrics_[metric].attribution != Attribution::EveryLine;
  }
  std::string title_with_callees(size_t metric) const {
    return metrics_[metric].title + "+callees";
  }

  template <typename Visit>
  void for_each_variant(const Visit& visit) {
    for (uint32_t v = 0; v < variants_.size(); ++v) {
      if (totals_.block_count(v) == 0) continue;
      const RanBlocks values(totals_, v, metrics_.size());
      const auto& code = codes_.of(variants_[v].shader);
      if (!code.ok()) {
        visit(v, nullptr, values);
        continue;
      }
      const VariantCalls calls(*code, values, metrics_);
      if (!calls.has_all_paths()) shaders_with_many_paths_.insert(shader_name(v));
      visit(v, &calls, values);
    }
  }

  const std::string& shader_name(uint32_t variant) const {
    return model_.shader_names[variants_[variant].shader];
  }
  std::string stage(uint32_t variant) const {
    return stage_name(model_.shaders[variants_[variant].shader].stage);
  }

  // An entry point may have no name in the source.
  std::string function_name(uint32_t variant, const VariantCalls& calls, uint32_t name) const {
    const ShaderCalls& shader = calls.shader();
    const std::string& text = shader.names()[name];
    const bool is_entry = shader.frames()[shader.entry()].name == name;
    return is_entry && text.starts_with('%') ? model_.shaders[variants_[variant].shader].entry_point
                                             : text;
  }

  void add_key(const char* id, const char* title, const char* description, bool shown = true,
               Unit unit = Unit::None) {
    table_.columns.push_back({.id = id,
                              .title = title,
                              .unit = unit,
                              .role = ColumnRole::Key,
                              .description = description,
                              .shown = shown});
  }

  void add_value(std::string id, std::string title, std::string description, Unit unit,
                 bool shown = true) {
    table_.columns.push_back({.id = std::move(id),
                              .title = std::move(title),
                              .unit = unit,
                              .description = std::move(description),
                              .shown = shown,
                              .adds_up = false});
  }

  void add_value_columns() {
    const std::string title = metrics_.empty() ? std::string() : metrics_[ranked_].title;
    add_value("share_with_callees", "+callees",
              fmt::format("{} of the function and what it calls, as a percentage of all {}", title,
                          title),
              Unit::Percent);
    for (size_t m = 0; m < metrics_.size(); ++m) {
      add_value(metrics_[m].id + kWithCallees, title_with_callees(m),
                metrics_[m].description + ", with the functions that it calls", metrics_[m].unit,
                m == ranked_);
    }
    add_value("calls", "calls", "times that the function was called, or its inlined code entered",
              Unit::Count);
    table_.columns.back().zero = kNeverExecuted;
    for (size_t m = 0; m < metrics_.size(); ++m) {
      if (has_value_per_call(m))
        add_value(metrics_[m].id + "_per_call", metrics_[m].title + "/call",
                  title_with_callees(m) + " divided by calls", Unit::Count, m == ranked_);
    }
    add_metric_columns(table_, metrics_);
    for (Column& column : table_.columns) {
      if (!metrics_.empty() && column.id == metrics_[ranked_].id) column.shown = true;
    }
  }

  void add_values_of(Row& row, const FunctionCosts& costs) const {
    const bool is_known = !costs.inclusive.empty();
    row.push_back(is_known && total_ > 0 && has_share()
                      ? Cell(100 * static_cast<double>(costs.inclusive[ranked_]) / total_)
                      : Cell());
    for (size_t m = 0; m < metrics_.size(); ++m)
      row.push_back(is_known ? Cell(costs.inclusive[m]) : Cell());
    row.push_back(costs.calls);
    for (size_t m = 0; m < metrics_.size(); ++m) {
      if (!has_value_per_call(m)) continue;
      row.push_back(is_known && costs.calls != 0 ? Cell(static_cast<double>(costs.inclusive[m]) /
                                                        static_cast<double>(costs.calls))
                                                 : Cell());
    }
    for (const uint64_t value : costs.self) row.emplace_back(value);
  }

  bool has_share() const { return variants_.selected_runs().uncounted == 0; }

  void add_to_total(const RanBlocks& values) {
    if (metrics_.empty()) return;
    for (const BlockValues& block : values.blocks())
      total_ += static_cast<double>(block.metrics[ranked_]);
  }

  // The columns of other metrics are many, and chosen by name.
  void hide_other_metrics() {
    if (!options_.columns.empty()) return;
    for (Column& column : table_.columns) {
      const auto metric = find_metric(metrics_, column.id);
      if (metric && *metric != ranked_ && column.id != table_.sorted_by) column.shown = false;
    }
  }

  void hide_share() {
    for (Column& column : table_.columns) {
      if (column.id == "share_with_callees") column.shown = !options_.columns.empty();
    }
    const bool is_said = std::ranges::any_of(
        table_.notes, [](const std::string& note) { return note.starts_with("No share"); });
    if (is_said) return;
    table_.notes.push_back(fmt::format("No share: {}.", uncounted_text(variants_.selected_runs())));
  }

  void finish_notes() {
    hide_other_metrics();
    if (!has_share()) hide_share();
    if (!options_.header_above) add_notes(model_, table_);
    for (const std::string& shader : shaders_with_many_paths_) {
      table_.notes.push_back(fmt::format(
          "{} has too many paths of calls: the cost of its functions with callees is not known.",
          shader));
    }
  }

  const Model& model_;
  ShaderCodes& codes_;
  const Variants& variants_;
  const BlockTotals& totals_;
  const TableOptions& options_;
  std::vector<Metric> metrics_;
  uint32_t ranked_ = kNone;  // a metric
  double total_ = 0;         // of it, over all variants
  std::set<std::string> shaders_with_many_paths_;
  Table table_;
};

// Blocks of a shader whose code is not known.
FunctionCosts costs_without_code(const RanBlocks& values, size_t metrics) {
  FunctionCosts costs;
  costs.self.assign(metrics, 0);
  for (const BlockValues& block : values.blocks()) {
    add_saturating(costs.self, block.metrics);
  }
  return costs;
}

class FunctionsByName : FunctionReport {
 public:
  using FunctionReport::FunctionReport;

  Result<Table> run() {
    static_cast<void>(choose_metric());  // any column can rank the rows
    table_.id = "function";
    table_.title = "Functions";
    add_key("function", "function", "name of the function in the source");
    add_key("location", "location", "file and first line with code");
    add_key("shader", "shader", "shader with the function, or the number of such shaders");
    add_key("stage", "stage", "stage of the pipeline, if there is only one", false);
    add_key("pipeline", "pipeline",
            "pipeline that specializes the shader, if there are several specializations");
    table_.columns.push_back(invocations_column("shaders with the function"));
    add_value_columns();
    add_per_invocation_columns(table_, metrics_);
    for_each_variant([this](uint32_t variant, const VariantCalls* calls, const RanBlocks& values) {
      add_to_total(values);
      if (calls != nullptr) return add_variant(variant, *calls);
      Function& row = at({kUnknownCode, shader_name(variant), 0, variant});
      row.variants.insert(variant);
      row.costs = costs_without_code(values, metrics_.size());
    });
    for (const auto& [key, function] : functions_) add_row(key, function);
    note_uncounted_runs(table_, metrics_, variants_.selected_runs());
    TALLY_TRY(finish_table(table_, metrics_, options_));
    finish_notes();
    return std::move(table_);
  }

 private:
  // Name, file, line; with `merge` not the variant (kNone).
  using Key = std::tuple<std::string, std::string, uint32_t, uint32_t>;
  struct Function {
    std::set<uint32_t> variants;
    FunctionCosts costs;
  };

  Function& at(const Key& key) { return functions_[key]; }

  void add_variant(uint32_t variant, const VariantCalls& calls) {
    const ShaderCode& code = calls.shader().code();
    const FunctionTable& places = calls.shader().functions();
    for (uint32_t name = 0; name < calls.functions().size(); ++name) {
      std::string file = shader_name(variant);
      uint32_t line = 0;
      if (name < places.names().size() && places.place(name)) {
        line = places.place(name)->line;
        const auto files = code.map.files();
        const uint32_t of = places.place(name)->file;
        if (of < files.size() && !files[of].name.empty()) file = files[of].name;
      }
      Function& row =
          at({function_name(variant, calls, name), file, line, options_.merge ? kNone : variant});
      const FunctionCosts& costs = calls.functions()[name];
      const bool is_known = row.variants.empty() || !row.costs.inclusive.empty();
      row.variants.insert(variant);
      row.costs.calls = saturating_sum(row.costs.calls, costs.calls);
      add_saturating(row.costs.self, costs.self);
      if (is_known && !costs.inclusive.empty())
        add_saturating(row.costs.inclusive, costs.inclusive);
      else
        row.costs.inclusive.clear();
    }
  }

  void add_row(const Key& key, const Function& function) {
    const auto& [name, file, line, of_variant] = key;
    const uint32_t first = *function.variants.begin();
    const bool is_one = function.variants.size() == 1;
    std::set<std::string> stages;
    for (const uint32_t variant : function.variants) stages.insert(stage(variant));
    const std::string title = file.substr(file.find_last_of("/\\") + 1);
    Row row = {name, line == 0 ? std::string() : fmt::format("{}:{}", title, line),
               is_one ? shader_name(first) : fmt::format("{} shaders", function.variants.size()),
               stages.size() == 1 ? *stages.begin() : std::string(),
               is_one ? variant_text(model_, variants_[first]) : std::string()};
    uint64_t invocations = 0;
    for (const uint32_t variant : function.variants) {
      const uint32_t entry = codes_.entry_block(variants_[variant].shader);
      if (entry != kNone)
        invocations = saturating_sum(invocations, totals_.executions(variant, entry));
    }
    row.emplace_back(invocations);
    add_values_of(row, function.costs);
    append_per_invocation(row, metrics_, function.costs.self, invocations);
    table_.rows.push_back(std::move(row));
  }

  std::map<Key, Function> functions_;
};

class CallTreeReport : FunctionReport {
 public:
  using FunctionReport::FunctionReport;

  Result<Table> run() {
    TALLY_TRY(choose_metric());
    table_.id = "call-tree";
    table_.title = "Calls";
    add_key("tree", "function", "name of the function, indented by the calls above it");
    add_key("shader", "shader", "name of the shader, or the start of its hash", false);
    add_key("stage", "stage", "stage of the pipeline", false);
    add_key("pipeline", "pipeline",
            "pipeline that specializes the shader, if there are several specializations", false);
    add_key("path", "path", "names of the functions from the entry point on, separated by ' > '",
            false);
    add_key("function", "name", "name of the function in the source", false);
    add_key("kind", "kind", "entry, call or inlined", false);
    add_key("depth", "depth", "number of calls below the entry point", false, Unit::Count);
    add_value_columns();
    for_each_variant([this](uint32_t variant, const VariantCalls* calls, const RanBlocks& values) {
      add_to_total(values);
      if (calls == nullptr || calls->nodes().empty()) return add_flat(variant, calls, values);
      add_nodes(variant, *calls);
    });
    add_rows();
    if (!metrics_.empty()) table_.sorted_by = metrics_[ranked_].id + kWithCallees;
    TALLY_TRY(finish_in_order(table_, options_));
    finish_notes();
    return std::move(table_);
  }

 private:
  struct Line {
    uint32_t variant;
    std::string name, path, kind;
    uint32_t depth;
    FunctionCosts costs;
    uint32_t parent;
  };

  void add_nodes(uint32_t variant, const VariantCalls& calls) {
    const auto first = static_cast<uint32_t>(lines_.size());
    for (const VariantCalls::Node& node : calls.nodes()) {
      const bool is_root = node.parent == kNone;
      const std::string name = function_name(variant, calls, node.name);
      Line line{.variant = variant,
                .name = name,
                .path = is_root ? name : lines_[first + node.parent].path + " > " + name,
                .kind = is_root ? "entry" : (node.is_inlined ? "inlined" : "call"),
                .depth = node.depth,
                .costs = node.costs,
                .parent = is_root ? kNone : first + node.parent};
      lines_.push_back(std::move(line));
    }
  }

  // One line for a shader without a tree.
  void add_flat(uint32_t variant, const VariantCalls* calls, const RanBlocks& values) {
    FunctionCosts costs = costs_without_code(values, metrics_.size());
    costs.inclusive = costs.self;
    std::string name = kUnknownCode;
    if (calls != nullptr) {
      const uint32_t entry = calls->shader().frames()[calls->shader().entry()].name;
      costs.self = calls->functions()[entry].self;
      costs.calls = calls->functions()[entry].calls;
      name = function_name(variant, *calls, entry);
    }
    lines_.push_back({variant, name, name, "entry", 0, std::move(costs), kNone});
  }

  uint64_t inclusive(uint32_t line) const {
    return metrics_.empty() ? 0 : lines_[line].costs.inclusive[ranked_];
  }

  // Parents cost at least as much as their children, so the rows that are kept are a tree.
  void add_rows() {
    std::vector<std::vector<uint32_t>> children(lines_.size());
    std::vector<uint32_t> roots, order;
    for (uint32_t l = 0; l < lines_.size(); ++l) {
      if (options_.depth && lines_[l].depth > *options_.depth) continue;
      order.push_back(l);
      (lines_[l].parent == kNone ? roots : children[lines_[l].parent]).push_back(l);
    }
    const auto by_cost = [this](uint32_t a, uint32_t b) { return inclusive(a) > inclusive(b); };
    table_.total_rows = order.size();
    std::ranges::stable_sort(order, by_cost);
    if (options_.top != 0 && order.size() > options_.top) order.resize(options_.top);
    const std::set<uint32_t> kept(order.begin(), order.end());
    std::vector<uint32_t> open;
    const auto push = [&](std::vector<uint32_t>& siblings) {
      std::ranges::stable_sort(siblings, by_cost);
      for (size_t i = siblings.size(); i-- > 0;)
        if (kept.contains(siblings[i])) open.push_back(siblings[i]);
    };
    push(roots);
    while (!open.empty()) {
      const uint32_t line = open.back();
      open.pop_back();
      add_row(lines_[line]);
      push(children[line]);
    }
  }

  void add_row(const Line& line) {
    const std::string pipeline = variant_text(model_, variants_[line.variant]);
    std::string text = std::string(size_t{2} * line.depth, ' ') + line.name;
    if (line.depth == 0)
      text += fmt::format(" ({} {}{})", shader_name(line.variant), stage(line.variant),
                          pipeline.empty() ? "" : " in " + pipeline);
    if (line.kind == "inlined") text += " (inlined)";
    Row row = {std::move(text),     shader_name(line.variant),
               stage(line.variant), pipeline,
               line.path,           line.name,
               line.kind,           uint64_t{line.depth}};
    add_values_of(row, line.costs);
    table_.rows.push_back(std::move(row));
  }

  std::vector<Line> lines_;
};

}  // namespace

Result<Table> make_function_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                  const BlockTotals& totals, const TableOptions& options) {
  return FunctionsByName(model, codes, variants, totals, options).run();
}

Result<Table> make_call_tree_table(const Model& model, ShaderCodes& codes, const Variants& variants,
                                   const BlockTotals& totals, const TableOptions& options) {
  return CallTreeReport(model, codes, variants, totals, options).run();
}

}  // namespace tally::analysis
