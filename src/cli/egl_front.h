// How `tally run`, `list` and `doctor` put Tally's EGL in front of a program's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/environment.h"

namespace tally::cli {

// Tally's EGL libraries beside a program at `executable`, in a build tree or an installation.
struct EglFiles {
  std::vector<std::filesystem::path> manifests;  // of the vendor libraries; empty: not installed
  std::filesystem::path preload;                 // empty: not installed

  bool complete() const { return !manifests.empty() && !preload.empty(); }
};
EglFiles find_egl_files(const std::filesystem::path& executable);

// What libEGL.so.1 is for a program that we start.
enum class EglLibrary { None, Glvnd, Other };
EglLibrary look_at_egl_library();

enum class EglWay { Vendor, Preload, Off };

// The way for this library: a vendor library where libglvnd is, the preload library elsewhere.
EglWay usual_way(EglLibrary library);

// "auto" is the usual way; "vendor", "preload" and "off" are themselves.
EglWay egl_way_from(const std::string& word);

// This process's environment with Tally's EGL in front, by the usual way.
Environment with_tally_egl(Environment environment, const EglFiles& files);

// Vendors that the user has named stay those that serve. What is there already stays as it is.
void add_egl(Environment& environment, const EglFiles& files, EglWay way);

}  // namespace tally::cli
