// Writes Parquet files with DuckDB, where its library is installed: it is opened at run time.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace tally::cli {

class ParquetWriter {
 public:
  // Opens libduckdb.so, which the dynamic linker finds.
  static Result<ParquetWriter> open();
  ParquetWriter(ParquetWriter&&) noexcept;
  ParquetWriter& operator=(ParquetWriter&&) noexcept;
  ~ParquetWriter();

  // Copies a file of JSON lines. `columns`: a DuckDB struct, {name: 'TYPE', ...}.
  Status write(const std::string& json_lines, const std::string& columns, const std::string& path);

 private:
  struct Library;
  explicit ParquetWriter(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace tally::cli
