#include "store/read/source_texts.h"

namespace tally::store {
namespace {

Status insert_all(const Database& database, const std::vector<SourceText>& texts) {
  auto insert = database.prepare("INSERT OR IGNORE INTO source_file (name, text) VALUES (?, ?)");
  if (!insert) return insert.error();
  for (const SourceText& source : texts) {
    insert->bind(std::string_view(source.name)).bind(std::string_view(source.text));
    if (Status done = insert->run(); !done) return done;
  }
  return {};
}

}  // namespace

Status add_source_texts(const std::string& capture, const std::vector<SourceText>& texts) {
  auto database = Database::open(capture, Database::Mode::Create);
  if (!database) return with_context(database.error(), capture);
  Status done = database->execute(
      "PRAGMA synchronous = OFF; BEGIN;"
      "CREATE TABLE IF NOT EXISTS source_file (name TEXT PRIMARY KEY, text TEXT NOT NULL)");
  if (done.ok()) done = insert_all(*database, texts);
  if (done.ok()) done = database->execute("COMMIT");
  if (done.ok()) done = database->close();
  return done.ok() ? done : Status(with_context(done.error(), capture));
}

Result<std::vector<SourceText>> source_texts(const Reader& reader) {
  auto table =
      reader.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'source_file'");
  if (!table) return table.error();
  std::vector<SourceText> texts;
  const bool is_there = table->step();
  if (!table->status()) return table->status().error();
  if (!is_there) return texts;
  auto rows = reader.query("SELECT name, text FROM source_file ORDER BY name");
  if (!rows) return rows.error();
  while (rows->step()) texts.push_back({rows->text(0), rows->text(1)});
  if (!rows->status()) return rows->status().error();
  return texts;
}

}  // namespace tally::store
