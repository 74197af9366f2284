#include "cli/parquet.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

namespace tally::cli {
namespace {

constexpr const char* kLibrary = "libduckdb.so";

// The part of DuckDB's C interface that is used here.
using Handle = void*;
struct QueryResult {
  std::array<uint64_t, 3> counts{};
  std::array<void*, 3> pointers{};
};
using Open = int(const char* path, Handle* database);
using Connect = int(Handle database, Handle* connection);
using Query = int(Handle connection, const char* sql, QueryResult* result);
using ResultError = const char*(QueryResult* result);
using DestroyResult = void(QueryResult* result);
using CloseHandle = void(Handle* handle);

std::string sql_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

// A path that is read is a pattern.
std::string as_pattern(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    const bool is_special = c == '*' || c == '?' || c == '[';
    pattern += is_special ? fmt::format("[{}]", c) : std::string(1, c);
  }
  return pattern;
}

}  // namespace

struct ParquetWriter::Library {
  Library() : handle(dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
    open = symbol<Open>("duckdb_open");
    connect = symbol<Connect>("duckdb_connect");
    query = symbol<Query>("duckdb_query");
    result_error = symbol<ResultError>("duckdb_result_error");
    destroy_result = symbol<DestroyResult>("duckdb_destroy_result");
    disconnect = symbol<CloseHandle>("duckdb_disconnect");
    close = symbol<CloseHandle>("duckdb_close");
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  // The library stays loaded: it may have threads.
  ~Library() {
    if (connection != nullptr) disconnect(&connection);
    if (database != nullptr) close(&database);
  }

  template <typename Function>
  Function* symbol(const char* name) {
    void* found = handle == nullptr ? nullptr : dlsym(handle, name);
    is_complete &= found != nullptr;
    return reinterpret_cast<Function*>(found);
  }

  Status run(const std::string& sql) {
    QueryResult result;
    const bool failed = query(connection, sql.c_str(), &result) != 0;
    Status status;
    if (failed) {
      const char* text = result_error(&result);
      const std::string message = text == nullptr ? "unknown error" : text;
      status = Error{"DuckDB: " + message.substr(0, message.find('\n'))};
    }
    destroy_result(&result);
    return status;
  }

  void* handle;
  bool is_complete = true;
  Open* open;
  Connect* connect;
  Query* query;
  ResultError* result_error;
  DestroyResult* destroy_result;
  CloseHandle *disconnect, *close;
  Handle database = nullptr, connection = nullptr;
};

Result<ParquetWriter> ParquetWriter::open() {
  auto library = std::make_unique<Library>();
  if (library->handle == nullptr) return Error{fmt::format("{} is not installed", kLibrary)};
  if (!library->is_complete) return Error{fmt::format("{} is not DuckDB's library", kLibrary)};
  if (library->open(nullptr, &library->database) != 0 ||
      library->connect(library->database, &library->connection) != 0) {
    return Error{fmt::format("{} does not start", kLibrary)};
  }
  // One capture is small, and nothing is to be fetched from anywhere.
  if (Status set = library->run("SET threads = 1; SET autoinstall_known_extensions = false"); !set)
    return set.error();
  return ParquetWriter(std::move(library));
}

ParquetWriter::ParquetWriter(std::unique_ptr<Library> library) : library_(std::move(library)) {}
ParquetWriter::ParquetWriter(ParquetWriter&&) noexcept = default;
ParquetWriter& ParquetWriter::operator=(ParquetWriter&&) noexcept = default;
ParquetWriter::~ParquetWriter() = default;

Status ParquetWriter::write(const std::string& json_lines, const std::string& columns,
                            const std::string& path) {
  return library_->run(
      fmt::format("COPY (SELECT * FROM read_json({}, format = 'newline_delimited', columns = {}, "
                  "hive_partitioning = false)) TO {} (FORMAT parquet, COMPRESSION zstd)",
                  sql_text(as_pattern(json_lines)), columns, sql_text(path)));
}

}  // namespace tally::cli
