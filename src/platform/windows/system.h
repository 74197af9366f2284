// Shared by the files of this folder: handles, texts and pipes.
#pragma once

#include <windows.h>

#include <string>
#include <string_view>
#include <utility>

namespace tally::platform {

// A handle that closes itself.
class Handle {
 public:
  Handle() = default;
  explicit Handle(HANDLE handle) : handle_(handle == INVALID_HANDLE_VALUE ? nullptr : handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { close(); }

  HANDLE get() const { return handle_; }
  HANDLE* address() { return &handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  void close() {
    if (handle_ != nullptr) ::CloseHandle(handle_);
    handle_ = nullptr;
  }

 private:
  HANDLE handle_ = nullptr;
};

// From UTF-8 and to it, whatever the code page of the process: a layer has the application's.
std::wstring wide(std::string_view text);
std::string narrow(std::wstring_view text);

// "Access is denied", of GetLastError() or such a number.
std::string text_of_error(DWORD error = ::GetLastError());

// Pipes whose ends for the child alone may be inherited.
bool make_pipe(Handle& ours, Handle& childs, bool child_reads);

}  // namespace tally::platform
