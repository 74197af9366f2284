#include "cli/version.h"

#include <fmt/format.h>
#include <spirv-tools/libspirv.h>
#include <vulkan/vulkan_core.h>

#include <spirv/unified1/spirv.hpp11>
#include <string>

#include "report/html/page.h"

namespace tally::cli {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

#if defined(__x86_64__)
constexpr const char* kProcessor = "x86-64";
#elif defined(__aarch64__)
constexpr const char* kProcessor = "arm64";
#else
constexpr const char* kProcessor = "another processor";
#endif

}  // namespace

std::string version_text() {
  const std::string sources = TALLY_BUILD;
  return fmt::format(
      "tally {}\nbuild: {}{}{} for {}\nSPIR-V {}.{}, SPIRV-Tools {}\nVulkan registry {}.{}.{}{}",
      TALLY_VERSION, sources, sources.empty() ? "" : ", ", kCompiler, kProcessor,
      spv::Version >> 16, spv::Version >> 8 & 0xff, spvSoftwareVersionString(),
      VK_API_VERSION_MAJOR(VK_HEADER_VERSION_COMPLETE),
      VK_API_VERSION_MINOR(VK_HEADER_VERSION_COMPLETE),
      VK_API_VERSION_PATCH(VK_HEADER_VERSION_COMPLETE),
      report::why_no_html().empty() ? "" : "\nwithout HTML reports");
}

}  // namespace tally::cli
