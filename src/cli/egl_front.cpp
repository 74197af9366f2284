#include "cli/egl_front.h"

#include <dlfcn.h>

#include <algorithm>

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVendorFiles = "__EGL_VENDOR_LIBRARY_FILENAMES";
constexpr const char* kRealVendors = "TALLY_EGL_VENDORS";
constexpr const char* kPreload = "LD_PRELOAD";

std::vector<fs::path> manifests_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

EglFiles find_egl_files(const fs::path& executable) {
  const fs::path prefix = executable.parent_path().parent_path();
  EglFiles files;
  for (const char* folder : {"lib/egl_vendor.d", "share/tally/egl_vendor.d"}) {
    if (files.manifests.empty()) files.manifests = manifests_in(prefix / folder);
  }
  for (const char* folder : {"lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64"}) {
    const fs::path library = prefix / folder / "libEGL_tally_preload.so";
    std::error_code ignored;
    if (files.preload.empty() && fs::exists(library, ignored)) files.preload = library;
  }
  return files;
}

EglLibrary look_at_egl_library() {
  if (dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr) return EglLibrary::None;
  // libglvnd's stands on this one.
  const bool glvnd = dlopen("libGLdispatch.so.0", RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  return glvnd ? EglLibrary::Glvnd : EglLibrary::Other;
}

EglWay usual_way(EglLibrary library) {
  return library == EglLibrary::Other ? EglWay::Preload : EglWay::Vendor;
}

EglWay egl_way_from(const std::string& word) {
  if (word == "auto") return usual_way(look_at_egl_library());
  return word == "vendor" ? EglWay::Vendor : word == "preload" ? EglWay::Preload : EglWay::Off;
}

void add_egl(Environment& environment, const EglFiles& files, EglWay way) {
  if (way == EglWay::Preload && !files.preload.empty()) {
    std::string& preloaded = environment[kPreload];
    if (preloaded.find(files.preload.string()) != std::string::npos) return;
    preloaded = files.preload.string() + (preloaded.empty() ? "" : ":" + preloaded);
  }
  if (way != EglWay::Vendor || files.manifests.empty()) return;
  const std::vector<std::string> before = split_list(value_of(environment, kVendorFiles));
  std::vector<std::string> ours;
  for (const fs::path& manifest : files.manifests) ours.push_back(manifest.string());
  if (std::find(before.begin(), before.end(), ours.front()) != before.end()) return;
  if (!before.empty() && value_of(environment, kRealVendors).empty()) {
    environment[kRealVendors] = join_list(before);
  }
  environment[kVendorFiles] = join_list(ours);
}

Environment with_tally_egl(Environment environment, const EglFiles& files) {
  add_egl(environment, files, usual_way(look_at_egl_library()));
  return environment;
}

}  // namespace tally::cli
