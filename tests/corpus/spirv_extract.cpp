// spirv_extract FOLDER FILE...: writes every SPIR-V module that the files (programs, libraries,
// captures) contain to the folder, once each, named by its hash.
#include <cstdio>
#include <filesystem>

#include "base/hash.h"
#include "corpus/module_files.h"

using namespace tally;

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: spirv_extract FOLDER FILE...\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  for (int i = 2; i < argc; ++i) {
    const auto words = test::read_words(argv[i]);
    if (!words) {
      std::fprintf(stderr, "%s\n", words.error().message.c_str());
      continue;
    }
    for (const test::WordRange& range : test::find_modules(*words)) {
      const auto module = std::span(*words).subspan(range.begin, range.end - range.begin);
      const std::string name = std::filesystem::path(argv[i]).stem().string();
      const auto path = folder / (name + "." + to_string(hash_words(module)) + ".spv");
      const Status status = test::write_words(path.string(), module);
      if (!status) {
        std::fprintf(stderr, "%s\n", status.error().message.c_str());
        return 1;
      }
    }
  }
  return 0;
}
