#include "store/format/rows.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <charconv>
#include <iterator>

namespace tally::store {
namespace {

constexpr std::string_view kNullText = "null";

void append_number(std::string& json, int64_t value) {
  if (value == Column::kNull) {
    json += kNullText;
  } else {
    fmt::format_to(std::back_inserter(json), FMT_COMPILE("{}"), value);
  }
}

// Reads a number or null and removes it from the front of `json`.
bool take_number(std::string_view& json, int64_t& value) {
  if (json.starts_with(kNullText)) {
    json.remove_prefix(kNullText.size());
    value = Column::kNull;
    return true;
  }
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), value);
  if (error != std::errc() || value == Column::kNull) return false;
  json.remove_prefix(static_cast<size_t>(end - json.data()));
  return true;
}

}  // namespace

void Column::append_another(size_t command, int64_t value) {
  if (command == 0) {
    values.assign(1, value);
  } else if (at(0) != value) {
    values.assign(command, at(0));
    values.push_back(value);
  }
}

void Column::append_same(size_t command, size_t count, int64_t value) {
  if (count == 0) return;
  append(command, value);
  if (values.size() > 1) values.insert(values.end(), count - 1, value);
}

std::string to_json(const Column& column) {
  std::string json;
  if (column.values.size() <= 1) {
    append_number(json, column.at(0));
    return json;
  }
  json.reserve(column.values.size() * 4);
  for (const int64_t value : column.values) {
    json += json.empty() ? '[' : ',';
    append_number(json, value);
  }
  json += ']';
  return json;
}

std::optional<Column> column_from_json(std::string_view json, size_t commands) {
  Column column;
  int64_t value = 0;
  if (!json.starts_with('[')) {
    if (!take_number(json, value) || !json.empty()) return std::nullopt;
    if (value != Column::kNull) column.values.push_back(value);
    return column;
  }
  column.values.reserve(commands);
  do {
    json.remove_prefix(1);
    if (column.values.size() == commands || !take_number(json, value)) return std::nullopt;
    column.values.push_back(value);
  } while (json.starts_with(','));
  if (json != "]" || column.values.size() != commands) return std::nullopt;
  return column;
}

namespace {

using enum CallKind;

constexpr FunctionInfo kFunctions[] = {
    {Draw, "vkCmdDraw", {"vertexCount", "instanceCount", "firstVertex", "firstInstance"}},
    {Draw,
     "vkCmdDrawIndexed",
     {"indexCount", "instanceCount", "firstIndex", "vertexOffset", "firstInstance"}},
    {Draw, "vkCmdDrawIndirect", {"offset", "drawCount", "stride"}},
    {Draw, "vkCmdDrawIndexedIndirect", {"offset", "drawCount", "stride"}},
    {Draw, "vkCmdDrawIndirectCount", {"offset", "countBufferOffset", "maxDrawCount", "stride"}},
    {Draw,
     "vkCmdDrawIndexedIndirectCount",
     {"offset", "countBufferOffset", "maxDrawCount", "stride"}},
    {Draw,
     "vkCmdDrawIndirectByteCountEXT",
     {"instanceCount", "firstInstance", "counterBufferOffset", "counterOffset", "vertexStride"}},
    {Draw, "vkCmdDrawMultiEXT", {"drawCount", "instanceCount", "firstInstance"}},
    {Draw, "vkCmdDrawMultiIndexedEXT", {"drawCount", "instanceCount", "firstInstance"}},
    {Draw, "vkCmdDrawMeshTasksEXT", {"groupCountX", "groupCountY", "groupCountZ"}},
    {Draw, "vkCmdDrawMeshTasksIndirectEXT", {"offset", "drawCount", "stride"}},
    {Draw,
     "vkCmdDrawMeshTasksIndirectCountEXT",
     {"offset", "countBufferOffset", "maxDrawCount", "stride"}},
    {Draw, "vkCmdDrawMeshTasksNV", {"taskCount", "firstTask"}},
    {Draw, "vkCmdDrawMeshTasksIndirectNV", {"offset", "drawCount", "stride"}},
    {Draw,
     "vkCmdDrawMeshTasksIndirectCountNV",
     {"offset", "countBufferOffset", "maxDrawCount", "stride"}},
    {Dispatch, "vkCmdDispatch", {"groupCountX", "groupCountY", "groupCountZ"}},
    {Dispatch,
     "vkCmdDispatchBase",
     {"groupCountX", "groupCountY", "groupCountZ", "baseGroupX", "baseGroupY", "baseGroupZ"}},
    {Dispatch, "vkCmdDispatchIndirect", {"offset"}},
    {TraceRays, "vkCmdTraceRaysKHR", {"width", "height", "depth"}},
    {TraceRays, "vkCmdTraceRaysIndirectKHR", {}},
    {TraceRays, "vkCmdTraceRaysIndirect2KHR", {}},
    {TraceRays, "vkCmdTraceRaysNV", {"width", "height", "depth"}},
    {Generated, "vkCmdExecuteGeneratedCommandsEXT", {"isPreprocessed"}},
    {Draw, "vkCmdDrawIndirect2KHR", {"drawCount", "stride"}},
    {Draw, "vkCmdDrawIndexedIndirect2KHR", {"drawCount", "stride"}},
    {Draw, "vkCmdDrawIndirectCount2KHR", {"maxDrawCount", "stride"}},
    {Draw, "vkCmdDrawIndexedIndirectCount2KHR", {"maxDrawCount", "stride"}},
    {Draw,
     "vkCmdDrawIndirectByteCount2EXT",
     {"instanceCount", "firstInstance", "counterOffset", "vertexStride"}},
    {Draw, "vkCmdDrawMeshTasksIndirect2EXT", {"drawCount", "stride"}},
    {Draw, "vkCmdDrawMeshTasksIndirectCount2EXT", {"maxDrawCount", "stride"}},
    {Dispatch, "vkCmdDispatchIndirect2KHR", {}},
};
static_assert(std::size(kFunctions) == kFunctionCount);

}  // namespace

const FunctionInfo& function_info(Function function) {
  return kFunctions[static_cast<size_t>(function)];
}

size_t parameter_count(Function function) {
  size_t count = 0;
  for (const char* name : function_info(function).parameters) count += name != nullptr ? 1 : 0;
  return count;
}

}  // namespace tally::store
