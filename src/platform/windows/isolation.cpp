// Another process of this program does the work: it gets the name of the work in its command line,
// the request from standard input, and answers on standard output.
#include "platform/isolation.h"

#include <fmt/format.h>
#include <windows.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "platform/windows/start.h"
#include "platform/windows/system.h"

namespace tally::platform {
namespace {

// The first byte of an answer.
constexpr char kResult = 'r', kError = 'e';

std::vector<const IsolatedWork*>& all_works() {
  static std::vector<const IsolatedWork*> works;
  return works;
}

std::string read_to_end(HANDLE pipe, size_t limit) {
  std::string received;
  std::array<char, 65536> buffer;
  DWORD size = 0;
  while (received.size() <= limit &&
         ::ReadFile(pipe, buffer.data(), buffer.size(), &size, nullptr) != 0 && size != 0)
    received.append(buffer.data(), size);
  return received;
}

void write_to_end(HANDLE pipe, std::string_view bytes) {
  DWORD size = 0;
  while (!bytes.empty() &&
         ::WriteFile(pipe, bytes.data(), static_cast<DWORD>(bytes.size()), &size, nullptr) != 0)
    bytes.remove_prefix(size);
}

std::string answer_of(const IsolatedWork& work, const std::string& request) {
  try {
    const Result<std::string> result = work(request);
    return result ? kResult + *result : kError + result.error().message;
  } catch (const std::exception& error) {
    return kError + std::string(error.what());
  } catch (...) {
    return kError + std::string("an unknown exception");
  }
}

Error cannot_start() {
  return Error{fmt::format("cannot start a process: error {}", ::GetLastError())};
}

// Ends its processes when it is closed, and limits their memory.
bool limit_processes(HANDLE job, const IsolationLimits& limits) {
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION info{};
  info.BasicLimitInformation.LimitFlags =
      JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_PROCESS_MEMORY;
  info.ProcessMemoryLimit = limits.memory;
  return ::SetInformationJobObject(job, JobObjectExtendedLimitInformation, &info, sizeof info) != 0;
}

bool start(const IsolatedWork& work, HANDLE input, HANDLE output, PROCESS_INFORMATION* process) {
  std::array<wchar_t, 32768> program;
  if (::GetModuleFileNameW(nullptr, program.data(), program.size()) == 0) return false;
  std::wstring line = L"tally " + std::wstring(kIsolatedOption);
  for (const char* c = work.name(); *c != '\0'; ++c) line += static_cast<wchar_t>(*c);
  STARTUPINFOW how{};
  how.cb = sizeof how;
  how.dwFlags = STARTF_USESTDHANDLES;
  how.hStdInput = input;
  how.hStdOutput = output;
  return ::CreateProcessW(program.data(), line.data(), nullptr, nullptr, TRUE,
                          CREATE_SUSPENDED | CREATE_NO_WINDOW, nullptr, nullptr, &how,
                          process) != 0;
}

// Without a dialog or a debugger.
LONG WINAPI end_process(EXCEPTION_POINTERS* exception) {
  ::TerminateProcess(::GetCurrentProcess(), exception->ExceptionRecord->ExceptionCode);
  return EXCEPTION_EXECUTE_HANDLER;
}

}  // namespace

IsolatedWork::IsolatedWork(const char* name, Function* function) noexcept
    : name_(name), function_(function) {
  all_works().push_back(this);
}

int serve_isolated(std::string_view name) {
  ::SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
  ::SetUnhandledExceptionFilter(end_process);
  const auto& works = all_works();
  const auto found =
      std::ranges::find_if(works, [&](const IsolatedWork* work) { return work->name() == name; });
  if (found == works.end()) return 1;
  const std::string request = read_to_end(::GetStdHandle(STD_INPUT_HANDLE), SIZE_MAX - 1);
  write_to_end(::GetStdHandle(STD_OUTPUT_HANDLE), answer_of(**found, request));
  return 0;
}

Result<std::string> run_isolated(const IsolatedWork& work, const std::string& request,
                                 const IsolationLimits& limits) {
  Handle input, childs_input, output, childs_output;
  if (!make_pipe(input, childs_input, true) || !make_pipe(output, childs_output, false))
    return cannot_start();
  const Handle job(::CreateJobObjectW(nullptr, nullptr));
  PROCESS_INFORMATION started{};
  if (!job || !limit_processes(job.get(), limits) ||
      !start(work, childs_input.get(), childs_output.get(), &started)) {
    return cannot_start();
  }
  const Handle process(started.hProcess), thread(started.hThread);
  childs_input.close();
  childs_output.close();
  if (::AssignProcessToJobObject(job.get(), process.get()) == 0) {
    const Error error = cannot_start();
    ::TerminateProcess(process.get(), 1);
    return error;
  }
  ::ResumeThread(thread.get());

  bool timed_out = false;
  std::thread watch([&] {
    timed_out = ::WaitForSingleObject(process.get(), limits.seconds * 1000) == WAIT_TIMEOUT;
    if (timed_out) ::TerminateProcess(process.get(), 1);
  });
  write_to_end(input.get(), request);
  input.close();
  std::string received = read_to_end(output.get(), limits.output);
  const bool too_large = received.size() > limits.output;
  if (too_large) ::TerminateProcess(process.get(), 1);
  watch.join();
  DWORD status = 0;
  ::GetExitCodeProcess(process.get(), &status);

  if (too_large) return Error{"its result is too large"};
  if (timed_out) return Error{fmt::format("it took more than {} s", limits.seconds)};
  if (status >= 0xC0000000) return Error{fmt::format("it crashed with exception {:08x}", status)};
  if (received.empty()) return Error{"it ended without a result"};
  const char kind = received.front();
  received.erase(0, 1);
  if (kind != kResult) return Error{received};
  return received;
}

}  // namespace tally::platform
