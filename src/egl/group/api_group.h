// The application's GL calls (gl/api_counts.h), summed over all its threads and contexts.
#pragma once

#include "egl/group/group.h"

namespace tally::egl {

class ApiGroup final : public Group {
 public:
  ApiGroup();
  void add_to_request(const std::vector<bool>& chosen, CollectionRequest& request) const override;
  std::vector<uint64_t> read() override;
};

}  // namespace tally::egl
