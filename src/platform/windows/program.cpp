#include "platform/program.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cwctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "platform/process.h"
#include "platform/windows/start.h"
#include "platform/windows/system.h"

namespace tally::platform {

// Files of programs.

std::string find_program(const std::string& program, const std::string& /*search_path*/) {
  std::array<wchar_t, 32768> path;
  const DWORD size =
      ::SearchPathW(nullptr, wide(program).c_str(), L".exe", path.size(), path.data(), nullptr);
  return size > 0 && size < path.size() ? narrow({path.data(), size}) : std::string{};
}

bool is_executable(const std::string& file) {
  DWORD kind = 0;
  return ::GetBinaryTypeW(wide(file).c_str(), &kind) != 0;
}

// Windows asks before it starts such a program, and CreateProcess refuses it.
bool runs_with_elevated_rights(const std::string& /*file*/) { return false; }

namespace {

// Nothing if it is no program. Programs of 32 bits have the fields that are read here in the same
// place.
std::optional<IMAGE_NT_HEADERS64> header_of(const std::wstring& file) {
  std::ifstream in(std::filesystem::path(file), std::ios::binary);
  IMAGE_DOS_HEADER begin{};
  in.read(reinterpret_cast<char*>(&begin), sizeof begin);
  if (!in || begin.e_magic != IMAGE_DOS_SIGNATURE) return std::nullopt;
  in.seekg(begin.e_lfanew);
  IMAGE_NT_HEADERS64 header{};
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!in || header.Signature != IMAGE_NT_SIGNATURE) return std::nullopt;
  return header;
}

}  // namespace

bool has_other_architecture(const std::string& file) {
  const auto header = header_of(wide(file));
  const auto* const ours = reinterpret_cast<const IMAGE_DOS_HEADER*>(::GetModuleHandleW(nullptr));
  const auto* const our_header = reinterpret_cast<const IMAGE_NT_HEADERS*>(
      reinterpret_cast<const char*>(ours) + ours->e_lfanew);
  return header && header->FileHeader.Machine != our_header->FileHeader.Machine;
}

bool is_statically_linked(const std::string& /*file*/) { return false; }
bool runs_wine(const std::string& /*file*/) { return false; }

// Vulkan's loader.

Result<Library> Library::open(const std::string& file) {
  const DWORD flags = std::filesystem::path(wide(file)).is_absolute()
                          ? LOAD_WITH_ALTERED_SEARCH_PATH
                          : LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
  const HMODULE module = ::LoadLibraryExW(wide(file).c_str(), nullptr, flags);
  if (module == nullptr) return Error{fmt::format("{}: {}", file, text_of_error())};
  return Library(module);
}

void* Library::find(const char* symbol) const {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(handle_), symbol));
}

std::string Library::path() const {
  std::array<wchar_t, 32768> path;
  const DWORD size = ::GetModuleFileNameW(static_cast<HMODULE>(handle_), path.data(), path.size());
  return size < path.size() ? narrow({path.data(), size}) : std::string{};
}

std::string vulkan_loader() { return "vulkan-1.dll"; }
bool loader_reads_folders() { return false; }

namespace {

constexpr const wchar_t* kExplicitLayers = L"Software\\Khronos\\Vulkan\\ExplicitLayers";
// Those of its values that Tally added. All others are somebody else's.
constexpr const wchar_t* kAddedFolders = L"Software\\Tally added layer folders";

// As the loader sees it: above medium integrity.
bool is_elevated() {
  Handle token;
  alignas(TOKEN_MANDATORY_LABEL) std::array<std::byte, 256> buffer;
  DWORD size = 0;
  if (::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, token.address()) == 0 ||
      ::GetTokenInformation(token.get(), TokenIntegrityLevel, buffer.data(), buffer.size(),
                            &size) == 0)
    return false;
  SID* const sid =
      static_cast<SID*>(reinterpret_cast<TOKEN_MANDATORY_LABEL*>(buffer.data())->Label.Sid);
  const DWORD last = *::GetSidSubAuthorityCount(sid) - DWORD{1};
  return *::GetSidSubAuthority(sid, last) > SECURITY_MANDATORY_MEDIUM_RID;
}

class Key {
 public:
  enum class Access { Change, Read };

  // Change creates it.
  explicit Key(const wchar_t* path, Access access = Access::Change) {
    error_ = access == Access::Read
                 ? ::RegOpenKeyExW(HKEY_LOCAL_MACHINE, path, 0, KEY_QUERY_VALUE, &key_)
                 : ::RegCreateKeyExW(HKEY_LOCAL_MACHINE, path, 0, nullptr, REG_OPTION_NON_VOLATILE,
                                     KEY_QUERY_VALUE | KEY_SET_VALUE, nullptr, &key_, nullptr);
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key() {
    if (error_ == ERROR_SUCCESS) ::RegCloseKey(key_);
  }
  LSTATUS error() const { return error_; }
  bool has(const std::wstring& name) const {
    return ::RegQueryValueExW(key_, name.c_str(), nullptr, nullptr, nullptr, nullptr) ==
           ERROR_SUCCESS;
  }
  LSTATUS set(const std::wstring& name) const {
    const DWORD zero = 0;  // enabled
    return ::RegSetValueExW(key_, name.c_str(), 0, REG_DWORD, reinterpret_cast<const BYTE*>(&zero),
                            sizeof zero);
  }
  void remove(const std::wstring& name) const { ::RegDeleteValueW(key_, name.c_str()); }
  std::vector<std::wstring> names() const {
    std::vector<std::wstring> all;
    std::vector<wchar_t> name(16384);  // the longest that Windows takes
    while (true) {
      auto size = static_cast<DWORD>(name.size());
      if (::RegEnumValueW(key_, static_cast<DWORD>(all.size()), name.data(), &size, nullptr,
                          nullptr, nullptr, nullptr) != ERROR_SUCCESS)
        return all;
      all.emplace_back(name.data(), size);
    }
  }

 private:
  HKEY key_ = nullptr;
  LSTATUS error_;
};

// One process at a time changes the registry. One that was ended meanwhile left nothing that
// remove_unused_folders() does not find.
class FoldersLock {
 public:
  FoldersLock() { ::WaitForSingleObject(mutex_.get(), kLongestMs); }
  FoldersLock(const FoldersLock&) = delete;
  FoldersLock& operator=(const FoldersLock&) = delete;
  ~FoldersLock() { ::ReleaseMutex(mutex_.get()); }

 private:
  static constexpr DWORD kLongestMs = 5000;

  Handle mutex_{::CreateMutexW(nullptr, FALSE, L"Global\\tally-layer-folders")};
};

// The name of an event that exists while a process needs the folder: Windows removes it with the
// last of them, however that ends.
std::wstring event_of(const std::wstring& folder) {
  return L"Global\\tally-layers-" + wide(to_string(hash_bytes(std::as_bytes(std::span(folder)))));
}

// True if a process needs it, also if that is elevated, and this one may not open its event.
bool is_used(const std::wstring& folder) {
  const Handle user(::OpenEventW(SYNCHRONIZE, FALSE, event_of(folder).c_str()));
  return user || ::GetLastError() != ERROR_FILE_NOT_FOUND;
}

// Removes those that Tally added.
void remove_unused_folders() {
  bool are_left = false;
  {
    const Key layers(kExplicitLayers), added(kAddedFolders);
    for (const std::wstring& folder : added.names()) {
      if (is_used(folder)) {
        are_left = true;
        continue;
      }
      layers.remove(folder);
      added.remove(folder);
    }
  }
  if (!are_left) ::RegDeleteKeyW(HKEY_LOCAL_MACHINE, kAddedFolders);
}

// Another process of this program waits for the end of this one, and removes what is left then. It
// has no console, so that it outlives the end of ours. If it cannot be started, the next run
// removes them.
void watch_this_process() {
  std::wstring line =
      std::wstring(L"tally ") + kWatchOption + std::to_wstring(::GetCurrentProcessId());
  STARTUPINFOW how{};
  how.cb = sizeof how;
  PROCESS_INFORMATION watcher{};
  if (::CreateProcessW(wide(executable_path()).c_str(), line.data(), nullptr, nullptr, FALSE,
                       DETACHED_PROCESS, nullptr, nullptr, &how, &watcher) == 0)
    return;
  ::CloseHandle(watcher.hThread);
  ::CloseHandle(watcher.hProcess);
}

}  // namespace

int watch_process(unsigned long number) {
  if (const Handle process(::OpenProcess(SYNCHRONIZE, FALSE, number)); process)
    ::WaitForSingleObject(process.get(), INFINITE);
  const FoldersLock lock;
  remove_unused_folders();
  return 0;
}

std::string name_for_loader(const std::string& folder) {
  const auto is_ascii = [](std::wstring_view name) {
    return std::ranges::all_of(name, [](wchar_t letter) { return letter < 0x80; });
  };
  const std::wstring name = wide(folder);
  if (is_ascii(name)) return folder;
  std::array<wchar_t, 32768> path;
  const DWORD size = ::GetShortPathNameW(name.c_str(), path.data(), path.size());
  const std::wstring_view short_name(path.data(), size < path.size() ? size : 0);
  return short_name.empty() || !is_ascii(short_name) ? folder : narrow(short_name);
}

struct LayerFolders::Held {
  std::vector<Handle> events;
};

LayerFolders::LayerFolders(const std::vector<std::string>& folders) {
  if (!is_elevated()) return;
  held_ = std::make_unique<Held>();
  const FoldersLock lock;
  remove_unused_folders();
  const Key layers(kExplicitLayers), added(kAddedFolders);
  LSTATUS error = layers.error() != ERROR_SUCCESS ? layers.error() : added.error();
  for (const std::string& folder : folders) {
    if (error != ERROR_SUCCESS) break;
    const std::wstring name = wide(folder);
    if (layers.has(name) && !added.has(name)) continue;
    held_->events.emplace_back(::CreateEventW(nullptr, TRUE, FALSE, event_of(name).c_str()));
    error = added.set(name);
    if (error == ERROR_SUCCESS) error = layers.set(name);
  }
  if (!held_->events.empty()) watch_this_process();
  if (error == ERROR_SUCCESS) return;
  problem_ = fmt::format(
      "this process is elevated, so Vulkan ignores the variables that name Tally's layers, and "
      "they cannot be named in the registry: {}",
      text_of_error(static_cast<DWORD>(error)));
}

LayerFolders::~LayerFolders() {
  if (!held_ || held_->events.empty()) return;
  const FoldersLock lock;
  held_->events.clear();
  remove_unused_folders();
}

bool LayerFolders::are_in_registry() const { return held_ != nullptr && problem_.empty(); }

std::vector<std::string> left_layer_folders() {
  std::vector<std::string> left;
  for (const std::wstring& folder : Key(kAddedFolders, Key::Access::Read).names()) {
    if (!is_used(folder)) left.push_back(narrow(folder));
  }
  return left;
}

// Running programs.

namespace {

// Set by the handler of Ctrl-C, which the console calls on a thread of its own.
HANDLE asked_to_stop() {
  static const HANDLE event = ::CreateEventW(nullptr, TRUE, FALSE, nullptr);
  return event;
}
std::atomic<bool> g_program_runs = false;
// The program has windows in place of a console. All others belong to our console, which tells them
// of Ctrl-C.
std::atomic<DWORD> g_windowed_program = 0;

BOOL CALLBACK close_window(HWND window, LPARAM process) {
  DWORD owner = 0;
  ::GetWindowThreadProcessId(window, &owner);
  if (owner == static_cast<DWORD>(process) && ::IsWindowVisible(window) != 0)
    ::PostMessageW(window, WM_CLOSE, 0, 0);
  return TRUE;
}

BOOL WINAPI handle_console_event(DWORD event) {
  if (const DWORD program = g_windowed_program; program != 0)
    ::EnumWindows(close_window, static_cast<LPARAM>(program));
  if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT) {
    if (!g_program_runs) ::SetEvent(asked_to_stop());
    return TRUE;
  }
  // The console closes, or the user logs off: Windows ends this process when this function returns,
  // or some seconds later. Until then the program ends and the capture is finished.
  ::SetEvent(asked_to_stop());
  ::Sleep(INFINITE);
  return TRUE;
}

// As the C library of the program splits it (process.cpp).
void append_argument(std::wstring& line, const std::wstring& argument) {
  if (!line.empty()) line += L' ';
  if (!argument.empty() && argument.find_first_of(L" \t\n\v\"") == std::wstring::npos) {
    line += argument;
    return;
  }
  line += L'"';
  size_t backslashes = 0;
  for (const wchar_t c : argument) {
    if (c == L'"') line.append(backslashes + 1, L'\\');
    backslashes = c == L'\\' ? backslashes + 1 : 0;
    line += c;
  }
  line.append(backslashes, L'\\');
  line += L'"';
}

// Windows expects the names in order, whatever their case.
std::wstring environment_block(const std::vector<std::string>& environment) {
  std::vector<std::pair<std::wstring, std::wstring>> entries;
  for (const std::string& entry : environment) {
    std::wstring text = wide(entry), name = text.substr(0, text.find(L'=', 1));
    for (wchar_t& c : name) c = static_cast<wchar_t>(std::towupper(c));
    entries.emplace_back(std::move(name), std::move(text));
  }
  std::ranges::sort(entries);
  std::wstring block;
  for (const auto& [name, text] : entries) block += text + L'\0';
  return block + L'\0';
}

struct Started {
  Handle process;
  Handle job;  // of the program and all that it starts; none if Windows refuses it
};

bool is_script(const std::wstring& file) {
  std::wstring extension = std::filesystem::path(file).extension().wstring();
  for (wchar_t& c : extension) c = static_cast<wchar_t>(std::towlower(c));
  return extension == L".bat" || extension == L".cmd";
}

// Standard handles that are null: ours.
Result<Started> start_program(const std::vector<std::string>& arguments,
                              const std::vector<std::string>& environment,
                              std::array<HANDLE, 3> streams, DWORD flags, int* exec_status) {
  const auto fail = [&](int status, const std::string& why) {
    if (exec_status != nullptr) *exec_status = status;
    return Error{fmt::format("cannot run '{}': {}", arguments[0], why)};
  };
  const std::wstring file = wide(find_program(arguments[0], {}));
  if (file.empty()) return fail(127, "No such file or directory");
  if (is_script(file)) return fail(126, "it is a script; put cmd /c before it");
  std::wstring line, block = environment_block(environment);
  for (const std::string& argument : arguments) append_argument(line, wide(argument));
  STARTUPINFOW how{};
  how.cb = sizeof how;
  const bool redirects = std::ranges::any_of(streams, [](HANDLE one) { return one != nullptr; });
  if (redirects) {
    how.dwFlags = STARTF_USESTDHANDLES;
    how.hStdInput = streams[0];
    how.hStdOutput = streams[1];
    how.hStdError = streams[2];
  }
  PROCESS_INFORMATION process{};
  if (::CreateProcessW(file.c_str(), line.data(), nullptr, nullptr, TRUE,
                       CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | flags, block.data(), nullptr,
                       &how, &process) == 0)
    return fail(126, text_of_error());
  Started started{Handle(process.hProcess), Handle(::CreateJobObjectW(nullptr, nullptr))};
  const Handle thread(process.hThread);
  if (started.job && ::AssignProcessToJobObject(started.job.get(), started.process.get()) == 0)
    started.job.close();
  ::ResumeThread(thread.get());
  return started;
}

ChildEnd end_of(HANDLE process) {
  constexpr DWORD kFirstException = 0xC0000000;
  DWORD status = 0;
  ::GetExitCodeProcess(process, &status);
  return {.by_signal =
              status >= kFirstException && status != STATUS_CONTROL_C_EXIT && status < 0xD0000000,
          .number = static_cast<int>(status)};
}

}  // namespace

void prepare_process() {}
void block_forwarded_signals() {}

bool is_running(pid_t process) {
  const Handle opened(::OpenProcess(SYNCHRONIZE, FALSE, static_cast<DWORD>(process)));
  return opened && ::WaitForSingleObject(opened.get(), 0) == WAIT_TIMEOUT;
}

int ChildEnd::shell_status() const { return number; }

std::string signal_name(int signal) {
  const auto code = static_cast<unsigned>(signal);
  const char* const name = code == STATUS_ACCESS_VIOLATION         ? ", an access violation"
                           : code == STATUS_STACK_OVERFLOW         ? ", a stack overflow"
                           : code == STATUS_INTEGER_DIVIDE_BY_ZERO ? ", a division by zero"
                           : code == STATUS_ILLEGAL_INSTRUCTION    ? ", an illegal instruction"
                           : code == 0xC0000135                    ? ", a DLL that is missing"
                                                                   : "";
  return fmt::format("exception {:08x}{}", code, name);
}

struct Child::Held {
  Started started;
};

Child::Child(std::unique_ptr<Held> held) : held_(std::move(held)) {}
Child::Child(Child&& other) noexcept = default;
Child::~Child() = default;

Result<Child> Child::start(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, int* exec_status) {
  g_program_runs = true;
  ::SetConsoleCtrlHandler(handle_console_event, TRUE);
  give_console_back();
  auto started = start_program(arguments, environment, {}, 0, exec_status);
  if (!started) {
    take_console();
    return started.error();
  }
  const auto header = header_of(wide(find_program(arguments[0], {})));
  if (header && header->OptionalHeader.Subsystem == IMAGE_SUBSYSTEM_WINDOWS_GUI)
    g_windowed_program = ::GetProcessId(started->process.get());
  return Child(std::make_unique<Held>(Held{std::move(*started)}));
}

ChildEnd Child::wait(const std::function<bool()>& /*on_request*/) {
  ::WaitForSingleObject(held_->started.process.get(), INFINITE);
  g_windowed_program = 0;
  g_program_runs = false;
  take_console();
  return end_of(held_->started.process.get());
}

size_t Child::left() const {
  JOBOBJECT_BASIC_ACCOUNTING_INFORMATION info{};
  if (!held_->started.job ||
      ::QueryInformationJobObject(held_->started.job.get(), JobObjectBasicAccountingInformation,
                                  &info, sizeof info, nullptr) == 0)
    return 0;
  return info.ActiveProcesses;
}

bool Child::wait_until(const std::function<bool()>& done) {
  constexpr DWORD kLongest = 100;
  for (DWORD pause = 1; !done(); pause = std::min(pause * 2, kLongest)) {
    if (::WaitForSingleObject(asked_to_stop(), pause) == WAIT_OBJECT_0) return false;
  }
  return true;
}

namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;

// Until the program has ended and what it wrote is read. A process that it started may have the
// pipe for longer: the first program with a window starts wine's desktop.
void read_all(HANDLE pipe, HANDLE program, std::string& text) {
  constexpr DWORD kPauseMs = 5;
  std::array<char, 65536> buffer;
  DWORD size = 0;
  for (bool has_ended = false;;) {
    if (::PeekNamedPipe(pipe, nullptr, 0, nullptr, &size, nullptr) == 0) return;
    if (size == 0 && has_ended) return;
    if (size == 0) {
      has_ended = ::WaitForSingleObject(program, kPauseMs) == WAIT_OBJECT_0;
      continue;
    }
    if (::ReadFile(pipe, buffer.data(), buffer.size(), &size, nullptr) == 0) return;
    if (text.size() < kMaxBytes) text.append(buffer.data(), size);
  }
}

}  // namespace

Result<CapturedRun> run_captured(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment,
                                 std::chrono::seconds limit) {
  Handle input, childs_input, output, childs_output, errors, childs_errors;
  if (!make_pipe(input, childs_input, true) || !make_pipe(output, childs_output, false) ||
      !make_pipe(errors, childs_errors, false))
    return Error{fmt::format("cannot run '{}': {}", arguments[0], text_of_error())};
  const auto started = TALLY_TRY(start_program(
      arguments, environment, {childs_input.get(), childs_output.get(), childs_errors.get()},
      CREATE_NO_WINDOW, nullptr));
  input.close();
  childs_input.close();
  childs_output.close();
  childs_errors.close();
  CapturedRun run;
  std::thread reads_output(
      [&] { read_all(output.get(), started.process.get(), run.standard_output); });
  std::thread reads_errors(
      [&] { read_all(errors.get(), started.process.get(), run.standard_error); });
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  run.timed_out = ::WaitForSingleObject(started.process.get(), static_cast<DWORD>(milliseconds)) ==
                  WAIT_TIMEOUT;
  if (run.timed_out) ::TerminateProcess(started.process.get(), 1);
  if (run.timed_out && started.job) ::TerminateJobObject(started.job.get(), 1);
  reads_output.join();
  reads_errors.join();
  run.end = end_of(started.process.get());
  return run;
}

}  // namespace tally::platform
