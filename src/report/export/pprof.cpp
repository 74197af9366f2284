#include "report/export/exports.h"

#include <algorithm>
#include <limits>
#include <protozero/basic_pbf_writer.hpp>
#include <protozero/buffer_fixed.hpp>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>

#include "base/containers.h"
#include "base/hash.h"
#include "base/text.h"
#include "report/table/display_text.h"
#include "report/table/output.h"

namespace tally::report {
namespace {

using protozero::pbf_writer;
using SampleWriter = protozero::basic_pbf_writer<protozero::fixed_size_buffer_adaptor>;

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

constexpr size_t kNumbersOfHeads = 6;  // a sample and its two lists: field and length

class Pprof {
 public:
  Pprof(const CallTree& tree, const Output& out) : tree_(tree), gzip_(out), names_(tree) {
    choose_metrics();
  }

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
    const std::vector<bool> is_used = tree_.commands().used_metrics();
    for (uint32_t m = 0; m < is_used.size(); ++m) {
      if (is_used[m] || m == first) metrics_.push_back(m);
    }
  }

  // Writes one field of the profile.
  template <typename Fill>
  void message(uint32_t field, const Fill& fill) {
    data_.clear();
    pbf_writer writer(data_);
    {
      pbf_writer inner(writer, field);
      fill(inner);
    }
    gzip_.write(data_);
  }

  void number(uint32_t field, int64_t value) {
    data_.clear();
    pbf_writer(data_).add_int64(field, value);
    gzip_.write(data_);
  }

  // The first text of the table has to be the empty one.
  int64_t string_index(std::string_view text) { return names_.texts().add(text); }

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
    shown_locations_.clear();
    for (size_t i = stack.size(); i-- > 0;) shown_locations_.push_back(location_of(stack[i]));
    shown_values_.clear();
    for (const uint32_t m : metrics_) {
      constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
      shown_values_.push_back(std::min(values[m], kMax));
    }
    // Samples are nearly all of the profile: their buffer does not grow.
    const size_t numbers = shown_locations_.size() + shown_values_.size() + kNumbersOfHeads;
    if (sample_.size() < numbers * protozero::max_varint_length)
      sample_.resize(numbers * protozero::max_varint_length);
    protozero::fixed_size_buffer_adaptor buffer(sample_);
    {
      SampleWriter writer(buffer);
      SampleWriter inner(writer, profile::kSample);
      inner.add_packed_uint64(sample::kLocationId, shown_locations_.begin(),
                              shown_locations_.end());
      inner.add_packed_uint64(sample::kValue, shown_values_.begin(), shown_values_.end());
    }
    gzip_.write({buffer.data(), buffer.size()});
  }

  // From 1 on.
  uint64_t location_of(const StackFrame& frame) {
    const auto next = static_cast<uint32_t>(locations_.size());
    const uint32_t number = location_numbers_.find_or_add(
        hash_combine(frame.function, frame.line), next,
        [&](uint32_t other) {
          return locations_[other].function == frame.function &&
                 locations_[other].line == frame.line;
        },
        [&](uint32_t other) {
          return hash_combine(locations_[other].function, locations_[other].line);
        });
    if (number == next) locations_.push_back(frame);
    return uint64_t{number} + 1;
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
      const int64_t name = names_.name(i);
      message(profile::kFunction, [&](pbf_writer& f) {
        f.add_uint64(function::kId, i + 1);
        f.add_int64(function::kName, name);
        f.add_int64(function::kSystemName, name);
        f.add_int64(function::kFilename, names_.file(i));
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
    for (uint32_t i = 0; i < names_.texts().size(); ++i) {
      data_.clear();
      pbf_writer(data_).add_string(profile::kStringTable, clean_utf8(names_.texts()[i]));
      gzip_.write(data_);
    }
  }

  const CallTree& tree_;
  Gzip gzip_;
  std::vector<uint32_t> metrics_;
  StackNames names_;
  std::vector<StackFrame> locations_;
  NumberTable location_numbers_;
  std::string data_;  // a message
  std::vector<char> sample_;
  std::vector<uint64_t> shown_locations_;
  std::vector<uint64_t> shown_values_;  // not above INT64_MAX: encoded alike
};

}  // namespace

Status write_pprof(const CallTree& tree, const Output& out) { return Pprof(tree, out).write(); }

}  // namespace tally::report
