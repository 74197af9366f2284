#include "cli/run/egl_injection.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "cli/run/environment.h"

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

// The library that a manifest names; empty if the file is not a manifest.
fs::path library_of_manifest(const fs::path& file) {
  const auto text = read_small_file(file.string());
  if (!text) return {};
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto pointer = nlohmann::json::json_pointer("/ICD/library_path");
  if (!json.is_object() || !json.contains(pointer) || !json[pointer].is_string()) return {};
  return json[pointer].get<std::string>();
}

fs::path write_manifest(const fs::path& file, const fs::path& library) {
  if (!file.is_absolute()) return {};
  const nlohmann::json json = {{"file_format_version", "1.0.0"},
                               {"ICD", {{"library_path", library.string()}}}};
  std::ofstream out(file);
  out << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  return out.flush() ? file : fs::path();
}

// Loads the library and returns the error, or an empty text. The library stays loaded, because it
// would not be unloaded anyway.
std::string load_error(const fs::path& library) {
  if (dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) return {};
  const char* const error = dlerror();
  return error != nullptr ? error : library.string() + " cannot be loaded";
}

class EglSearch {
 public:
  EglSearch(const fs::path& executable, const fs::path& folder)
      : prefix_(executable.parent_path().parent_path()), folder_(folder) {}

  EglFiles run() {
    std::vector<fs::path> found;
    for (const char* place : {"lib/egl_vendor.d", "share/tally/egl_vendor.d"}) {
      if (found.empty()) found = manifests_in(prefix_ / place);
    }
    if (found.empty()) files_.problem = "there are no EGL vendor manifests in " + prefix_.string();
    for (const fs::path& manifest : found) {
      if (!take(manifest)) break;  // further places require the first
    }
    const fs::path preload = beside_executable("libEGL_tally_preload.so");
    if (preload.empty()) {
      note("there is no libEGL_tally_preload.so in " + prefix_.string());
    } else if (const std::string error = load_error(preload); !error.empty()) {
      note(error);
    } else {
      files_.preload = preload;
    }
    return std::move(files_);
  }

 private:
  bool take(const fs::path& manifest) {
    const fs::path named = library_of_manifest(manifest);
    const fs::path ours = named.empty() ? fs::path() : beside_executable(named.filename());
    const fs::path library = ours.empty() ? named : ours;
    if (library.empty()) return note(manifest.string() + " names no library");
    if (const std::string error = load_error(library); !error.empty()) return note(error);
    std::error_code ignored;
    const bool leads_there =
        ours.empty() || (named.is_absolute() && fs::equivalent(named, ours, ignored));
    const fs::path usable =
        leads_there ? manifest : write_manifest(folder_ / manifest.filename(), ours);
    if (usable.empty()) return note("no manifest can be written into '" + folder_.string() + "'");
    files_.manifests.push_back(usable);
    return true;
  }

  fs::path beside_executable(const fs::path& library) const {
    for (const fs::path& folder : library_folders(prefix_)) {
      std::error_code ignored;
      if (fs::exists(folder / library, ignored)) return folder / library;
    }
    return {};
  }

  bool note(const std::string& problem) {
    if (files_.problem.empty()) files_.problem = problem;
    return false;
  }

  const fs::path prefix_;
  const fs::path folder_;
  EglFiles files_;
};

}  // namespace

EglFiles find_egl_files(const fs::path& executable, const fs::path& folder) {
  return EglSearch(executable, folder).run();
}

EglLibrary detect_egl_library() {
  if (dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr) return EglLibrary::None;
  // libglvnd's libEGL depends on this library.
  const bool glvnd = dlopen("libGLdispatch.so.0", RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  return glvnd ? EglLibrary::Glvnd : EglLibrary::Other;
}

EglMode default_egl_mode(EglLibrary library) {
  return library == EglLibrary::Other ? EglMode::Preload : EglMode::Vendor;
}

EglMode parse_egl_mode(const std::string& word) {
  if (word == "auto") return default_egl_mode(detect_egl_library());
  return word == "vendor" ? EglMode::Vendor : word == "preload" ? EglMode::Preload : EglMode::Off;
}

void add_egl(Environment& environment, const EglFiles& files, EglMode mode) {
  if (mode == EglMode::Preload && !files.preload.empty()) {
    std::string& preloaded = environment[kPreload];
    if (preloaded.find(files.preload.string()) != std::string::npos) return;
    preloaded = files.preload.string() + (preloaded.empty() ? "" : ":" + preloaded);
  }
  if (mode != EglMode::Vendor || files.manifests.empty()) return;
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
  add_egl(environment, files, default_egl_mode(detect_egl_library()));
  return environment;
}

}  // namespace tally::cli
