#include "cli/hints.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "cli/environment.h"

namespace tally::cli {
namespace {

std::string find_program(const std::string& program, const std::string& search_path) {
  if (program.find('/') != std::string::npos) return program;
  for (const std::string& folder : split_list(search_path)) {
    const std::string candidate = folder + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

bool runs_with_other_rights(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return false;
  const bool other_owner = (info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid();
  const bool other_group = (info.st_mode & S_ISGID) != 0 && info.st_gid != getegid();
  return other_owner || other_group ||
         getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

// Of another word size or processor than this program: our layers cannot be loaded into it.
bool is_of_another_kind(const std::string& file) {
  const auto header_of = [](const std::string& path) {
    std::array<char, sizeof(Elf64_Ehdr)> header{};
    std::ifstream(path, std::ios::binary).read(header.data(), header.size());
    return header;
  };
  const auto theirs = header_of(file), ours = header_of("/proc/self/exe");
  const bool is_elf = std::string(theirs.data(), SELFMAG) == ELFMAG;
  constexpr size_t kMachine = offsetof(Elf64_Ehdr, e_machine);
  return is_elf && (theirs[EI_CLASS] != ours[EI_CLASS] || theirs[kMachine] != ours[kMachine]);
}

}  // namespace

std::optional<std::string> why_no_layer_was_loaded(const std::string& program,
                                                   const std::string& search_path) {
  const std::string file = find_program(program, search_path);
  if (file.empty()) return std::nullopt;
  if (runs_with_other_rights(file)) {
    return file +
           " runs with more rights than its user (set-user-ID or file capabilities): Vulkan then "
           "ignores layers";
  }
  if (is_of_another_kind(file))
    return file + " is a program for another processor or word size than Tally's layers";
  return std::nullopt;
}

}  // namespace tally::cli
