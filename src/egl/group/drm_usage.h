// What the kernel knows of this process's use of GPUs: the DRM usage statistics of
// /proc/<pid>/fdinfo (Documentation/gpu/drm-usage-stats.rst of the kernel), for drivers that write
// them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tally::egl {

struct DrmUsage {
  std::map<std::string, uint64_t> engine_ns;  // busy time by engine ("render", "video" ...)
  std::map<std::string, uint64_t>
      memory_bytes;  // resident memory by region ("vram0", "system" ...)
};

// Sums over the open DRM devices of a process, each client once though several descriptors may
// share it. `process_folder` is /proc/self, or a copy of such a folder.
DrmUsage read_drm_usage(const std::string& process_folder);

}  // namespace tally::egl
