#include "report/export/exports.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/table/display_text.h"

namespace tally::report {
namespace {

// Its last path component; frames show it before the line.
std::string_view base_name(std::string_view file) {
  return file.substr(file.find_last_of("/\\") + 1);
}

void append_collapsed(std::string& line, std::string_view name) {
  const size_t begin = line.size();
  line += printable(name);
  std::replace(line.begin() + static_cast<std::ptrdiff_t>(begin), line.end(), ';', ':');
}

std::string quoted_json(std::string_view text) { return nlohmann::json(clean_utf8(text)).dump(); }

void append_number(std::string& text, uint64_t number) {
  const fmt::format_int digits(number);
  text.append(digits.data(), digits.size());
}

// The stacks with a last frame for the source line, if it is known.
void visit_with_lines(const CallTree& tree, StackNames& names, uint32_t metric,
                      const std::function<void(std::span<const StackFrame>, uint64_t)>& visit) {
  std::vector<StackFrame> with_line;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> frame_of;  // by function and line
  visit_stacks(tree, names, [&](std::span<const StackFrame> stack, const auto& values) {
    if (values[metric] == 0) return;
    with_line.assign(stack.begin(), stack.end());
    const auto [function, line] = stack.back();
    if (line != 0) {
      const auto [known, is_new] = frame_of.try_emplace({function, line});
      if (is_new) {
        const std::string file(names.file_text(function));
        known->second = names.add(fmt::format("{}:{}", base_name(file), line), file);
      }
      with_line.push_back({known->second, line});
    }
    visit(with_line, values[metric]);
  });
}

}  // namespace

// The part that a stack shares with the previous one is kept.
void write_collapsed(const CallTree& tree, uint32_t metric, const Output& out) {
  StackNames names(tree);
  std::string line;
  std::vector<uint32_t> functions;  // of the line
  std::vector<size_t> ends;         // of each of them in the line
  visit_with_lines(tree, names, metric, [&](std::span<const StackFrame> stack, uint64_t value) {
    size_t common = 0;
    while (common < functions.size() && common < stack.size() &&
           functions[common] == stack[common].function)
      ++common;
    functions.resize(common);
    ends.resize(common);
    line.resize(common == 0 ? 0 : ends.back());
    for (const StackFrame& frame : stack.subspan(common)) {
      if (!line.empty()) line += ';';
      append_collapsed(line, names.name_text(frame.function));
      functions.push_back(frame.function);
      ends.push_back(line.size());
    }
    const size_t end = line.size();
    line += ' ';
    append_number(line, value);
    line += '\n';
    out(line);
    line.resize(end);
  });
}

// The frames come last, as they are known only after all stacks.
void write_speedscope(const CallTree& tree, uint32_t metric, const std::string& name,
                      const std::string& exporter, const Output& out) {
  StackNames names(tree);
  std::vector<uint64_t> weights;
  std::vector<uint32_t> line_of;  // by name
  const analysis::Metric& of = tree.metrics()[metric];
  out(fmt::format(
      R"({{"$schema":"https://www.speedscope.app/file-format-schema.json","name":{},"exporter":{},)"
      R"("profiles":[{{"type":"sampled","name":{},"unit":"{}","samples":[)",
      quoted_json(name), quoted_json(exporter), quoted_json(of.title),
      of.unit == analysis::Unit::Bytes ? "bytes" : "none"));
  uint64_t total = 0;
  std::string sample;
  visit_with_lines(tree, names, metric, [&](std::span<const StackFrame> stack, uint64_t value) {
    sample = weights.empty() ? "\n[" : ",\n[";
    for (const StackFrame& frame : stack) {
      if (&frame != stack.data()) sample += ',';
      append_number(sample, frame.function);
    }
    sample += ']';
    out(sample);
    line_of.resize(names.size());
    line_of[stack.back().function] = stack.back().line;
    weights.push_back(value);
    total += value;
  });
  out("],\n\"weights\":[");
  for (size_t i = 0; i < weights.size(); ++i) {
    if (i != 0) out(",");
    out(fmt::format_int(weights[i]).str());
  }
  out(fmt::format("],\n\"startValue\":0,\"endValue\":{}}}],\n\"shared\":{{\"frames\":[", total));
  line_of.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    out(i == 0 ? "\n{\"name\":" : ",\n{\"name\":");
    out(quoted_json(names.name_text(i)));
    if (!names.file_text(i).empty()) out(",\"file\":" + quoted_json(names.file_text(i)));
    if (line_of[i] != 0) out(fmt::format(",\"line\":{}", line_of[i]));
    out("}");
  }
  out("]}}\n");
}

}  // namespace tally::report
