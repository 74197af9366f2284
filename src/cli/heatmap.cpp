#include "cli/heatmap.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "picture/png.h"
#include "report/heatmap.h"
#include "store/stream.h"

namespace tally::cli {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

// Refuses to overwrite a file that is not a PNG picture.
Status may_write(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || (S_ISREG(info.st_mode) && info.st_size == 0)) return {};
  constexpr std::array<unsigned char, 4> kSignature = {0x89, 'P', 'N', 'G'};
  std::array<unsigned char, 4> head{};
  const File file(S_ISREG(info.st_mode) ? std::fopen(path.c_str(), "rb") : nullptr);
  const bool read = file && std::fread(head.data(), 1, head.size(), file.get()) == head.size();
  if (read && head == kSignature) return {};
  return Error{path + ": exists and is not a PNG file; refusing to replace it"};
}

// Removes the file if it cannot be written completely.
Status write_file(const std::string& path, const std::vector<std::byte>& bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return Error{path + ": " + std::strerror(errno)};
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  written = std::fclose(file.release()) == 0 && written;
  if (written) return {};
  const Error error{path + ": " + std::strerror(errno)};
  ::unlink(path.c_str());
  return error;
}

// The final image; nullopt if the capture has no image of the right size.
std::optional<Picture> background_of(const analysis::RegionMap& map) {
  if (!map.picture) return std::nullopt;
  auto picture = decode_png(map.picture->png, store::stream::kMaxPicturePixels);
  const bool fits =
      picture.ok() && picture->width == map.regions.width && picture->height == map.regions.height;
  return fits ? std::optional(std::move(*picture)) : std::nullopt;
}

}  // namespace

Result<std::string> write_heatmap(const analysis::RegionMap& map, const std::string& file) {
  if (uint64_t{map.regions.width} * map.regions.height > store::stream::kMaxPicturePixels) {
    return Error{fmt::format("{} is too large for a picture", map.pass)};
  }
  if (Status allowed = may_write(file); !allowed) return allowed.error();
  const std::optional<Picture> background = background_of(map);
  const auto png = encode_png(report::draw_heatmap(map, background ? &*background : nullptr));
  if (!png) return png.error();
  if (Status written = write_file(file, *png); !written) return written.error();
  return fmt::format("{}: {} of {}, frame {}, pass {}", file, map.counter.title, map.pass,
                     map.frame, map.pass_number);
}

}  // namespace tally::cli
