#include "store/size_limit.h"

#include <algorithm>
#include <bit>
#include <variant>

namespace tally::store {
namespace {

// For what is added in any case, and for pages that are partly empty.
constexpr uint64_t kReserve = uint64_t{64} << 10;

uint64_t text_bytes(const Column& column) {
  uint64_t bytes = 2;
  for (const int64_t value : column.values) {
    const auto magnitude = static_cast<uint64_t>(value < 0 ? -(value + 1) : value);
    bytes += static_cast<uint64_t>(std::bit_width(magnitude)) * 3 / 10 + 3;
  }
  return bytes;
}

// At least about the size of a message's rows in the file, where they can be large.
template <typename Message>
uint64_t row_bytes(const Message&) {
  return 1024;
}
uint64_t row_bytes(const stream::Module& module) { return module.spirv.size() * sizeof(uint32_t); }
uint64_t row_bytes(const stream::Message& message) { return message.text.size(); }
uint64_t row_bytes(const stream::Name& name) { return name.name.size(); }
uint64_t row_bytes(const stream::Label& label) { return 2 * label.name.size(); }
uint64_t row_bytes(const stream::Pass& pass) { return 256 + pass.attachments.size(); }
uint64_t row_bytes(const stream::CommandBatch& batch) {
  uint64_t bytes = 512 + text_bytes(batch.positions) + text_bytes(batch.labels) +
                   text_bytes(batch.gpu_begin_ns) + text_bytes(batch.gpu_time_ns);
  for (const Column& column : batch.parameters) bytes += 32 + text_bytes(column);
  return bytes;
}
uint64_t row_bytes(const stream::BatchValues& values) {
  uint64_t bytes = 0;
  for (const stream::BlockCounts& counts : values.counts)
    bytes += 64 + text_bytes(counts.executions);
  for (const stream::BlockOthers& others : values.others) bytes += 64 + text_bytes(others.values);
  return bytes;
}
uint64_t row_bytes(const stream::BlockCosts& costs) { return costs.costs.size() * 32; }
uint64_t row_bytes(const stream::FrameValues& values) { return values.values.size() * 20 + 64; }
uint64_t row_bytes(const stream::PassRegions& regions) {
  const uint64_t columns = regions.width / std::max(regions.region_width, 1u) + 2;
  const uint64_t rows = regions.height / std::max(regions.region_height, 1u) + 2;
  return columns * rows * sizeof(uint64_t);
}
uint64_t row_bytes(const stream::RegionValues& values) { return values.values.size() * 12; }
uint64_t row_bytes(const stream::PassPicture& picture) {
  return (uint64_t{picture.width} * 4 + 16) * picture.height + 1024;
}

}  // namespace

bool SizeLimit::fits(const stream::AnyMessage& message, bool completes, Writer& writer) {
  if (bytes_ == 0 || full_) return !full_;
  const uint64_t more = std::visit([](const auto& body) { return row_bytes(body); }, message);
  full_ = writer.bytes() + more + (completes ? kReserve / 2 : kReserve) > bytes_;
  return !full_;
}

}  // namespace tally::store
