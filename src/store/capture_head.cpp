#include "store/capture_head.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "store/schema.h"

namespace tally::store {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr size_t kHeaderBytes = 100;

uint32_t big_endian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

struct FileHead {
  std::array<unsigned char, kHeaderBytes> bytes{};
  ssize_t read = 0;
  int64_t file_size = 0;
  bool has_wal = false;  // the end of the file may still be in the log
};

Result<FileHead> read_head(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Error{std::strerror(errno)};
  FileHead head;
  struct stat info {};
  const bool regular = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  if (regular) head.read = ::pread(file, head.bytes.data(), head.bytes.size(), 0);
  head.file_size = info.st_size;
  struct stat wal {};
  head.has_wal = ::stat((path + "-wal").c_str(), &wal) == 0 && wal.st_size > 0;
  ::close(file);
  if (!regular) return Error{"not a regular file"};
  return head;
}

Status check_version(int64_t version) {
  if (version >= kOldestCaptureVersion && version <= kCaptureVersion) return {};
  if (version > kCaptureVersion) {
    return Error{fmt::format("is a capture of format {}, newer than the {} that this tally reads",
                             version, kCaptureVersion)};
  }
  return Error{
      fmt::format("is a capture of format {}, older than the {} that this tally reads; "
                  "capture again",
                  version, kOldestCaptureVersion)};
}

int64_t version_of(const FileHead& head) { return big_endian(head.bytes.data() + 60); }

Status check(const FileHead& head) {
  const auto* bytes = head.bytes.data();
  const size_t read = head.read > 0 ? static_cast<size_t>(head.read) : 0;
  if (read < kMagic.size() || std::memcmp(bytes, kMagic.data(), kMagic.size()) != 0) {
    return Error{"not a Tally capture"};
  }
  if (read < kHeaderBytes) return Error{"file is truncated"};
  if (big_endian(bytes + 68) != static_cast<uint32_t>(kCaptureApplicationId)) {
    return Error{"an SQLite database, but not a Tally capture"};
  }
  if (Status version = check_version(version_of(head)); !version) return version;
  const uint32_t stored_size = uint32_t{bytes[16]} << 8 | bytes[17];
  const int64_t page_size = stored_size == 1 ? 65536 : stored_size;
  const int64_t expected_size = page_size * big_endian(bytes + 28);
  if (!head.has_wal && head.file_size < expected_size) return Error{"capture is truncated"};
  return {};
}

}  // namespace

Status check_capture_head(const std::string& path) {
  const Result<FileHead> head = read_head(path);
  return head ? check(*head) : Status(head.error());
}

}  // namespace tally::store
