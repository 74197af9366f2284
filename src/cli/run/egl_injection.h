// Puts Tally's EGL libraries in front of a program's EGL, for `tally run`, `list` and `doctor`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/run/environment.h"

namespace tally::cli {

// Tally's EGL libraries. Each of them was loaded successfully.
struct EglFiles {
  std::vector<std::filesystem::path> manifests;  // of the vendor libraries; empty if there are none
  std::filesystem::path preload;                 // empty if there is none
  std::string problem;                           // the first reason why a library is missing

  bool complete() const { return !manifests.empty() && !preload.empty(); }
};

// Finds the libraries next to the program at `executable`, in a build tree or an installation, even
// if that was moved. libglvnd resolves a manifest's relative path as dlopen() does. If a manifest
// does not lead to the library next to the program, a manifest with the library's absolute path is
// written to `folder`.
EglFiles find_egl_files(const std::filesystem::path& executable,
                        const std::filesystem::path& folder);

// The kind of libEGL.so.1 that a program started by us would load.
enum class EglLibrary { None, Glvnd, Other };
EglLibrary detect_egl_library();

enum class EglMode { Vendor, Preload, Off };

// The mode for this library: a vendor library for libglvnd, else the preload library.
EglMode default_egl_mode(EglLibrary library);

// Parses "auto" (the default mode), "vendor", "preload" and "off".
EglMode parse_egl_mode(const std::string& word);

// The environment with Tally's EGL in front of the program's, in the default mode.
Environment with_tally_egl(Environment environment, const EglFiles& files);

// Adds Tally's EGL to the environment. Vendors that the user has selected stay in use. Libraries of
// ours that are already listed stay where they are.
void add_egl(Environment& environment, const EglFiles& files, EglMode mode);

}  // namespace tally::cli
