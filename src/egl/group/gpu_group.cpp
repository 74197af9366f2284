#include "egl/group/gpu_group.h"

#include <algorithm>

#include "egl/gl/contexts.h"

namespace tally::egl {
namespace {

// The catalogue has them in the order of QueryKind.
constexpr catalogue::Number number_of(QueryKind kind) {
  return static_cast<catalogue::Number>(static_cast<uint32_t>(catalogue::Number::GlGpuTime) +
                                        static_cast<uint32_t>(kind));
}
static_assert(number_of(QueryKind::VerticesSubmitted) == catalogue::Number::GlVerticesFetched);
static_assert(number_of(QueryKind::ClippingOutput) == catalogue::Number::GlClippingOutput);

}  // namespace

void GpuGroup::add_kinds(QueryKinds kinds) {
  for (size_t i = 0; i < kQueryKindCount; i++) {
    const auto kind = static_cast<QueryKind>(i);
    const bool listed = std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
    if (!(kinds & bit_of(kind)) || listed) continue;
    kinds_.push_back(kind);
    counters_.push_back(counter_info(number_of(kind)));
  }
}

void GpuGroup::add_wants(const std::vector<bool>& chosen, Wants& wants) const {
  for (size_t i = 0; i < chosen.size(); i++) {
    if (!chosen[i]) continue;
    wants.plan.queries |= bit_of(kinds_[i]);
    wants.collecting |= kCollectGpu;
  }
}

std::vector<uint64_t> GpuGroup::read() {
  std::vector<uint64_t> values;
  for (const QueryKind kind : kinds_) values.push_back(sum_of_queries(kind));
  return values;
}

}  // namespace tally::egl
