// How `tally run`, `list` and `doctor` put Tally's EGL in front of a program's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/environment.h"

namespace tally::cli {

// Tally's EGL libraries, each of which can be loaded.
struct EglFiles {
  std::vector<std::filesystem::path> manifests;  // of the vendor libraries; empty: there are none
  std::filesystem::path preload;                 // empty: there is none
  std::string problem;                           // why something is missing

  bool complete() const { return !manifests.empty() && !preload.empty(); }
};

// Those beside a program at `executable`, in a build tree or an installation, wherever that was
// moved to. libglvnd reads a relative path of a manifest as dlopen() does, so where a manifest does
// not lead to the library beside the program, one with the library's absolute path is written into
// `folder`.
EglFiles find_egl_files(const std::filesystem::path& executable,
                        const std::filesystem::path& folder);

// What libEGL.so.1 is for a program that we start.
enum class EglLibrary { None, Glvnd, Other };
EglLibrary detect_egl_library();

enum class EglMode { Vendor, Preload, Off };

// The way for this library: a vendor library where libglvnd is, the preload library elsewhere.
EglMode default_egl_mode(EglLibrary library);

// "auto" is the usual way; "vendor", "preload" and "off" are themselves.
EglMode parse_egl_mode(const std::string& word);

// This process's environment with Tally's EGL in front, by the usual way.
Environment with_tally_egl(Environment environment, const EglFiles& files);

// Vendors that the user has named stay those that serve. What is there already stays as it is.
void add_egl(Environment& environment, const EglFiles& files, EglMode mode);

}  // namespace tally::cli
