// A folder for a test, which is removed after it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tally::cli {

class Folder : public testing::Test {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tally-cli-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() override { std::filesystem::remove_all(path_); }

 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

  std::filesystem::path path_;
};

}  // namespace tally::cli
