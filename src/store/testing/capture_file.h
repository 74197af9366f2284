// A capture file of a test's own, and what a reader finds in it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "store/read/reader.h"
#include "store/testing/test_capture.h"

namespace tally::store {

template <typename Row>
std::vector<Row> collect(const Reader& reader,
                         Status (Reader::*each)(const std::function<bool(const Row&)>&) const) {
  std::vector<Row> rows;
  const Status status = (reader.*each)([&](const Row& row) {
    rows.push_back(row);
    return true;
  });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return rows;
}

class CaptureFile : public ::testing::Test {
 protected:
  TestDirectory directory_;
  std::string path_ = directory_.file("capture.tally");
};

}  // namespace tally::store
