// The capture stream: the messages that an instrumented process sends to the receiver (`tally run`)
// over a local stream socket.
//
// The process sends the handshake, then messages: u32 size of the rest (little-endian), u8 type,
// fields. Fields: integers as LEB128 (signed ones zigzag), bool and enumerations one byte, double 8
// bytes, text and arrays a count first. The sender chooses every id; it is unique among its kind in
// the connection, is never 0, and is defined by a message before another message uses it. Metric
// values are in the order in which the device enumerates its metrics.
//
// A message that defines a row is the row's struct with the sender's ids as keys. Its fields are
// the columns that are sent (table.h).
//
// Submission, Execution, Pass, CommandBatch and BatchValues are nested by order: an Execution
// belongs to the last Submission, passes and batches to the last Execution. Messages refer to them
// by position, so the receiver forgets them at the next Submission.
//
// With its first byte the sender passes the descriptor of its ledger (ledger.h), which says how
// many commands it has submitted. So the receiver knows how many are missing however the process
// ends.
//
// A change of any message raises kStreamVersion; sender and receiver must have the same version.
// The sender is untrusted: StreamDecoder decodes strictly and in bounded memory, ingest.h checks
// every reference.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "store/format/definition_rows.h"
#include "store/format/rows.h"

namespace tally::store::stream {

inline constexpr std::array<char, 8> kStreamMagic = {'T', 'A', 'L', 'L', 'Y', 'C', 'A', 'P'};
inline constexpr uint32_t kStreamVersion = 17;
inline constexpr size_t kHandshakeBytes = kStreamMagic.size() + sizeof(uint32_t);

// Chosen at random: names the stream when it goes on over another connection.
using StreamToken = std::array<uint64_t, 2>;

// A shader module may be large; everything else is split by the sender.
inline constexpr size_t kMaxModuleBytes = size_t{64} << 20;
inline constexpr size_t kMaxMessageBytes = size_t{4} << 20;
inline constexpr size_t kMaxTextBytes = size_t{64} << 10;

// Per shader; further ones are not sent.
inline constexpr size_t kMaxConstants = size_t{64} << 10;

// Larger ones are not sent.
inline constexpr uint64_t kMaxRegions = uint64_t{1} << 22;        // of a subpass and layer
inline constexpr uint64_t kMaxPicturePixels = uint64_t{1} << 25;  // of a layer

// True if a coordinate of a render area is one of VkOffset2D.
constexpr bool is_offset(int64_t value) { return value == static_cast<int32_t>(value); }

// The kinds of objects that can have a debug name.
enum class Named : uint8_t { Module, Pipeline, Object, Queue };
inline constexpr size_t kNamedCount = 4;

// The process that sends; always the first message.
using Process = ProcessOf<Id>;
using Queue = QueueOf<Id>;
using Metric = MetricOf<Id>;
using Module = ModuleOf<Id>;
using Shader = ShaderOf<Id>;
using PipelineStatistic = PipelineStatisticOf<Id>;
using Object = ObjectOf<Id>;
using Label = LabelOf<Id>;
using FrameCounter = FrameCounterOf<Id>;
using Message = MessageOf<Id>;
using Replacement = ReplacementOf<Id>;

// Every other message lists its fields once, in the order of the stream; the codec visits them.
#define TALLY_STREAM_FIELDS(...)  \
  template <typename Archive>     \
  void fields(Archive& archive) { \
    archive(__VA_ARGS__);         \
  }

struct Device : DeviceOf<Id> {
  std::vector<Metric> metrics;
  std::vector<std::string> region_counters;  // names; empty: passes are not counted by region
  TALLY_STREAM_FIELDS(static_cast<DeviceOf<Id>&>(*this), metrics, region_counters)
};

struct Pipeline : PipelineOf<Id> {
  TALLY_STREAM_FIELDS(static_cast<PipelineOf<Id>&>(*this), shaders)
};

// The process ends its capture in order; without this message the capture says "cut off".
struct End {
  int64_t time_ns = 0;
  TALLY_STREAM_FIELDS(time_ns)
};

// The last name of an object counts.
struct Name {
  Named kind = Named::Object;
  Id id = 0;
  std::string name;
  TALLY_STREAM_FIELDS(kind, id, name)
};

struct Frame {
  Id device = 0;
  int64_t number = 0;
  int64_t begin_ns = 0;
  TALLY_STREAM_FIELDS(device, number, begin_ns)
};

struct FrameEnded {
  Id device = 0;
  int64_t number = 0;
  int64_t end_ns = 0;
  FrameEnd ended_by = FrameEnd::Submit;  // not Open
  TALLY_STREAM_FIELDS(device, number, end_ns, ended_by)
};

struct Submission {
  Id queue = 0;
  int64_t frame = 0;  // number, of the queue's device
  int64_t number = 0;
  int64_t time_ns = 0;
  Id label = 0;
  TALLY_STREAM_FIELDS(queue, frame, number, time_ns, label)
};

struct GpuTime {
  int64_t begin_ns = 0;
  int64_t time_ns = 0;
  TALLY_STREAM_FIELDS(begin_ns, time_ns)
};

struct Execution {
  int64_t position = 0;
  std::optional<uint32_t> parent;  // position of the primary's execution in this submission
  int64_t parent_command = 0;
  Id command_buffer = 0;
  int64_t recording = 0;
  int64_t runs = 1;
  bool overlapped = false;
  TALLY_STREAM_FIELDS(position, parent, parent_command, command_buffer, recording, runs, overlapped)
};

struct Pass {
  int64_t position = 0;  // counts up from 0 in the execution
  bool dynamic = false;
  Id render_pass = 0;
  Id framebuffer = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t layers = 0;
  uint32_t view_mask = 0;
  std::string attachments;
  Id label = 0;
  std::optional<GpuTime> gpu;
  Id time_sample = 0;  // as the column of the file; 0: none
  TALLY_STREAM_FIELDS(position, dynamic, render_pass, framebuffer, width, height, layers, view_mask,
                      attachments, label, gpu, time_sample)
};

// A pass of another execution is one of the parent's: a secondary that continues the primary's
// pass.
enum class PassOf : uint8_t { None, Own, Parent };
inline constexpr size_t kPassOfCount = 3;

// Commands of the last Execution that are alike: the same function, pipeline and pass, counted in
// the same stages and blocks. A column has one value, none, or one for each command.
struct CommandBatch {
  Function function = Function::Draw;
  Id pipeline = 0;
  PassOf pass_of = PassOf::None;
  uint32_t pass = 0;
  uint32_t subpass = 0;
  bool counted = false;  // the values of its blocks follow
  bool repeats = false;  // as the column of the file
  Id time_sample = 0;    // as the column of the file; 0: none
  std::optional<uint32_t> topology;
  bool primitive_restart = false;
  uint32_t patch_control_points = 0;
  uint32_t size = 0;  // commands, at most kMaxBatchCommands
  Column positions;   // counts up
  Column labels;
  std::vector<Column> parameters;  // as many as the function has
  Column gpu_begin_ns;
  Column gpu_time_ns;
  // 0: the values that follow are those of this batch. Else a value set: they follow the first
  // batch that names it, and are those of all later batches that name it, too. Later batches have
  // as many commands, unless all commands of the first one have equal values.
  Id values = 0;
  TALLY_STREAM_FIELDS(function, pipeline, pass_of, pass, subpass, counted, repeats, time_sample,
                      topology, primitive_restart, patch_control_points, size, positions, labels,
                      parameters, gpu_begin_ns, gpu_time_ns, values)
};

// How often the commands of a batch executed a block.
struct BlockCounts {
  uint32_t sub = 0;
  uint32_t stage = 0;
  uint32_t block = 0;
  Column executions;
  TALLY_STREAM_FIELDS(sub, stage, block, executions)
};

// A block's values of a metric, where one of them is not executions x cost.
struct BlockOthers {
  uint32_t sub = 0;
  uint32_t stage = 0;
  uint32_t block = 0;
  uint32_t metric = 0;
  Column values;
  TALLY_STREAM_FIELDS(sub, stage, block, metric, values)
};

// Values of the last CommandBatch; several messages where one would be too large. Blocks that no
// command executed are left out.
struct BatchValues {
  std::vector<BlockCounts> counts;
  std::vector<BlockOthers> others;
  TALLY_STREAM_FIELDS(counts, others)
};

// No later batch names the value set.
struct ForgetValues {
  Id values = 0;
  TALLY_STREAM_FIELDS(values)
};

// The cost of one execution of each block, sent before the first BatchValues that relies on it.
struct BlockCosts {
  Id shader = 0;
  uint32_t first_block = 0;
  uint32_t metrics = 0;         // values of a block
  std::vector<uint64_t> costs;  // [block][metric]
  TALLY_STREAM_FIELDS(shader, first_block, metrics, costs)
};

// Commands of a frame whose values can never be read.
struct Missing {
  Id device = 0;
  int64_t frame = 0;
  int64_t commands = 0;
  TALLY_STREAM_FIELDS(device, frame, commands)
};

// Replaces Shader::not_instrumented.
struct NotInstrumented {
  Id shader = 0;
  std::string reason;
  TALLY_STREAM_FIELDS(shader, reason)
};

struct FrameValue {
  Id counter = 0;
  uint64_t value = 0;
  TALLY_STREAM_FIELDS(counter, value)
};

struct FrameValues {
  Id device = 0;
  int64_t frame = 0;
  std::vector<FrameValue> values;
  TALLY_STREAM_FIELDS(device, frame, values)
};

// The regions of one subpass and layer of a pass, of an execution of the last Submission; sent
// after the commands of all its executions. The first one begins at the render area's corner. Their
// values follow.
struct PassRegions {
  int64_t execution = 0;  // position
  uint32_t pass = 0;
  uint32_t subpass = 0;
  uint32_t layer = 0;
  int64_t x = 0;  // the render area
  int64_t y = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t region_width = 0;
  uint32_t region_height = 0;
  TALLY_STREAM_FIELDS(execution, pass, subpass, layer, x, y, width, height, region_width,
                      region_height)
};

// Values of a counter in the regions of the last PassRegions, row by row. Several messages where
// one would be too large. A counter that is not sent is 0 everywhere.
struct RegionValues {
  uint32_t counter = 0;  // of the device's region_counters
  std::vector<uint32_t> values;
  TALLY_STREAM_FIELDS(counter, values)
};

// Values of a counter that are not 0, of one draw in the regions of the last PassRegions, after the
// pass's own. The regions ascend; several messages where one would be too large.
struct RegionDraw {
  uint32_t counter = 0;  // of the device's region_counters
  int64_t position = 0;  // of the command in the pass's execution
  std::vector<uint32_t> regions;
  std::vector<uint32_t> values;
  TALLY_STREAM_FIELDS(counter, position, regions, values)
};

// The render area of a layer of a pass's final image, of an execution of the last Submission. Its
// rows follow from the top, each pixel as bytes R, G, B, A.
struct PassPicture {
  int64_t execution = 0;
  uint32_t pass = 0;
  uint32_t layer = 0;
  uint32_t attachment = 0;  // index in the pass's attachments
  uint32_t width = 0;
  uint32_t height = 0;
  TALLY_STREAM_FIELDS(execution, pass, layer, attachment, width, height)
};

struct PictureRows {
  std::vector<uint32_t> pixels;
  TALLY_STREAM_FIELDS(pixels)
};

// A command buffer that is recorded for captured frames has bound the pipeline.
struct Bound {
  Id pipeline = 0;
  TALLY_STREAM_FIELDS(pipeline)
};

// The sender never refers to these again; their ids are free.
struct Gone {
  std::vector<Id> objects;
  std::vector<Id> labels;
  TALLY_STREAM_FIELDS(objects, labels)
};

#undef TALLY_STREAM_FIELDS

// The type byte is the index.
using AnyMessage =
    std::variant<Process, End, Device, Queue, Module, Shader, Pipeline, Object, Name, Label, Frame,
                 FrameEnded, Submission, Execution, Pass, CommandBatch, BatchValues, BlockCosts,
                 Missing, Message, NotInstrumented, FrameCounter, FrameValues, PassRegions,
                 RegionValues, PassPicture, PictureRows, Bound, Gone, ForgetValues, Replacement,
                 PipelineStatistic, RegionDraw>;

// Encodes and decodes messages. Encoding cannot fail. Decoding trusts nothing: it checks every
// count against the bytes that are left, makes texts valid UTF-8 without zero bytes, and refuses a
// message that does not end where its size says.

using Bytes = std::vector<std::byte>;

// Precedes each message: the number of bytes that follow it.
inline constexpr size_t kSizeBytes = sizeof(uint32_t);

void append_handshake(Bytes& bytes);
// In place of the handshake, on the connection that follows one that the application closed.
struct Resumption {
  StreamToken token;
  uint64_t position = 0;  // how many bytes the sender has sent after the handshake

  static constexpr size_t kBytes = kHandshakeBytes + sizeof(StreamToken) + sizeof(uint64_t);
  void append_to(Bytes& bytes) const;
  // True if the first kHandshakeBytes of a connection begin one.
  static bool begins(std::span<const std::byte> bytes);
  static Resumption read(std::span<const std::byte> bytes);  // kBytes
};
void append_message(Bytes& bytes, const AnyMessage& message);

// One message without its size: the type byte and the fields.
Result<AnyMessage> decode_message(std::span<const std::byte> bytes);

// Decodes a connection's bytes. Holds at most one incomplete message.
class StreamDecoder {
 public:
  // Hands every complete message to `sink`. The first error, of the sink or of the stream, ends the
  // connection: afterwards feed() returns the same error.
  Status feed(std::span<const std::byte> bytes, const std::function<Status(AnyMessage&)>& sink);

 private:
  Status take_handshake();
  Status take_messages(const std::function<Status(AnyMessage&)>& sink);

  Bytes pending_;
  bool handshake_done_ = false;
  Status failed_;
};

}  // namespace tally::store::stream
