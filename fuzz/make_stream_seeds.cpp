// make_stream_seeds FOLDER writes seeds for the fuzzers of the capture stream and the capture file
// to FOLDER/stream and FOLDER/capture.
#include <filesystem>
#include <fstream>
#include <string>

#include "store/stream/stream.h"
#include "store/testing/test_messages.h"

using namespace tally::store;

namespace {

void write_file(const std::string& path, const stream::Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string folder = arguments[1];
  stream::Bytes all;
  for (const stream::AnyMessage& message : stream::one_message_of_each_kind()) {
    stream::Bytes one;
    append_message(one, message);
    append_message(all, message);
    write_file(folder + "/stream/" + std::to_string(message.index()), one);
  }
  write_file(folder + "/stream/all", all);
  std::filesystem::copy(
      GOLDEN_CAPTURES, folder + "/capture",
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  return 0;
}
