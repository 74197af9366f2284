#include "cli/hints.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "cli/environment.h"

namespace tally::cli {
namespace {

bool runs_with_elevated_rights(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return false;
  const bool other_owner = (info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid();
  const bool other_group = (info.st_mode & S_ISGID) != 0 && info.st_gid != getegid();
  return other_owner || other_group ||
         getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

// True if the file is for another word size or processor than this program, so that our layers
// cannot be loaded into it.
bool has_other_architecture(const std::string& file) {
  const auto header_of = [](const std::string& path) {
    std::array<char, sizeof(Elf64_Ehdr)> header{};
    std::ifstream(path, std::ios::binary).read(header.data(), header.size());
    return header;
  };
  const auto theirs = header_of(file), ours = header_of("/proc/self/exe");
  const bool is_elf = std::string_view(theirs.data(), SELFMAG) == ELFMAG;
  constexpr size_t kMachine = offsetof(Elf64_Ehdr, e_machine);
  return is_elf && (theirs[EI_CLASS] != ours[EI_CLASS] || theirs[kMachine] != ours[kMachine]);
}

// Programs that only run another program.
bool is_launcher(const std::string& program) {
  constexpr std::string_view kLaunchers[] = {"bwrap",   "catchsegv", "chrt",     "dbus-run-session",
                                             "env",     "ionice",    "mangohud", "nice",
                                             "nohup",   "setarch",   "setsid",   "stdbuf",
                                             "taskset", "time",      "timeout",  "xvfb-run"};
  const std::string name = std::filesystem::path(program).filename().string();
  return std::ranges::find(kLaunchers, name) != std::end(kLaunchers);
}

bool is_executable(const std::string& word, const std::string& search_path) {
  const std::string file = find_program(word, search_path);
  std::error_code ignored;
  return !file.empty() && access(file.c_str(), X_OK) == 0 &&
         std::filesystem::is_regular_file(file, ignored);
}

// True if no loader is named that could load the Vulkan loader and layers.
bool is_statically_linked(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  Elf64_Ehdr header{};
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  const bool is_program = header.e_type == ET_EXEC || header.e_type == ET_DYN;
  if (!in || header.e_ident[EI_CLASS] != ELFCLASS64 || !is_program ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  in.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    in.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (!in || segment.p_type == PT_INTERP) return false;
  }
  return header.e_phnum != 0;
}

// True if the program refers to GLX functions. Programs that use libGL through other libraries are
// not found. The name is searched in two parts, since this program contains what it searches.
bool names_glx(const std::string& file) {
  constexpr std::streamsize kMaxBytes = 64 << 20;
  constexpr std::string_view kPrefix = "glX";
  std::error_code error;
  std::ifstream in(file, std::ios::binary);
  std::string bytes(std::min<uintmax_t>(std::filesystem::file_size(file, error), kMaxBytes), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  for (const std::string_view function : {"MakeCurrent", "MakeContextCurrent"}) {
    for (size_t at = 0; (at = bytes.find(function, at)) != bytes.npos; ++at) {
      if (at >= kPrefix.size() && bytes.compare(at - kPrefix.size(), kPrefix.size(), kPrefix) == 0)
        return true;
    }
  }
  return false;
}

bool is_tally(const std::string& file) {
  std::error_code error;
  return std::filesystem::equivalent(file, "/proc/self/exe", error);
}

// Also a Windows program, which binfmt_misc starts with Wine.
bool runs_wine(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  return name == "wine" || name == "wine64" || name.starts_with("wine-") ||
         beginning_of(file).starts_with("MZ");
}

}  // namespace

std::string program_of(const std::vector<std::string>& command_line,
                       const std::string& search_path) {
  size_t program = 0;
  for (size_t i = 1; i < command_line.size() && is_launcher(command_line[program]); ++i) {
    const std::string& word = command_line[i];
    const bool option = word.starts_with('-') || word.find('=') != word.npos;
    if (!option && is_executable(word, search_path)) program = i;
  }
  return command_line[program];
}

std::string find_program(const std::string& program, const std::string& search_path) {
  if (program.find('/') != std::string::npos) return program;
  for (const std::string& folder : split_list(search_path)) {
    const std::string candidate = folder + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

std::string beginning_of(const std::string& file) {
  constexpr std::streamsize kMaxBytes = 64 << 10;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};
  std::ifstream in(file, std::ios::binary);
  std::string bytes(kMaxBytes, '\0');
  in.read(bytes.data(), kMaxBytes);
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return bytes;
}

std::optional<std::string> why_no_layer_was_loaded(const std::string& program,
                                                   const Environment& environment) {
  const std::string file = find_program(program, value_of(environment, "PATH"));
  if (file.empty()) return std::nullopt;
  if (is_tally(file))
    return file + " is Tally itself: a tally run inside this one captures its application alone";
  if (runs_with_elevated_rights(file)) {
    return file +
           " runs with more rights than its user (set-user-ID or file capabilities): Vulkan then "
           "ignores layers";
  }
  if (has_other_architecture(file))
    return file + " is a program for another processor or word size than Tally's layers";
  if (is_statically_linked(file)) {
    return file +
           " is statically linked: it loads no libraries, so it cannot be captured; link it "
           "dynamically";
  }
  if (runs_wine(file) &&
      value_of(environment, "WINE_D3D_CONFIG").find("renderer=vulkan") == std::string::npos) {
    return "Wine draws Direct3D 1 to 11 with OpenGL unless WINE_D3D_CONFIG says otherwise; with "
           "Vulkan it is captured: WINE_D3D_CONFIG=renderer=vulkan tally run ...";
  }
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error) && names_glx(file)) {
    return file +
           " uses GLX, which Tally does not support; with Mesa it can run on Vulkan, which is "
           "captured: "
           "MESA_LOADER_DRIVER_OVERRIDE=zink GALLIUM_DRIVER=zink tally run ...";
  }
  return std::nullopt;
}

}  // namespace tally::cli
