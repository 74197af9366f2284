#include "capture/testing/session.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "store/collector.h"

namespace tally::capture::testing {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs the client to its end; its standard error goes to `errors`.
int run_client(const SessionOptions& options, const std::string& socket, const std::string& errors,
               const std::string& report) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, STDERR_FILENO);
    ::setenv("TALLY_CAPTURE_SOCKET", socket.c_str(), 1);
    ::setenv("FAKE_INSTRUMENTATION_REPORT", report.c_str(), 1);
    ::setenv("VK_INSTANCE_LAYERS", options.layers.c_str(), 1);
    ::setenv("VK_ADD_LAYER_PATH", CAPTURE_TEST_LAYER_PATH, 1);
    for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    const char* how = options.how.empty() ? nullptr : options.how.c_str();
    ::execl(CAPTURE_TEST_CLIENT, CAPTURE_TEST_CLIENT, options.scenario.c_str(), how, nullptr);
    ::_exit(127);
  }
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
  auto collector = store::Collector::start(std::move(*writer), directory_.path());
  if (!collector) throw std::runtime_error(collector.error().message);
  const std::string report = directory_.file("broken");
  exit_status_ =
      run_client(options, (*collector)->socket_path(), directory_.file("errors"), report);
  require((*collector)->finish(exit_status_, std::chrono::seconds(10)));
  errors_ = contents(directory_.file("errors"));
  broken_rules_ = contents(report);
  Result<store::Reader> reader = store::Reader::open(path);
  if (!reader) throw std::runtime_error(reader.error().message);
  reader_.emplace(std::move(*reader));
}

std::vector<SeenCommand> Session::commands() const {
  Result<store::Statement> rows = reader_->query(R"sql(
    SELECT frame, submission_number, position, runs, call, parameters, ifnull(pipeline_name, ''),
           ifnull(pass_name, ''), ifnull(pass, 0), ifnull((SELECT path FROM label_path WHERE id = label), ''),
           (SELECT has_blocks FROM command AS c WHERE c.id = command_list.command), gpu_time_ns,
           ifnull((SELECT executions FROM block_count AS b WHERE b.command = command_list.command AND block = 0
                   ORDER BY stage LIMIT 1), -1),
           ifnull((SELECT sum(value) FROM command_metric AS m JOIN metric ON metric.id = m.metric
                   WHERE m.command = command_list.command AND lower(metric.name) = 'fma'), -1),
           ifnull((SELECT sum(value) FROM command_metric AS m JOIN metric ON metric.id = m.metric
                   WHERE m.command = command_list.command AND lower(metric.name) = 'subgroups'), -1)
    FROM command_list ORDER BY command)sql");
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
