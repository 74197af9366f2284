// The reports of any capture: whatever the file holds, every table, listing and heatmap of it ends
// with rows or an error, as text and as JSON that parses.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "analysis/analyzer.h"
#include "analysis/nothing.h"
#include "analysis/region_map.h"
#include "expect.h"
#include "report/header.h"
#include "report/heatmap.h"
#include "report/json.h"
#include "report/text_table.h"

using namespace tally;
using analysis::Analyzer;
using analysis::By;
using analysis::Table;

namespace {

constexpr size_t kMostParsed = 1 << 20;
constexpr uint64_t kMostPixels = 1 << 20;

// No control character but the ends of lines.
void expect_printable(std::string_view text) {
  for (const char c : text) TALLY_FUZZ_EXPECT(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
}

void show(const Analyzer& analyzer, const std::vector<Table>& tables) {
  std::string json;
  report::write_json(analysis::summarize(analyzer.model()), tables, [&](std::string_view piece) {
    if (json.size() <= kMostParsed) json += piece;
  });
  TALLY_FUZZ_EXPECT(json.size() > kMostParsed || nlohmann::json::accept(json));
  for (const Table& table : tables) report::write_text_table(table, {}, expect_printable);
}

void show(const Analyzer& analyzer, const Result<std::vector<Table>>& tables) {
  if (tables) show(analyzer, *tables);
}

void show_everything(Analyzer& analyzer) {
  expect_printable(report::capture_header(analysis::summarize(analyzer.model()), 100));
  show(analyzer, analyzer.overview({}));
  for (size_t by = 0; by < std::size(analysis::kByNames); ++by) {
    for (const bool other : {false, true}) {
      show(analyzer, analyzer.tables(static_cast<By>(by), {.merge = other, .each = other}));
    }
    (void)analysis::why_no_rows(analyzer.model(), static_cast<By>(by), {});
  }
  show(analyzer, analyzer.listings(analysis::ListingKind::Source, {}));
  show(analyzer, analyzer.listings(analysis::ListingKind::Disassembly, {}));
  const auto map = analysis::make_region_map(analyzer.model(), {});
  if (!map || !*map) return;
  const auto& regions = (*map)->regions;
  if (uint64_t{regions.width} * regions.height <= kMostPixels)
    (void)report::draw_heatmap(**map, nullptr);
}

void report(const std::string& path, const analysis::Selection& selection) {
  auto reader = store::Reader::open(path);
  if (!reader) return;
  auto model = analysis::Model::load(std::move(*reader), selection);
  if (!model) return;
  Analyzer analyzer(std::move(*model), nullptr);
  show_everything(analyzer);
}

// SQLite opens by name, so a file of its own is rewritten for every input.
class TemporaryFile {
 public:
  TemporaryFile() : path_(std::filesystem::temp_directory_path() / "report_fuzz.XXXXXX") {
    file_ = ::mkstemp(path_.data());
    TALLY_FUZZ_EXPECT(file_ >= 0);
  }
  ~TemporaryFile() {
    ::close(file_);
    ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  void write(std::span<const std::byte> bytes) const {
    TALLY_FUZZ_EXPECT(::ftruncate(file_, 0) == 0);
    TALLY_FUZZ_EXPECT(::pwrite(file_, bytes.data(), bytes.size(), 0) ==
                      static_cast<ssize_t>(bytes.size()));
  }

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace

// Inputs are only worth anything if what is right can be read.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  auto reader = store::Reader::open(GOLDEN_CAPTURE);
  TALLY_FUZZ_EXPECT(reader.ok());
  auto model = analysis::Model::load(std::move(*reader), {});
  TALLY_FUZZ_EXPECT(model.ok());
  Analyzer analyzer(std::move(*model), nullptr);
  TALLY_FUZZ_EXPECT(analyzer.overview({}).ok());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const TemporaryFile file;
  file.write(std::as_bytes(std::span(data, size)));
  report(file.path(), {});
  report(file.path(), {.frames = analysis::FrameRange{1, 1}, .shader = "frag"});
  return 0;
}
