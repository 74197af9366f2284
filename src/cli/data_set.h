// A data set of many captures: a folder with a folder for each capture,
//
//   commit=C/device=D/scene=S/capture=KEY/{capture,pass,shader,line}.{jsonl,parquet}
//
// which appears when it is complete; before, it is a folder .partial-* of the data set, which the
// next process removes where its owner is gone. Any number of processes may add captures at a time.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/parquet.h"
#include "report/export/data_set.h"

namespace tally::cli {

class DataSet {
 public:
  // Makes the folder a data set if it is new or empty. Refuses a folder with anything else, and a
  // data set of another format.
  static Result<DataSet> open(const std::string& folder);

  // Returns the capture's folder. Nothing changes if it is there already.
  Result<std::filesystem::path> add(const report::DataSetPlace& place,
                                    const report::DataSetCapture& capture);
  // Why there are no Parquet files; empty: there are.
  const std::string& why_no_parquet() const { return why_no_parquet_; }

 private:
  explicit DataSet(std::filesystem::path folder);
  Status write_files(const std::filesystem::path& folder, const report::DataSetCapture& capture);

  std::filesystem::path folder_;
  std::optional<ParquetWriter> parquet_;
  std::string why_no_parquet_;
};

// Why the text cannot be the commit or scene of a data set; empty: it can be.
std::string why_no_partition(const std::string& value);
// The text, cut to what can be one.
std::string partition_value(const std::string& text);

}  // namespace tally::cli
