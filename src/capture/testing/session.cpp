#include "capture/testing/session.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "store/write/collector.h"

namespace tally::capture::testing {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The environment of this process with the variables of `more`.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable; ++variable) {
    const std::string name(*variable, std::strcspn(*variable, "="));
    if (!more.contains(name)) variables.emplace_back(*variable);
  }
  for (const auto& [name, value] : more) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Runs the client to its end; its standard error and what the double of a
// driver notes go to files in `directory`. The collector's thread runs
// already, so a child of fork() could do nothing but exec: posix_spawn it is.
int run_client(const SessionOptions& options, store::Collector& collector,
               const store::TestDirectory& directory) {
  std::map<std::string, std::string> more = options.environment;
  more.insert({{"TALLY_CAPTURE_SOCKET", collector.name()},
               {"TALLY_PROFILING_LOCK", "tally-session-" + std::to_string(getpid())},
               {"TALLY_TEST_NATIVE_REPORT", directory.file("broken")},
               {"TALLY_TEST_NATIVE_BEGINS", directory.file("begins")},
               {"TALLY_TEST_NATIVE_FRAME_ENDS", directory.file("frame_ends")},
               {"TALLY_TEST_NATIVE_COUNTED", directory.file("counted")},
               {"VK_INSTANCE_LAYERS", options.layers},
               {"VK_ADD_LAYER_PATH", CAPTURE_TEST_LAYER_PATH}});
  std::vector<std::string> environment = environment_with(more);
  const std::string client = options.client.empty() ? CAPTURE_TEST_CLIENT : options.client;
  std::vector<std::string> arguments{client, options.scenario};
  if (!options.how.empty()) arguments.push_back(options.how);
  const std::string errors = directory.file("errors");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, client.c_str(), &actions, nullptr,
                                  pointers(arguments).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(std::strerror(error));
  if (options.meanwhile) options.meanwhile(collector, child);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void require(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

}  // namespace

Session::Session(const SessionOptions& options) {
  const std::string path = directory_.file("capture.tally");
  Result<store::Writer> writer =
      store::Writer::create(path, {.tool_version = "test", .command_line = {options.scenario}});
  if (!writer) throw std::runtime_error(writer.error().message);
  auto collector = store::Collector::start(std::move(*writer), directory_.path(), options.limits);
  if (!collector) throw std::runtime_error(collector.error().message);
  exit_status_ = run_client(options, **collector, directory_);
  require((*collector)->finish(exit_status_, std::chrono::seconds(10)));
  errors_ = contents(directory_.file("errors"));
  broken_rules_ = contents(directory_.file("broken"));
  begins_ = contents(directory_.file("begins")).size();
  frame_ends_ = contents(directory_.file("frame_ends")).size();
  counted_executions_ = contents(directory_.file("counted")).size();
  Result<store::Reader> reader = store::Reader::open(path);
  if (!reader) throw std::runtime_error(reader.error().message);
  reader_.emplace(std::move(*reader));
}

std::vector<SeenCommand> Session::commands() const {
  Result<store::Statement> rows = reader_->query(R"sql(
    WITH first_block AS MATERIALIZED (
           SELECT command, min(stage), executions FROM block_count WHERE block = 0 GROUP BY command),
         sums AS MATERIALIZED (
           SELECT command, sum(value) FILTER (WHERE lower(name) = 'fma') AS fma,
                  sum(value) FILTER (WHERE lower(name) = 'subgroups') AS subgroups
           FROM command_metric JOIN metric ON metric.id = metric GROUP BY command),
         list AS MATERIALIZED (SELECT * FROM command_list)
    SELECT frame, submission_number, position, runs, call, parameters, ifnull(pipeline_name, ''),
           ifnull(pass_name, ''), ifnull(pass, 0), ifnull(path, ''), counted, gpu_time_ns,
           ifnull(executions, -1), ifnull(fma, -1), ifnull(subgroups, -1)
    FROM list LEFT JOIN first_block USING (command) LEFT JOIN sums USING (command)
    LEFT JOIN label_path ON label_path.id = label ORDER BY execution, position)sql");
  if (!rows) throw std::runtime_error(rows.error().message);
  std::vector<SeenCommand> seen;
  while (rows->step()) {
    seen.push_back({rows->integer(0), rows->integer(1), rows->integer(2), rows->integer(3),
                    rows->text(4), rows->text(5), rows->text(6), rows->text(7), rows->integer(8),
                    rows->text(9), rows->integer(10) != 0, !rows->is_null(11), rows->integer(12),
                    rows->integer(13), rows->integer(14)});
  }
  require(rows->status());
  return seen;
}

int64_t Session::number(const std::string& sql) const {
  Result<store::Statement> rows = reader_->query(sql);
  if (!rows) throw std::runtime_error(rows.error().message);
  return rows->step() ? rows->integer(0) : -1;
}

std::string Session::text(const std::string& sql) const {
  Result<store::Statement> rows = reader_->query(sql);
  if (!rows) throw std::runtime_error(rows.error().message);
  return rows->step() ? rows->text(0) : std::string{};
}

}  // namespace tally::capture::testing
