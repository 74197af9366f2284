// A capture that a test writes, and its tables.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/model/model.h"
#include "analysis/tables/analyzer.h"
#include "analysis/testing/test_scene.h"
#include "store/read/reader.h"

namespace tally::analysis {

class Tables : public testing::Test {
 protected:
  Analyzer open(const Selection& selection = {}) const {
    auto reader = store::Reader::open(file_);
    EXPECT_TRUE(reader.ok());
    auto model = load_model(std::move(*reader), selection);
    EXPECT_TRUE(model.ok());
    return Analyzer(std::move(*model), nullptr);
  }

  static Table require(Result<Table> table) {
    EXPECT_TRUE(table.ok()) << table.error().message;
    return std::move(*table);
  }

  static Cell cell(const Table& table, size_t row, const char* column) {
    const auto index = table.column_index(column);
    EXPECT_TRUE(index.has_value()) << column;
    return index ? table.rows.cell(row, *index) : Cell();
  }

  static std::vector<std::string> texts(const Table& table, const char* column) {
    std::vector<std::string> result;
    for (size_t r = 0; r < table.rows.size(); ++r)
      result.push_back(std::get<std::string>(cell(table, r, column)));
    return result;
  }

  static std::vector<uint64_t> numbers(const Table& table, const char* column) {
    std::vector<uint64_t> result;
    for (size_t r = 0; r < table.rows.size(); ++r)
      result.push_back(std::get<uint64_t>(cell(table, r, column)));
    return result;
  }

  store::TestDirectory directory_;
  const std::string file_ = directory_.file("scene.tally");
};

}  // namespace tally::analysis
