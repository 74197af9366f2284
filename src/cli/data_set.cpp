#include "cli/data_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/small_file.h"
#include "cli/partial_file.h"
#include "cli/temporary_folder.h"
#include "store/unique_fd.h"
#include "store/utf8.h"

namespace tally::cli {
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
  auto file = PartialFile::create(AT_FDCWD, path.string());
  if (!file) return errno;
  file->write(text);
  return file->finish(Existing::Keep);
}

Status wait_for_disk(const fs::path& path) {
  const store::UniqueFd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return opened && ::fsync(opened.get()) == 0 ? Status() : failure(path, errno);
}

Status make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? Status(failure(path, error.value())) : Status();
}

Status check_marker(const fs::path& marker) {
  const auto text = read_small_file(marker.string());
  if (!text) return text.error();
  if (*text == marker_text()) return {};
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
  const auto partial = TemporaryFolder::make_in(folder, kPartialPrefix);
  if (!partial) return partial.error();
  const fs::path file = partial->path() / kMarker;
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
  if (Status made = make_folders(folder); !made) return made.error();
  const fs::path marker = fs::path(folder) / kMarker;
  std::error_code ignored;
  if (!fs::exists(marker, ignored)) {
    if (Status empty = must_be_empty(folder); !empty && !fs::exists(marker, ignored))
      return empty.error();
    if (Status made = make_marker(folder, marker); !made) return made.error();
  }
  if (Status checked = check_marker(marker); !checked) return checked.error();
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
  if (Status made = make_folders(partition); !made) return made.error();
  auto partial = TemporaryFolder::make_in(folder_, kPartialPrefix);
  if (!partial) return partial.error();
  if (Status written = write_files(partial->path(), capture); !written) return written.error();
  // Where another process was faster, the folder has the same files.
  const int error = partial->rename_to(target);
  if (error != 0 && error != ENOTEMPTY && error != EEXIST) return failure(target, error);
  if (Status written = wait_for_disk(partition); !written) return written.error();
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

std::string why_no_partition(const std::string& value) {
  if (value.empty()) return "is empty";
  if (store::clean_utf8(value) != value) return "is not UTF-8";
  if (std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return "has a control character";
  if (encoded(value).size() > kMaxPartition) return "is too long";
  return {};
}

std::string partition_value(const std::string& text) {
  std::string value = store::clean_utf8(text);
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

}  // namespace tally::cli
