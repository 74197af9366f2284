#include "store/format/sqlite.h"

#include <sqlite3.h>

#include <cstring>
#include <utility>

namespace tally::store {
namespace {

constexpr int kBusyMilliseconds = 5000;

Error error_of(sqlite3* database, int code) {
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) return {"the capture is damaged"};
  std::string message = database ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const int reason = database && (code & 0xFF) == SQLITE_IOERR ? sqlite3_system_errno(database) : 0;
  if (reason != 0) message += std::string(": ") + std::strerror(reason);
  return {message};
}

}  // namespace

Statement::Statement(sqlite3_stmt* statement, sqlite3* database)
    : statement_(statement), database_(database) {}

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)),
      database_(other.database_),
      next_parameter_(other.next_parameter_),
      status_(std::move(other.status_)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this != &other) {
    sqlite3_finalize(statement_);
    statement_ = std::exchange(other.statement_, nullptr);
    database_ = other.database_;
    next_parameter_ = other.next_parameter_;
    status_ = std::move(other.status_);
  }
  return *this;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::note(int code) {
  if (code != SQLITE_OK && status_.ok()) status_ = error_of(database_, code);
}

Statement& Statement::bind(int64_t value) {
  note(sqlite3_bind_int64(statement_, next_parameter_++, value));
  return *this;
}

Statement& Statement::bind(double value) {
  note(sqlite3_bind_double(statement_, next_parameter_++, value));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  note(sqlite3_bind_text64(statement_, next_parameter_++, text.data() ? text.data() : "",
                           text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::span<const std::byte> blob) {
  const void* bytes = blob.empty() ? static_cast<const void*>("") : blob.data();
  note(sqlite3_bind_blob64(statement_, next_parameter_++, bytes, blob.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind(std::optional<int64_t> value) {
  return value ? bind(*value) : bind_null();
}

Statement& Statement::bind_null() {
  note(sqlite3_bind_null(statement_, next_parameter_++));
  return *this;
}

bool Statement::step() {
  const int code = status_.ok() ? sqlite3_step(statement_) : SQLITE_DONE;
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) note(code);
  sqlite3_reset(statement_);
  next_parameter_ = 1;
  return false;
}

Status Statement::run() {
  while (step()) {
  }
  return std::exchange(status_, Status{});
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view Statement::view(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (!text) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string Statement::text(int column) const { return std::string(view(column)); }

std::span<const std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::optional<int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

void Database::Closer::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Database::Database(sqlite3* handle) : handle_(handle) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::string& path, Mode mode) {
  // Statistics that nobody reads would take a lock at each allocation.
  [[maybe_unused]] static const int configured = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  const int flags =
      mode == Mode::Read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) return error_of(handle, code);
  sqlite3_extended_result_codes(handle, 0);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  // A capture is untrusted: its schema must not run anything. Values are checked when they are
  // read.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return error_of(handle_.get(), code);
  return Statement(statement, handle_.get());
}

Status Database::execute(const char* sql) const {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status{} : Status{error_of(handle_.get(), code)};
}

Result<int64_t> Database::integer(std::string_view sql) const {
  Statement statement = TALLY_TRY(prepare(sql));
  const bool row = statement.step();
  TALLY_TRY(statement.status());
  if (!row) return Error{"no row"};
  return statement.integer(0);
}

int64_t Database::last_row_id() const { return sqlite3_last_insert_rowid(handle_.get()); }

Status Database::close() {
  sqlite3* const handle = handle_.release();
  const int code = sqlite3_close(handle);
  if (code == SQLITE_OK) return {};
  handle_.reset(handle);
  return error_of(handle, code);
}

}  // namespace tally::store
