#include "egl/group/api_group.h"

#include <algorithm>

#include "egl/gl/api_counts.h"

namespace tally::egl {
namespace {

struct Row {
  ApiCounter counter;
  const char* name;
  const char* unit;  // "ns": a time
};

constexpr Row kRows[] = {
    {ApiCounter::DrawCalls, "Draw calls", "calls"},
    {ApiCounter::Draws, "Draws, each of a multi-draw", "draws"},
    {ApiCounter::IndirectDraws, "Indirect draws", "draws"},
    {ApiCounter::Vertices, "Vertices submitted", "vertices"},
    {ApiCounter::Primitives, "Primitives submitted", "primitives"},
    {ApiCounter::Instances, "Instances submitted", "instances"},
    {ApiCounter::Dispatches, "Compute dispatches", "calls"},
    {ApiCounter::WorkGroups, "Compute work groups", "groups"},
    {ApiCounter::ComputeInvocations, "Compute invocations submitted", "invocations"},
    {ApiCounter::IndirectDispatches, "Indirect compute dispatches", "calls"},
    {ApiCounter::Clears, "Clears", "calls"},
    {ApiCounter::Copies, "Copies and blits", "calls"},
    {ApiCounter::Mipmaps, "Mipmap generations", "calls"},
    {ApiCounter::StateChanges, "State changes", "calls"},
    {ApiCounter::ProgramSwitches, "Program switches", "calls"},
    {ApiCounter::TextureBinds, "Texture binds", "calls"},
    {ApiCounter::BufferBinds, "Buffer binds", "calls"},
    {ApiCounter::VertexArrayBinds, "Vertex array binds", "calls"},
    {ApiCounter::FramebufferBinds, "Framebuffer binds", "calls"},
    {ApiCounter::UniformUpdates, "Uniform updates", "calls"},
    {ApiCounter::UniformBytes, "Uniform bytes", "bytes"},
    {ApiCounter::TextureUploads, "Texture uploads", "calls"},
    {ApiCounter::TextureBytes, "Texture upload bytes", "bytes"},
    {ApiCounter::BufferUploads, "Buffer uploads", "calls"},
    {ApiCounter::BufferBytes, "Buffer upload bytes", "bytes"},
    {ApiCounter::BufferMaps, "Buffer maps", "calls"},
    {ApiCounter::BufferMapBytes, "Buffer bytes mapped for writing", "bytes"},
    {ApiCounter::Compiles, "Shader compiles", "calls"},
    {ApiCounter::CompileTime, "Shader compile time", "ns"},
    {ApiCounter::Links, "Program links", "calls"},
    {ApiCounter::LinkTime, "Program link time", "ns"},
    {ApiCounter::Errors, "GL errors", "errors"},
    {ApiCounter::SyncCalls, "Synchronising calls", "calls"},
    {ApiCounter::SyncTime, "Time in synchronising calls", "ns"},
    {ApiCounter::Readbacks, "Readbacks", "calls"},
    {ApiCounter::ReadbackBytes, "Readback bytes", "bytes"},
    {ApiCounter::Flushes, "Flushes", "calls"},
};
static_assert(std::size(kRows) == kApiCounterCount);
static_assert([] {
  for (size_t i = 0; i < kApiCounterCount; i++) {
    if (static_cast<size_t>(kRows[i].counter) != i) return false;
  }
  return true;
}());

bool is(const std::vector<bool>& chosen, ApiCounter counter) {
  return chosen[static_cast<size_t>(counter)];
}

}  // namespace

ApiGroup::ApiGroup() : Group("API") {
  for (const Row& row : kRows) {
    counters_.push_back(std::string_view(row.unit) == "ns" ? time_counter(row.name)
                                                           : count_counter(row.name, row.unit));
  }
}

void ApiGroup::add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const {
  if (std::find(chosen.begin(), chosen.end(), true) == chosen.end()) return;
  request.collecting |= kCollectApi;
  if (is(chosen, ApiCounter::ComputeInvocations)) request.collecting |= kCollectComputeInvocations;
  if (is(chosen, ApiCounter::Errors)) request.plan.errors = true;
}

std::vector<uint64_t> ApiGroup::read() {
  const ApiTotals totals = api_totals();
  return {totals.begin(), totals.end()};
}

}  // namespace tally::egl
