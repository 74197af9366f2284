#include "report/export/flat_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/display_text.h"
#include "store/utf8.h"

namespace tally::report {
namespace {

// Its last path component; frames show it before the line.
std::string base_name(const std::string& file) { return file.substr(file.find_last_of("/\\") + 1); }

std::string collapsed_name(const std::string& name) {
  std::string text = printable(name);
  std::ranges::replace(text, ';', ':');
  return text;
}

std::string quoted(const std::string& text) {
  return nlohmann::json(store::clean_utf8(text)).dump();
}

// The stacks with a last frame for the source line, if it is known.
void visit_with_lines(const CallTree& tree, StackNames& names, uint32_t metric,
                      const std::function<void(std::span<const StackFrame>, uint64_t)>& visit) {
  std::vector<StackFrame> with_line;
  visit_stacks(tree, names, [&](std::span<const StackFrame> stack, const auto& values) {
    if (values[metric] == 0) return;
    with_line.assign(stack.begin(), stack.end());
    const StackFrame innermost = stack.back();
    if (innermost.line != 0) {
      const std::string file = names.file(innermost.function);
      with_line.push_back(
          {names.add(fmt::format("{}:{}", base_name(file), innermost.line), file), innermost.line});
    }
    visit(with_line, values[metric]);
  });
}

}  // namespace

void write_collapsed(const CallTree& tree, uint32_t metric, const Output& out) {
  StackNames names;
  std::string line;
  visit_with_lines(tree, names, metric, [&](std::span<const StackFrame> stack, uint64_t value) {
    line.clear();
    for (const StackFrame& frame : stack)
      line += (line.empty() ? "" : ";") + collapsed_name(names.name(frame.function));
    out(fmt::format("{} {}\n", line, value));
  });
}

// The frames come last, as they are known only after all stacks.
void write_speedscope(const CallTree& tree, uint32_t metric, const std::string& name,
                      const std::string& exporter, const Output& out) {
  StackNames names;
  std::vector<uint64_t> weights;
  std::vector<uint32_t> line_of;  // by name
  const analysis::Metric& of = tree.metrics()[metric];
  out(fmt::format(
      R"({{"$schema":"https://www.speedscope.app/file-format-schema.json","name":{},"exporter":{},)"
      R"("profiles":[{{"type":"sampled","name":{},"unit":"{}","samples":[)",
      quoted(name), quoted(exporter), quoted(of.title),
      of.unit == analysis::Unit::Bytes ? "bytes" : "none"));
  uint64_t total = 0;
  visit_with_lines(tree, names, metric, [&](std::span<const StackFrame> stack, uint64_t value) {
    std::string sample = weights.empty() ? "\n[" : ",\n[";
    for (const StackFrame& frame : stack)
      sample += fmt::format("{}{}", &frame == stack.data() ? "" : ",", frame.function);
    out(sample + "]");
    line_of.resize(names.size());
    line_of[stack.back().function] = stack.back().line;
    weights.push_back(value);
    total += value;
  });
  out("],\n\"weights\":[");
  for (size_t i = 0; i < weights.size(); ++i)
    out(fmt::format("{}{}", i == 0 ? "" : ",", weights[i]));
  out(fmt::format("],\n\"startValue\":0,\"endValue\":{}}}],\n\"shared\":{{\"frames\":[", total));
  for (size_t i = 0; i < names.size(); ++i) {
    out(fmt::format("{}{{\"name\":{}", i == 0 ? "\n" : ",\n", quoted(names.name(i))));
    if (!names.file(i).empty()) out(",\"file\":" + quoted(names.file(i)));
    if (line_of[i] != 0) out(fmt::format(",\"line\":{}", line_of[i]));
    out("}");
  }
  out("]}}\n");
}

}  // namespace tally::report
