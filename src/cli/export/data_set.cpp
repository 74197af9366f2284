#include "cli/export/data_set.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "analysis/coverage/coverage.h"
#include "analysis/diff/make_profile.h"
#include "analysis/fleet/fleet_rows.h"
#include "analysis/model/model.h"
#include "analysis/tables/analyzer.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/run/environment.h"
#include "platform/program.h"
#include "report/export/data_set.h"

namespace tally::cli {

namespace {

// The commit that a capture belongs to in a data set.
struct Commit {
  std::string name;
  std::optional<int64_t> time;  // in seconds since 1970; none: no checkout knows it
};

constexpr std::chrono::seconds kGitLimit{30};

// GitHub, GitLab, Azure, CircleCI, Travis, Bitbucket, Buildkite, Drone, Jenkins.
constexpr const char* kVariables[] = {"GITHUB_SHA",       "CI_COMMIT_SHA",    "BUILD_SOURCEVERSION",
                                      "CIRCLE_SHA1",      "TRAVIS_COMMIT",    "BITBUCKET_COMMIT",
                                      "BUILDKITE_COMMIT", "DRONE_COMMIT_SHA", "GIT_COMMIT"};

// A revision of the checkout around the current folder, as git describes it.
std::optional<Commit> git_commit(const std::string& revision, const Environment& environment) {
  const auto run =
      platform::run_captured({"git", "show", "--no-patch", "--no-show-signature", "--format=%H %ct",
                              "--end-of-options", revision + "^{commit}"},
                             environment_strings(environment), kGitLimit);
  if (!run || run->timed_out || run->end.shell_status() != 0) return std::nullopt;
  const std::string& text = run->standard_output;
  const size_t space = text.find(' ');
  if (space == std::string::npos || space == 0) return std::nullopt;
  int64_t time = 0;
  const auto parsed = std::from_chars(text.data() + space + 1, text.data() + text.size(), time);
  if (parsed.ec != std::errc() || *parsed.ptr != '\n') return std::nullopt;
  return Commit{text.substr(0, space), time};
}

// `asked`, or HEAD of the git checkout around the current folder, or what a CI system says in
// `environment`.
Result<Commit> find_commit(const std::string& asked, const Environment& environment) {
  const auto known = git_commit(asked.empty() ? "HEAD" : asked, environment);
  if (!asked.empty()) return Commit{asked, known ? known->time : std::nullopt};
  if (known) return *known;
  for (const char* variable : kVariables) {
    if (std::string name = value_of(environment, variable); !name.empty())
      return Commit{std::move(name), std::nullopt};
  }
  return Error{
      "no commit: this is not a git checkout, and no variable of a CI system names one; "
      "name it with --commit"};
}

}  // namespace

// Writes Parquet files with DuckDB, where its library is installed: it is opened at run time.

class ParquetWriter {
 public:
  // Opens libduckdb.so, which the dynamic linker finds.
  static Result<ParquetWriter> open();
  ParquetWriter(ParquetWriter&&) noexcept;
  ParquetWriter& operator=(ParquetWriter&&) noexcept;
  ~ParquetWriter();

  // Copies a file of JSON lines. `columns`: a DuckDB struct, {name: 'TYPE', ...}.
  Status write(const std::string& json_lines, const std::string& columns, const std::string& path);

 private:
  struct Library;
  explicit ParquetWriter(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

namespace {

constexpr const char* kLibrary = "libduckdb.so";

// The part of DuckDB's C interface that is used here.
using Handle = void*;
struct QueryResult {
  std::array<uint64_t, 3> counts{};
  std::array<void*, 3> pointers{};
};
using Open = int(const char* path, Handle* database);
using Connect = int(Handle database, Handle* connection);
using Query = int(Handle connection, const char* sql, QueryResult* result);
using ResultError = const char*(QueryResult* result);
using DestroyResult = void(QueryResult* result);
using CloseHandle = void(Handle* handle);

std::string sql_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

// A path that is read is a pattern.
std::string as_pattern(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    const bool is_special = c == '*' || c == '?' || c == '[';
    pattern += is_special ? fmt::format("[{}]", c) : std::string(1, c);
  }
  return pattern;
}

}  // namespace

struct ParquetWriter::Library {
  Library() : handle(dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
    open = symbol<Open>("duckdb_open");
    connect = symbol<Connect>("duckdb_connect");
    query = symbol<Query>("duckdb_query");
    result_error = symbol<ResultError>("duckdb_result_error");
    destroy_result = symbol<DestroyResult>("duckdb_destroy_result");
    disconnect = symbol<CloseHandle>("duckdb_disconnect");
    close = symbol<CloseHandle>("duckdb_close");
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  // The library stays loaded: it may have threads.
  ~Library() {
    if (connection != nullptr) disconnect(&connection);
    if (database != nullptr) close(&database);
  }

  template <typename Function>
  Function* symbol(const char* name) {
    void* found = handle == nullptr ? nullptr : dlsym(handle, name);
    is_complete &= found != nullptr;
    return reinterpret_cast<Function*>(found);
  }

  Status run(const std::string& sql) {
    QueryResult result;
    const bool failed = query(connection, sql.c_str(), &result) != 0;
    Status status;
    if (failed) {
      const char* text = result_error(&result);
      const std::string message = text == nullptr ? "unknown error" : text;
      status = Error{"DuckDB: " + message.substr(0, message.find('\n'))};
    }
    destroy_result(&result);
    return status;
  }

  void* handle;
  bool is_complete = true;
  Open* open;
  Connect* connect;
  Query* query;
  ResultError* result_error;
  DestroyResult* destroy_result;
  CloseHandle *disconnect, *close;
  Handle database = nullptr, connection = nullptr;
};

Result<ParquetWriter> ParquetWriter::open() {
  auto library = std::make_unique<Library>();
  if (library->handle == nullptr) return Error{fmt::format("{} is not installed", kLibrary)};
  if (!library->is_complete) return Error{fmt::format("{} is not DuckDB's library", kLibrary)};
  if (library->open(nullptr, &library->database) != 0 ||
      library->connect(library->database, &library->connection) != 0) {
    return Error{fmt::format("{} does not start", kLibrary)};
  }
  // One capture is small, and nothing is to be fetched from anywhere.
  TALLY_TRY(library->run("SET threads = 1; SET autoinstall_known_extensions = false"));
  return ParquetWriter(std::move(library));
}

ParquetWriter::ParquetWriter(std::unique_ptr<Library> library) : library_(std::move(library)) {}
ParquetWriter::ParquetWriter(ParquetWriter&&) noexcept = default;
ParquetWriter& ParquetWriter::operator=(ParquetWriter&&) noexcept = default;
ParquetWriter::~ParquetWriter() = default;

Status ParquetWriter::write(const std::string& json_lines, const std::string& columns,
                            const std::string& path) {
  return library_->run(
      fmt::format("COPY (SELECT * FROM read_json({}, format = 'newline_delimited', columns = {}, "
                  "hive_partitioning = false)) TO {} (FORMAT parquet, COMPRESSION zstd)",
                  sql_text(as_pattern(json_lines)), columns, sql_text(path)));
}

// A data set of many captures: a folder with a folder for each capture,
//
//   commit=C/device=D/scene=S/capture=KEY/{capture,pass,shader,line}.{jsonl,parquet}
//
// which appears when it is complete; before, it is a folder .partial-* of the data set, which the
// next process removes where its owner is gone. Any number of processes may add captures at a time.

class DataSet {
 public:
  // Makes the folder a data set if it is new or empty. Refuses a folder with anything else, and a
  // data set of another format.
  static Result<DataSet> open(const std::string& folder);

  // Returns the capture's folder. Nothing changes if it is there already.
  Result<std::filesystem::path> add(const report::DataSetPlace& place,
                                    const report::DataSetCapture& capture);
  // Why there are no Parquet files; empty: there are.
  const std::string& why_no_parquet() const { return why_no_parquet_; }

 private:
  explicit DataSet(std::filesystem::path folder);
  Status write_files(const std::filesystem::path& folder, const report::DataSetCapture& capture);

  std::filesystem::path folder_;
  std::optional<ParquetWriter> parquet_;
  std::string why_no_parquet_;
};

namespace {

namespace fs = std::filesystem;

constexpr const char* kMarker = "tally-data-set.json";
constexpr const char* kPartialPrefix = ".partial-";
constexpr size_t kMaxPartition = 200;  // bytes when encoded: a name of a folder has at most 255

std::string marker_text() { return fmt::format("{{\"format\":{}}}\n", report::kDataSetFormat); }

// As DuckDB and others decode the values of partitions.
std::string encoded(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool is_plain = std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.';
  return is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
}

std::string encoded(const std::string& value) {
  std::string text;
  for (const char c : value) text += encoded(c);
  return text;
}

Error failure(const fs::path& path, int number) {
  return Error{fmt::format("{}: {}", path.string(), std::strerror(number))};
}

// 0 or errno.
int write_file(const fs::path& path, const std::string& text) {
  auto file = PartialFile::create(platform::Folder::current(), path.string());
  if (!file) return errno;
  file->write(text);
  return file->finish(platform::Existing::Keep);
}

Status wait_for_disk(const fs::path& path) {
  const UniqueFd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return opened && ::fsync(opened.get()) == 0 ? Status() : failure(path, errno);
}

Status make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? Status(failure(path, error.value())) : Status();
}

Status check_marker(const fs::path& marker) {
  const auto text = TALLY_TRY(read_small_file(marker.string()));
  if (text == marker_text()) return {};
  return Error{marker.string() +
               ": not a data set of this version of tally; refusing to write to it"};
}

// Another process may be making the marker.
Status must_be_empty(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != kMarker && !name.starts_with(kPartialPrefix))
      return Error{folder.string() + ": not a data set and not empty; refusing to write to it"};
  }
  return error ? Status(failure(folder, error.value())) : Status();
}

Status make_marker(const fs::path& folder, const fs::path& marker) {
  const auto partial = TALLY_TRY(TemporaryFolder::make_in(folder, kPartialPrefix));
  const fs::path file = partial.path() / kMarker;
  if (const int error = write_file(file, marker_text()); error != 0) return failure(file, error);
  if (::rename(file.c_str(), marker.c_str()) != 0) return failure(marker, errno);
  return wait_for_disk(folder);
}

}  // namespace

DataSet::DataSet(fs::path folder) : folder_(std::move(folder)) {
  auto parquet = ParquetWriter::open();
  if (parquet) {
    parquet_ = std::move(*parquet);
  } else {
    why_no_parquet_ = parquet.error().message;
  }
}

Result<DataSet> DataSet::open(const std::string& folder) {
  TALLY_TRY(make_folders(folder));
  const fs::path marker = fs::path(folder) / kMarker;
  std::error_code ignored;
  if (!fs::exists(marker, ignored)) {
    if (Status empty = must_be_empty(folder); !empty && !fs::exists(marker, ignored))
      return empty.error();
    TALLY_TRY(make_marker(folder, marker));
  }
  TALLY_TRY(check_marker(marker));
  return DataSet(folder);
}

Result<fs::path> DataSet::add(const report::DataSetPlace& place,
                              const report::DataSetCapture& capture) {
  const fs::path partition = folder_ / ("commit=" + encoded(place.commit)) /
                             ("device=" + encoded(place.device)) /
                             ("scene=" + encoded(place.scene));
  const fs::path target = partition / ("capture=" + capture.key);
  std::error_code ignored;
  if (fs::exists(target, ignored)) return target;
  TALLY_TRY(make_folders(partition));
  auto partial = TALLY_TRY(TemporaryFolder::make_in(folder_, kPartialPrefix));
  TALLY_TRY(write_files(partial.path(), capture));
  // Where another process was faster, the folder has the same files.
  const int error = partial.rename_to(target);
  if (error != 0 && error != ENOTEMPTY && error != EEXIST) return failure(target, error);
  TALLY_TRY(wait_for_disk(partition));
  return target;
}

Status DataSet::write_files(const fs::path& folder, const report::DataSetCapture& capture) {
  for (size_t t = 0; t < report::kDataSetTables.size(); ++t) {
    const fs::path lines = folder / (std::string(report::kDataSetTables[t]) + ".jsonl");
    const int error = write_file(lines, capture.text[t]);
    if (error != 0) return failure(lines, error);
    if (!parquet_) continue;
    fs::path table = lines;
    table.replace_extension(".parquet");
    Status written = parquet_->write(lines.string(), report::data_set_columns(t), table.string());
    if (written.ok()) written = wait_for_disk(table);
    if (!written) return with_context(written.error(), table.string());
  }
  return wait_for_disk(folder);
}

namespace {

// Why the text cannot be the commit or scene of a data set; empty: it can be.
std::string why_no_partition(const std::string& value) {
  if (value.empty()) return "is empty";
  if (clean_utf8(value) != value) return "is not UTF-8";
  if (std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return "has a control character";
  if (encoded(value).size() > kMaxPartition) return "is too long";
  return {};
}

// The text, cut to what can be one.
std::string partition_value(const std::string& text) {
  std::string value = clean_utf8(text);
  for (char& c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  // Cuts between characters.
  size_t fits = 0;
  size_t size = 0;
  for (size_t i = 0; i < value.size() && size <= kMaxPartition; ++i) {
    if ((static_cast<unsigned char>(value[i]) & 0xC0) != 0x80) fits = i;
    size += encoded(value[i]).size();
  }
  if (size > kMaxPartition) value.resize(fits);
  return value.empty() ? "unknown" : value;
}

std::string device_of(const analysis::Summary& summary) {
  std::set<std::string> names;
  for (const analysis::DeviceSummary& device : summary.devices) {
    if (device.api == "Vulkan" && device.not_captured.empty()) names.insert(device.name);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " + ") + name;
  return partition_value(text);
}

// The program's name.
std::string scene_of(const analysis::Summary& summary) {
  if (summary.command_line.empty()) return "unknown";
  return partition_value(std::filesystem::path(summary.command_line.front()).filename().string());
}

struct Loaded {
  analysis::Summary summary;
  analysis::FleetRows rows;
};

Result<Loaded> load(const std::string& file) {
  const auto model = TALLY_TRY(analysis::open_model(file));
  if (model.commands.empty())
    return Error{file + ": " + why_no_rows(model, analysis::By::Draw, {})};
  const analysis::Progress none = [](double) {};
  const auto profile =
      TALLY_TRY(with_context(analysis::make_profile(model, {.code = false}, none), file));
  if (!profile.summary.complete())
    return Error{file + ": capture is incomplete; tally report says what is missing"};
  analysis::CoverageBuilder coverage;
  TALLY_TRY(with_context(coverage.add(model, none), file));
  return Loaded{profile.summary, make_fleet_rows(profile, std::move(coverage).finish(),
                                                 model.capture.working_directory)};
}

Result<std::filesystem::path> add(DataSet& data_set, const std::string& file, const Commit& commit,
                                  const std::string& scene) {
  const auto loaded = TALLY_TRY(load(file));
  const analysis::Summary& summary = loaded.summary;
  const report::DataSetPlace place{
      .commit = commit.name,
      .commit_time = commit.time.value_or(summary.start_unix_ns / 1'000'000'000),
      .device = device_of(summary),
      .scene = scene.empty() ? scene_of(summary) : scene};
  return data_set.add(place, report::data_set_capture(place, summary, loaded.rows));
}

Status check_names(const Commit& commit, const ExportToOptions& options) {
  if (const std::string why = why_no_partition(commit.name); !why.empty())
    return Error{"--commit " + why};
  const std::string why = options.scene.empty() ? "" : why_no_partition(options.scene);
  return why.empty() ? Status() : Error{"--scene " + why};
}

}  // namespace

Result<int> export_to(const ExportToOptions& options) {
  const auto commit = TALLY_TRY(find_commit(options.commit, current_environment()));
  TALLY_TRY(check_names(commit, options));
  auto data_set = TALLY_TRY(DataSet::open(options.folder));
  if (!data_set.why_no_parquet().empty())
    say("no Parquet files, JSON lines only: " + data_set.why_no_parquet());
  int status = kDone;
  for (const std::string& file : options.files) {
    const auto folder = add(data_set, file, commit, options.scene);
    if (!folder) {
      status = fail(folder.error());
    } else if (print(folder->string() + "\n") != kDone) {
      return kFailed;
    }
  }
  return status;
}

}  // namespace tally::cli
