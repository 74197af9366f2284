// GPU work as measured by GL query objects (gl/gpu_queries.h). Lists the kinds that the contexts
// seen so far support.
#pragma once

#include "egl/group/group.h"

namespace tally::egl {

class GpuGroup final : public Group {
 public:
  GpuGroup() : Group("GPU") {}

  // Lists the kinds of these that are not listed yet.
  void add_kinds(QueryKinds kinds);

  void add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const override;
  std::vector<uint64_t> read() override;

 private:
  std::vector<QueryKind> kinds_;  // the kind of each counter
};

}  // namespace tally::egl
