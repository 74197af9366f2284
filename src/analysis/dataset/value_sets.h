// The executions of commands, as tables. Commands with equal counts share one set of values.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/dataset/capture_code.h"
#include "analysis/model/counts.h"

namespace tally::analysis {

struct DataCapture;

class ValueSets {
 public:
  // `counted`: the metrics whose values do not follow from executions.
  ValueSets(const CaptureCode::Input& input, CaptureCode& code, std::vector<uint32_t> counted);

  // Counts the commands of the model. `group_of`: by command, its group, from 0 to `groups`; the
  // commands of a group are added up. False: more rows than `max_rows` would be needed.
  Result<bool> count(const std::vector<uint32_t>& group_of, size_t groups, size_t max_rows,
                     const Progress& progress);

  // The row of each group's set; kNone if none of its commands was counted.
  const std::vector<uint32_t>& set_of() const { return set_of_; }
  // Indexed by row of a shader: whether a command has counts of it.
  const std::vector<bool>& measured() const { return measured_; }

  // Adds the tables.
  void finish(DataCapture& capture) &&;

 private:
  // The counts of some commands: by block, executions and the value of each counted metric;
  // by branch, how often it was taken. Both ascending, without zeros.
  struct Counts {
    std::vector<uint64_t> blocks;    // stride_ numbers each: the row of the block, then its counts
    std::vector<uint64_t> branches;  // two numbers each: the row of the branch, then its count
  };
  // A block of a batch.
  struct Source {
    uint32_t block;  // row
    uint32_t shader;
    const BatchBlock* of;
  };

  std::vector<Source> sources_of(const Batch& batch, std::span<const BatchBlock> blocks);
  void add_block(const Source& source, size_t command, Counts& counts);
  void add_branches(const Source& source, size_t command, Counts& counts) const;
  void add_sole_entries(Counts& counts) const;
  uint64_t value_of(const Source& source, size_t command, uint64_t executions,
                    uint32_t metric) const;
  Counts counts_of(const std::vector<Source>& sources, size_t command);
  uint32_t intern(const Counts& counts);
  bool equals(uint32_t set, const Counts& counts) const;

  const CaptureCode::Input& in_;
  CaptureCode& code_;
  const std::vector<uint32_t> counted_;
  const size_t stride_;
  uint32_t executions_ = kNone;  // metrics
  std::vector<uint32_t> set_of_;
  std::vector<bool> measured_;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
  std::vector<uint64_t> first_, first_branch_;  // by set, and the ends
  DataColumn blocks_{DataColumn::Kind::Index}, executions_column_{DataColumn::Kind::Number};
  std::vector<DataColumn> values_;  // by counted metric
  DataColumn branches_{DataColumn::Kind::Index}, taken_{DataColumn::Kind::Number};
};

}  // namespace tally::analysis
