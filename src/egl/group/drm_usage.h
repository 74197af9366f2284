// This process's GPU usage as the kernel reports it: the DRM usage statistics in /proc/<pid>/fdinfo
// (kernel documentation: Documentation/gpu/drm-usage-stats.rst), for drivers that provide them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tally::egl {

struct DrmUsage {
  std::map<std::string, uint64_t> engine_ns;  // busy time by engine ("render", "video", ...)
  std::map<std::string, uint64_t>
      memory_bytes;  // resident memory by region ("vram0", "system", ...)
};

// Sums over the process's open DRM devices. Each client counts once, even if several descriptors
// share it. `process_folder` is /proc/self, or a copy of such a folder.
DrmUsage read_drm_usage(const std::string& process_folder);

}  // namespace tally::egl
