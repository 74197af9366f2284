// Errors as values. Tally throws no exception across its own library boundaries, and none across
// the C ABI.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace tally {

// The reason of a failure, in one line for the user: what failed, where, and the remedy if one is
// known.
struct Error {
  std::string message;
};

// A value, or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success, or the reason for a failure.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)), failed_(true) {}

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool failed_ = false;
};

// Prefixes the error's message with `context` and a colon.
inline Error with_context(Error error, const std::string& context) {
  error.message = context + ": " + error.message;
  return error;
}
template <typename T>
Result<T> with_context(Result<T> result, const std::string& context) {
  if (!result) return with_context(std::move(result).error(), context);
  return result;
}
inline Status with_context(Status status, const std::string& context) {
  if (!status) return with_context(std::move(status).error(), context);
  return status;
}

// What TALLY_TRY asks of a result; an overload for each kind.
namespace tried {

template <typename T>
bool has_failed(const Result<T>& result) {
  return !result.ok();
}
template <typename T>
Error failure_of(Result<T>&& result) {
  return std::move(result).error();
}
template <typename T>
T value_of(Result<T>&& result) {
  return std::move(result).value();
}
inline bool has_failed(const Status& status) { return !status.ok(); }
inline Error failure_of(Status&& status) { return std::move(status).error(); }
inline void value_of(Status&&) {}

}  // namespace tried
}  // namespace tally

// The value of a Result; a failure returns from the function that this stands in:
//   const auto text = TALLY_TRY(read_small_file(path, kMaxFile));
//   TALLY_TRY(check(text));
// It is a whole statement, initialiser or right side of an assignment: within a larger expression
// GCC would not destroy the temporaries that are there already.
#define TALLY_TRY(...) TALLY_TRY_NAMED(TALLY_TRY_NAME(__COUNTER__), __VA_ARGS__)
#define TALLY_TRY_NAME(number) TALLY_TRY_JOINED(number)
#define TALLY_TRY_JOINED(number) tried_##number
#define TALLY_TRY_NAMED(result, ...)                                                              \
  ({                                                                                              \
    auto result = (__VA_ARGS__);                                                                  \
    if (::tally::tried::has_failed(result)) return ::tally::tried::failure_of(std::move(result)); \
    ::tally::tried::value_of(std::move(result));                                                  \
  })
