#include "report/table/output.h"

#include <zlib.h>

#include <array>
#include <utility>

namespace tally::report {
namespace {

// zlib is slow with small pieces.
constexpr size_t kMaxPending = 64 * 1024;

}  // namespace

struct Gzip::Stream {
  z_stream z{};
  gz_header header{};
  std::array<char, 64 * 1024> buffer;
};

Gzip::Gzip(Output out, int level) : out_(std::move(out)), stream_(std::make_unique<Stream>()) {
  constexpr int kGzipFormat = 15 + 16;  // the largest window; with a header of gzip
  constexpr int kMemoryLevel = 8;
  failed_ = deflateInit2(&stream_->z, level, Z_DEFLATED, kGzipFormat, kMemoryLevel,
                         Z_DEFAULT_STRATEGY) != Z_OK;
  constexpr int kUnix = 3;
  stream_->header.os = kUnix;  // zlib would write the system: the same bytes on each
  failed_ = failed_ || deflateSetHeader(&stream_->z, &stream_->header) != Z_OK;
}

Gzip::~Gzip() { deflateEnd(&stream_->z); }

void Gzip::write(std::string_view piece) {
  pending_ += piece;
  if (pending_.size() >= kMaxPending) deflate_pending(Z_NO_FLUSH);
}

Status Gzip::finish() {
  deflate_pending(Z_FINISH);
  return failed_ ? Status(Error{"cannot compress the data"}) : Status();
}

void Gzip::deflate_pending(int flush) {
  if (failed_) return;
  z_stream& z = stream_->z;
  z.next_in = reinterpret_cast<Bytef*>(pending_.data());
  z.avail_in = static_cast<uInt>(pending_.size());
  do {
    z.next_out = reinterpret_cast<Bytef*>(stream_->buffer.data());
    z.avail_out = static_cast<uInt>(stream_->buffer.size());
    failed_ = ::deflate(&z, flush) == Z_STREAM_ERROR;
    out_({stream_->buffer.data(), stream_->buffer.size() - z.avail_out});
  } while (!failed_ && z.avail_out == 0);
  pending_.clear();
}

}  // namespace tally::report
