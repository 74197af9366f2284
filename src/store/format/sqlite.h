// RAII types for an SQLite connection and a prepared statement, which report errors as Status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tally::store {

// A prepared statement. Parameters are bound in order, columns read in order, both from 0.
// The first error sticks: step() then returns false, and status() says why.
class Statement {
 public:
  Statement(sqlite3_stmt* statement, sqlite3* database);
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind(std::span<const std::byte> blob);
  Statement& bind(std::optional<int64_t> value);
  Statement& bind_null();

  // True: there is a next row. After the last row or an error the statement is reset and can be
  // bound again.
  bool step();
  // Runs a statement without rows, and resets it.
  Status run();
  const Status& status() const { return status_; }

  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::string_view view(int column) const;            // of a text; valid until the next step
  std::span<const std::byte> blob(int column) const;  // valid until the next step
  bool is_null(int column) const;
  std::optional<int64_t> optional_integer(int column) const;

 private:
  void note(int code);

  sqlite3_stmt* statement_;
  sqlite3* database_;
  int next_parameter_ = 1;
  Status status_;
};

class Database {
 public:
  enum class Mode { Read, Create };

  static Result<Database> open(const std::string& path, Mode mode);

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  Result<Statement> prepare(std::string_view sql) const;
  Status execute(const char* sql) const;
  Result<int64_t> integer(std::string_view sql) const;  // the first column of the first row
  int64_t last_row_id() const;
  // Closes and reports the error, which the destructor ignores.
  Status close();

 private:
  explicit Database(sqlite3* handle);
  struct Closer {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Closer> handle_;
};

}  // namespace tally::store
