// What GL's query objects say of the GPU's work (gl/gpu_queries.h). Lists what the contexts seen so
// far can give.
#pragma once

#include "egl/group/group.h"

namespace tally::egl {

class GpuGroup final : public Group {
 public:
  GpuGroup() : Group("GPU") {}

  // A context can give these: those that are not listed yet are added.
  void add_kinds(QueryKinds kinds);

  void add_wants(const std::vector<bool>& chosen, Wants& wants) const override;
  std::vector<uint64_t> read() override;

 private:
  std::vector<QueryKind> kinds_;  // of each counter
};

}  // namespace tally::egl
