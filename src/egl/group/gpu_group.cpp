#include "egl/group/gpu_group.h"

#include <algorithm>

#include "egl/gl/contexts.h"

namespace tally::egl {
namespace {

struct Row {
  const char* name;
  const char* unit;  // "ns": a time
};

// In the order of QueryKind.
constexpr Row kRows[kQueryKindCount] = {
    {"GPU time", "ns"},
    {"Samples passed", "samples"},
    {"Primitives generated", "primitives"},
    {"Primitives written by transform feedback", "primitives"},
    {"Vertices fetched", "vertices"},
    {"Primitives assembled", "primitives"},
    {"Vertex shader invocations", "invocations"},
    {"Tessellation control patches", "patches"},
    {"Tessellation evaluation invocations", "invocations"},
    {"Geometry shader invocations", "invocations"},
    {"Geometry shader primitives", "primitives"},
    {"Fragment shader invocations", "invocations"},
    {"Compute shader invocations", "invocations"},
    {"Primitives clipped", "primitives"},
    {"Primitives left by clipping", "primitives"},
};

}  // namespace

void GpuGroup::add_kinds(QueryKinds kinds) {
  for (size_t i = 0; i < kQueryKindCount; i++) {
    const auto kind = static_cast<QueryKind>(i);
    const bool listed = std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
    if (!(kinds & bit_of(kind)) || listed) continue;
    kinds_.push_back(kind);
    const Row& row = kRows[i];
    counters_.push_back(std::string_view(row.unit) == "ns" ? time_counter(row.name)
                                                           : count_counter(row.name, row.unit));
  }
}

void GpuGroup::add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const {
  for (size_t i = 0; i < chosen.size(); i++) {
    if (!chosen[i]) continue;
    request.plan.queries |= bit_of(kinds_[i]);
    request.collecting |= kCollectGpu;
  }
}

std::vector<uint64_t> GpuGroup::read() {
  std::vector<uint64_t> values;
  for (const QueryKind kind : kinds_) values.push_back(sum_of_queries(kind));
  return values;
}

}  // namespace tally::egl
