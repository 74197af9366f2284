#include "report/export/pprof.h"

#include <algorithm>
#include <limits>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>

#include "analysis/model/counts.h"
#include "report/gzip.h"
#include "report/values.h"
#include "store/utf8.h"

namespace tally::report {
namespace {

using protozero::pbf_writer;

// Field numbers of profile.proto.
namespace profile {
constexpr uint32_t kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5,
                   kStringTable = 6, kTimeNanos = 9, kComment = 13, kDefaultSampleType = 14;
}
namespace value_type {
constexpr uint32_t kType = 1, kUnit = 2;
}
namespace sample {
constexpr uint32_t kLocationId = 1, kValue = 2;
}
namespace mapping {
constexpr uint32_t kId = 1, kFilename = 5, kHasFunctions = 7, kHasFilenames = 8, kHasLines = 9,
                   kHasInlineFrames = 10;
}
namespace location {
constexpr uint32_t kId = 1, kMappingId = 2, kLine = 4;
}
namespace line {
constexpr uint32_t kFunctionId = 1, kLine = 2;
}
namespace function {
constexpr uint32_t kId = 1, kName = 2, kSystemName = 3, kFilename = 4;
}

constexpr const char* kComment =
    "Costs of a function with several callers are apportioned by the number of calls, in integers "
    "that sum to the function's costs exactly.";

class Pprof {
 public:
  Pprof(const CallTree& tree, const Output& out) : tree_(tree), gzip_(out) { choose_metrics(); }

  Status write() {
    string_index("");
    write_types();
    visit_stacks(tree_, names_,
                 [this](auto stack, const auto& values) { write_sample(stack, values); });
    write_mapping();
    write_locations();
    write_functions();
    write_end();
    return gzip_.finish();
  }

 private:
  void choose_metrics() {
    const uint32_t first = analysis::default_metric(tree_.metrics());
    std::vector<bool> is_used(tree_.metrics().size());
    for (const auto& blocks : tree_.commands().variant_values()) {
      for (const analysis::BlockValues& block : blocks) {
        for (size_t m = 0; m < is_used.size(); ++m)
          is_used[m] = is_used[m] || block.metrics[m] != 0;
      }
    }
    for (uint32_t m = 0; m < is_used.size(); ++m) {
      if (is_used[m] || m == first) metrics_.push_back(m);
    }
  }

  // Writes one field of the profile.
  template <typename Fill>
  void message(uint32_t field, const Fill& fill) {
    std::string data;
    pbf_writer writer(data);
    {
      pbf_writer inner(writer, field);
      fill(inner);
    }
    gzip_.write(data);
  }

  void number(uint32_t field, int64_t value) {
    std::string data;
    pbf_writer(data).add_int64(field, value);
    gzip_.write(data);
  }

  int64_t string_index(const std::string& text) {
    const auto [found, is_new] =
        string_index_.try_emplace(text, static_cast<int64_t>(strings_.size()));
    if (is_new) strings_.push_back(text);
    return found->second;
  }

  void write_types() {
    for (const uint32_t m : metrics_) {
      message(profile::kSampleType, [&](pbf_writer& type) {
        type.add_int64(value_type::kType, string_index(tree_.metrics()[m].id));
        type.add_int64(value_type::kUnit, string_index(unit_name(tree_.metrics()[m].unit)));
      });
    }
  }

  // pprof wants the innermost frame first.
  void write_sample(std::span<const StackFrame> stack, const std::vector<uint64_t>& values) {
    std::vector<uint64_t> locations;
    for (size_t i = stack.size(); i-- > 0;) locations.push_back(location_of(stack[i]));
    std::vector<int64_t> shown;
    for (const uint32_t m : metrics_) {
      constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
      shown.push_back(static_cast<int64_t>(std::min(values[m], kMax)));
    }
    message(profile::kSample, [&](pbf_writer& s) {
      s.add_packed_uint64(sample::kLocationId, locations.begin(), locations.end());
      s.add_packed_int64(sample::kValue, shown.begin(), shown.end());
    });
  }

  uint64_t location_of(const StackFrame& frame) {
    const auto [found, is_new] = location_ids_.try_emplace(
        uint64_t{frame.function} << 32 | frame.line, locations_.size() + 1);
    if (is_new) locations_.push_back(frame);
    return found->second;
  }

  void write_mapping() {
    message(profile::kMapping, [&](pbf_writer& m) {
      m.add_uint64(mapping::kId, 1);
      m.add_int64(mapping::kFilename, string_index(tree_.model().reader.path()));
      for (const uint32_t has : {mapping::kHasFunctions, mapping::kHasFilenames, mapping::kHasLines,
                                 mapping::kHasInlineFrames})
        m.add_bool(has, true);
    });
  }

  void write_locations() {
    for (size_t i = 0; i < locations_.size(); ++i) {
      message(profile::kLocation, [&](pbf_writer& l) {
        l.add_uint64(location::kId, i + 1);
        l.add_uint64(location::kMappingId, 1);
        pbf_writer of_line(l, location::kLine);
        of_line.add_uint64(line::kFunctionId, uint64_t{locations_[i].function} + 1);
        of_line.add_int64(line::kLine, locations_[i].line);
      });
    }
  }

  void write_functions() {
    for (size_t i = 0; i < names_.size(); ++i) {
      const int64_t name = string_index(names_.name(i));
      message(profile::kFunction, [&](pbf_writer& f) {
        f.add_uint64(function::kId, i + 1);
        f.add_int64(function::kName, name);
        f.add_int64(function::kSystemName, name);
        f.add_int64(function::kFilename, string_index(names_.file(i)));
      });
    }
  }

  void write_end() {
    number(profile::kTimeNanos, tree_.model().capture.start_unix_ns);
    number(profile::kComment, string_index(kComment));
    if (!metrics_.empty()) {
      const uint32_t shown = analysis::default_metric(tree_.metrics());
      number(profile::kDefaultSampleType, string_index(tree_.metrics()[shown].id));
    }
    for (const std::string& text : strings_) {
      std::string data;
      pbf_writer(data).add_string(profile::kStringTable, store::clean_utf8(text));
      gzip_.write(data);
    }
  }

  const CallTree& tree_;
  Gzip gzip_;
  std::vector<uint32_t> metrics_;
  StackNames names_;
  std::vector<StackFrame> locations_;
  std::unordered_map<uint64_t, uint64_t> location_ids_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, int64_t> string_index_;
};

}  // namespace

Status write_pprof(const CallTree& tree, const Output& out) { return Pprof(tree, out).write(); }

}  // namespace tally::report
