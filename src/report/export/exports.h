// A capture in the formats of other tools.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cost/call_costs.h"
#include "analysis/cost/command_costs.h"
#include "analysis/model/model.h"
#include "base/containers.h"
#include "base/status.h"
#include "report/table/output.h"

namespace tally::report {

// A capture as a tree of calls: pass or pipeline -> draw -> entry point -> functions -> lines. The
// common input of the exports to profile viewers.

// Distinct texts by number, one after another in memory: an export may have a million names.

class NameTable {
 public:
  // The number of an equal text, or of this one, which is new.
  uint32_t add(std::string_view text) {
    const auto next = static_cast<uint32_t>(ends_.size());
    const uint32_t number = numbers_.find_or_add(
        hash(text), next, [&](uint32_t other) { return (*this)[other] == text; },
        [&](uint32_t other) { return hash((*this)[other]); });
    if (number == next) {
      texts_ += text;
      ends_.push_back(texts_.size());
    }
    return number;
  }
  // Makes room for `count` texts in a table that is empty.
  void reserve(size_t count) {
    ends_.reserve(count);
    numbers_.reserve(count);
  }
  size_t size() const { return ends_.size(); }
  // Valid until the next add().
  std::string_view operator[](uint32_t number) const {
    const size_t begin = number == 0 ? 0 : ends_[number - 1];
    return std::string_view(texts_).substr(begin, ends_[number] - begin);
  }

 private:
  static uint64_t hash(std::string_view text) { return std::hash<std::string_view>{}(text); }

  std::string texts_;
  std::vector<size_t> ends_;  // by number: where its text ends
  NumberTable numbers_;
};

class CallTree {
 public:
  // `model` must outlive the tree.
  static Result<CallTree> make(const analysis::Model& model, const analysis::Progress& progress);

  const analysis::Model& model() const { return *model_; }
  const std::vector<analysis::Metric>& metrics() const { return metrics_; }
  const analysis::CommandCosts& commands() const { return *commands_; }
  // The code of a variant's shader; null if it is not known.
  const analysis::ShaderCode* code(uint32_t variant) const;
  // Its functions and calls; only with code.
  const analysis::ShaderCalls& calls(uint32_t variant) const;
  // "lit.frag fragment", with the pipeline if it specializes the shader.
  std::string shader_text(uint32_t variant) const;
  // The names for a viewer. A function of the module is the frame of the same number.
  std::string frame_text(uint32_t variant, uint32_t frame) const;
  std::string file_text(uint32_t variant, uint32_t file) const;
  // The file of a frame's first line; the shader's name if it has no line.
  std::string frame_file(uint32_t variant, uint32_t frame) const;

 private:
  CallTree() = default;

  const analysis::Model* model_ = nullptr;
  std::vector<analysis::Metric> metrics_;
  std::vector<std::string> shader_names_;
  std::unique_ptr<analysis::ShaderCodes> codes_;
  std::unique_ptr<analysis::Variants> variants_;
  std::unique_ptr<analysis::CommandCosts> commands_;
  mutable std::map<uint32_t, analysis::ShaderCalls> calls_;  // by variant, made on first use
};

// A frame of a stack: an index into StackNames, and the line in its file (0: not known).
struct StackFrame {
  uint32_t function;
  uint32_t line;
};

// The distinct functions of all stacks: passes, draws, shaders and their functions.
class StackNames {
 public:
  // Has room for the names of the tree's draws.
  explicit StackNames(const CallTree& tree);

  uint32_t add(std::string_view name, std::string_view file);
  size_t size() const { return functions_.size(); }
  // Indices into texts().
  uint32_t name(size_t index) const { return functions_[index].name; }
  uint32_t file(size_t index) const { return functions_[index].file; }  // its text may be empty

  NameTable& texts() { return texts_; }
  std::string_view name_text(size_t index) const { return texts_[name(index)]; }
  std::string_view file_text(size_t index) const { return texts_[file(index)]; }

 private:
  struct Function {
    uint32_t name, file;
  };

  NameTable texts_;
  std::vector<Function> functions_;
  NumberTable numbers_;
};

// Visits the costs of the tree's leaves: the outermost frame first, and the values by metric, of
// which at least one is not 0. Names are added to `names` as they occur.
using VisitStack =
    std::function<void(std::span<const StackFrame> stack, const std::vector<uint64_t>& values)>;
void visit_stacks(const CallTree& tree, StackNames& names, const VisitStack& visit);

// The writers of the formats.

// A profile in the format of callgrind, which KCachegrind and callgrind_annotate read. Every metric
// that is not 0 everywhere is an event, the default metric first.
void write_callgrind(const CallTree& tree, const std::string& creator, const Output& out);

// Stacks of one metric for flame graph tools. One line for each stack: its frames, separated by
// semicolons, and the value. In names, semicolons become colons.
void write_collapsed(const CallTree& tree, uint32_t metric, const Output& out);

// The same for speedscope: a file of type "sampled"
// (https://www.speedscope.app/file-format-schema.json). `name` is its title.
void write_speedscope(const CallTree& tree, uint32_t metric, const std::string& name,
                      const std::string& exporter, const Output& out);

// A profile for pprof: a gzipped protocol buffer
// (https://github.com/google/pprof/blob/main/proto/profile.proto). Every metric that is not 0
// everywhere is a sample type. Values above INT64_MAX, the format's limit, become INT64_MAX.
Status write_pprof(const CallTree& tree, const Output& out);

// A trace for Perfetto: render stages at their GPU times, frames, and counters by pass. Protocol
// buffers (https://perfetto.dev/docs/reference/trace-packet-proto). An error if nothing in the
// capture has a GPU time with a begin.
Status write_perfetto(const analysis::Model& model, const analysis::Progress& progress,
                      const Output& out);

}  // namespace tally::report
