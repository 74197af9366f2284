// Writes files whole or not at all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"
#include "platform/files.h"

namespace tally::cli {

// Replaces the file, or creates it: another process sees the old text or the new one, and a failure
// leaves the file as it is. Keeps the file's permissions. Refuses what is not a regular file.
Status replace_file(const std::string& path, const std::string& text);

// A file that appears under its name only when it is complete: it is written under a temporary name
// in the same folder, and renamed at the end. Another process sees the old file or the new one, and
// a failure leaves the old file as it is.

class PartialFile {
 public:
  // `path` is a name of `folder`, which must live as long. A link of this name is replaced. The
  // error says only why.
  static Result<PartialFile> create(const platform::Folder& folder, const std::string& path,
                                    unsigned mode = 0666);
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  // Removes the temporary file unless finish() succeeded.
  ~PartialFile();

  // After an error, writes nothing more; finish() reports it.
  void write(std::string_view piece);
  // Waits until the disk has the text, and gives the file its name. Returns 0 or errno.
  int finish(platform::Existing existing);
  int descriptor() const { return file_.get(); }

 private:
  PartialFile(const platform::Folder& folder, std::string path, std::string temporary,
              UniqueFd file)
      : folder_(&folder),
        path_(std::move(path)),
        temporary_(std::move(temporary)),
        file_(std::move(file)) {}
  void flush();

  const platform::Folder* folder_;
  std::string path_;
  std::string temporary_;  // empty: there is none
  UniqueFd file_;
  std::string buffer_;
  int error_ = 0;  // errno of the first failed write
};

// "scene.frag.3f09ab": a name in the same folder that no file is likely to have.
std::string temporary_name(const std::string& path);

// Chooses the file of a capture. Existing files are overwritten only with --force, and then only
// captures that no process has open.

// Returns the name that the user asked for; it is an error if the file exists and `force` is not
// set. Without a name, returns <application>.tally in the current folder, or <application>-2.tally,
// -3 ... if that exists. Without `force` the file is created empty, which reserves its name.
Result<std::string> choose_output(const std::string& asked, const std::string& application,
                                  bool force);

// "page: game.html (1.2 MiB), file:///home/me/game.html". `what` says what the file holds.
std::string written_line(const std::string& what, const std::string& path);

// Prints that line to standard error.
void say_written(const std::string& what, const std::string& path);

// The file that an export, a page or a heatmap is written to: standard output, or a file that
// appears under its name only when it is complete.

class ExportFile {
 public:
  // `path` is "" or "-" for standard output. Without `force` the file must not exist; with it, a
  // regular file other than `capture` is replaced.
  static Result<ExportFile> open(const std::string& path, const std::string& capture, bool force);
  ExportFile(ExportFile&& other) noexcept;
  ExportFile& operator=(ExportFile&&) = delete;
  // Removes the file unless finish() succeeded.
  ~ExportFile();

  // After an error, writes nothing more; finish() reports it.
  void write(std::string_view piece);
  Status finish();
  // Names the file on standard error, if there is one.
  void say_written(const std::string& what) const;
  bool is_terminal() const;

 private:
  ExportFile() = default;
  ExportFile(std::string path, PartialFile file, bool is_reserved)
      : path_(std::move(path)), file_(std::move(file)), is_reserved_(is_reserved) {}

  std::string path_;
  std::optional<PartialFile> file_;  // none: standard output
  bool is_reserved_ = false;         // `path_` is an empty file of ours
  int error_ = 0;                    // errno of the first failed write to standard output
};

// A folder of this process, which the destructor removes: a private one below TMPDIR, or one for
// files that get their place later. The owner holds a lock on it that the kernel releases however
// the process ends. The next process of this user that creates such a folder next to it removes the
// folders whose owners are gone.

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();
  // In `parent`, with the access that the umask gives to others.
  static Result<TemporaryFolder> make_in(const std::filesystem::path& parent,
                                         const std::string& prefix);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  // Makes it a lasting folder of this name, which no folder with files has yet. Returns 0 or errno.
  int rename_to(const std::filesystem::path& path);

 private:
  static Result<TemporaryFolder> make(const std::filesystem::path& parent,
                                      const std::string& prefix, bool is_private);
  TemporaryFolder(std::filesystem::path path, platform::FolderLock lock);

  std::filesystem::path path_;
  platform::FolderLock lock_;
};

// Writes source files whose names come from shaders into a folder of the user. Whatever a name
// holds, nothing outside the folder is touched, and no file is overwritten.

// A relative path without "..", drive letters and control characters: "C:\a\..\b.hlsl" becomes
// "C_/a/b.hlsl". Never empty.
std::string safe_relative_path(std::string_view name);

// Writes the text below the folder, which is created if necessary. A file that has this text
// already is left as it is; one with another text is an error, and so is a link on the way. Returns
// the file's absolute path.
Result<std::string> write_source(const std::string& folder, std::string_view name,
                                 std::string_view text);

}  // namespace tally::cli
