#include "store/old_capture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "store/schema.h"
#include "store/unique_fd.h"

namespace tally::store {
namespace {

bool is_capture(int file) {
  unsigned char header[72] = {};
  if (::read(file, header, sizeof header) != sizeof header) return false;
  const uint32_t id = uint32_t{header[68]} << 24 | uint32_t{header[69]} << 16 |
                      uint32_t{header[70]} << 8 | uint32_t{header[71]};
  return id == static_cast<uint32_t>(kCaptureApplicationId);
}

// SQLite locks a byte range of each open database.
bool is_in_use(int file) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace

Status remove_old_capture(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode)) return Error{path + ": not a regular file"};
  if (info.st_size > 0) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!is_capture(file.get())) {
      return Error{path + ": exists and is not a Tally capture; refusing to replace it"};
    }
    if (is_in_use(file.get())) {
      return Error{path +
                   ": in use, perhaps by a tally run that writes it; refusing to replace it"};
    }
    ::unlink(path.c_str());
  }
  for (const char* suffix : {"-wal", "-shm", "-journal"}) ::unlink((path + suffix).c_str());
  return {};
}

}  // namespace tally::store
