// Fuzzes the reports: for any capture file, each table, listing and heatmap ends with rows or an
// error, as text and as JSON that parses.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "analysis/dataset/dataset.h"
#include "analysis/model/counts.h"
#include "analysis/model/model.h"
#include "analysis/tables/analyzer.h"
#include "expect.h"
#include "report/html/page.h"
#include "report/table/display_text.h"
#include "report/table/header.h"
#include "report/table/heatmap.h"
#include "report/table/json.h"
#include "temporary_file.h"

using namespace tally;
using analysis::Analyzer;
using analysis::By;
using analysis::Table;

namespace {

constexpr size_t kMaxParsed = 1 << 20;
constexpr uint64_t kMaxPixels = 1 << 20;

// Newline is the only control character allowed.
void expect_printable(std::string_view text) {
  for (const char c : text) TALLY_FUZZ_EXPECT(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
}

void show(const Analyzer& analyzer, const std::vector<Table>& tables) {
  std::string json;
  report::write_json(analysis::summarize(analyzer.model()), tables, [&](std::string_view piece) {
    if (json.size() <= kMaxParsed) json += piece;
  });
  TALLY_FUZZ_EXPECT(json.size() > kMaxParsed || nlohmann::json::accept(json));
  for (const Table& table : tables) report::write_text_table(table, {}, expect_printable);
}

void show(const Analyzer& analyzer, const Result<std::vector<Table>>& tables) {
  if (tables) show(analyzer, *tables);
}

// Each input gets a quarter of the reports, which leaves time for more inputs.
class Choice {
 public:
  explicit Choice(std::span<const std::byte> input) {
    for (const std::byte b : input) state_ = (state_ ^ static_cast<uint64_t>(b)) * 1099511628211u;
  }
  bool next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 62 == 0;
  }

 private:
  uint64_t state_ = 14695981039346656037u;
};

void show_some(Analyzer& analyzer, Choice& choice) {
  expect_printable(report::capture_header(analysis::summarize(analyzer.model()), 100));
  if (choice.next()) show(analyzer, analyzer.overview({}));
  for (size_t by = 0; by < std::size(analysis::kByNames); ++by) {
    for (const bool other : {false, true}) {
      if (!choice.next()) continue;
      show(analyzer, analyzer.tables(static_cast<By>(by), {.merge = other, .each = other}));
    }
    (void)analysis::why_no_rows(analyzer.model(), static_cast<By>(by), {});
  }
  for (const auto kind : {analysis::ListingKind::Source, analysis::ListingKind::Disassembly})
    if (choice.next()) show(analyzer, analyzer.listings(kind, {}));
  const auto map = analysis::make_region_map(analyzer.model(), {});
  if (!map || !*map) return;
  const auto& regions = (*map)->regions;
  if (uint64_t{regions.width} * regions.height <= kMaxPixels)
    (void)report::draw_heatmap(**map, nullptr);
}

// The data of the HTML report: the columns of a table have the same number of rows.
void show_page(const analysis::Model& model) {
  const auto dataset = analysis::make_dataset(model, &model, {}, nullptr);
  if (!dataset) return;
  for (const analysis::DataCapture& capture : dataset->captures) {
    for (const analysis::DataTable& table : capture.tables) {
      for (const auto& [name, column] : table.columns())
        TALLY_FUZZ_EXPECT(column.size() == table.rows());
    }
  }
  report::write_container(*dataset, "0", [](std::string_view) {});
}

void report_of(const std::string& path, const analysis::Selection& selection, Choice& choice) {
  auto reader = store::Reader::open(path);
  if (!reader) return;
  auto model = analysis::load_model(std::move(*reader), selection);
  if (!model) return;
  if (choice.next()) show_page(*model);
  Analyzer analyzer(std::move(*model), nullptr);
  show_some(analyzer, choice);
}

}  // namespace

// Checks that valid inputs can be read; otherwise the fuzzing would be worthless.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  auto reader = store::Reader::open(GOLDEN_CAPTURE);
  TALLY_FUZZ_EXPECT(reader.ok());
  auto model = analysis::load_model(std::move(*reader), {});
  TALLY_FUZZ_EXPECT(model.ok());
  Analyzer analyzer(std::move(*model), nullptr);
  TALLY_FUZZ_EXPECT(analyzer.overview({}).ok());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::TemporaryFile file;
  const auto bytes = std::as_bytes(std::span(data, size));
  file.write(bytes);
  Choice choice(bytes);
  if (choice.next()) {
    report_of(file.path(), {.frames = tally::FrameRange{1, 1}, .shader = "frag"}, choice);
  } else {
    report_of(file.path(), {}, choice);
  }
  return 0;
}
