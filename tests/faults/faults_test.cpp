// Every call that the layers make may fail: the n-th call of a command, or all from the n-th on.
// Nothing crashes or hangs, and the application gets an error only for its own call. A message
// names the call of the layers that failed, and the capture says how many commands are missing.
//
// TALLY_TEST_EVERY_FAULT=1 lets each call fail that a scenario makes, otherwise some of each
// command.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "faults/scenarios.h"
#include "stand_in/faults.h"
#include "store/read/reader.h"
#include "store/testing/test_capture.h"
#include "store/write/collector.h"
#include "support/supervised.h"

namespace tally::test {
namespace {

using Order = Faults::Order;

Faults& faults() {
  static Faults& all = [&]() -> Faults& {
    void* library = ::dlopen(FAULTS_TEST_DRIVER, RTLD_NOW);
    return *reinterpret_cast<GetFaults*>(::dlsym(library, kGetFaults))();
  }();
  return all;
}

// The program's view of one run.
struct Seen {
  bool failed = false;             // a call of the program returned an error
  std::vector<std::string> wrong;  // results
  std::string messages;
};

Seen run_program(const Scenario& scenario) {
  Seen seen;
  ContextOptions options;
  options.layers = scenario.layers;
  options.layers.insert(options.layers.begin(), "VK_LAYER_TALLY_test_caller");
  options.driver_layers = {"VK_LAYER_TALLY_test_faults"};
  options.device_extensions = scenario.extensions;
  options.device_next = scenario.features;
  try {
    Context context(options);
    try {
      seen.wrong = scenario.run(context);
    } catch (const VulkanError&) {
      seen.failed = true;
    }
    for (const Message& message : context.messages()) {
      if (message.id.starts_with("TALLY-")) seen.messages += message.text + "\n";
    }
    context.take_errors();
  } catch (const VulkanError&) {
    seen.failed = true;
  }
  return seen;
}

// --- the capture of a run

struct Captured {
  int64_t counted = 0, missing = 0;
  std::vector<std::string> wrong;
  std::string messages;
};

Captured read_capture(const std::string& path) {
  Captured captured;
  const auto reader = store::require(store::Reader::open(path));
  // Each command executes its first block as often as its parameters say.
  auto rows = store::require(reader.query(R"sql(
      SELECT call, parameters, counted, runs,
             (SELECT executions FROM block_count b WHERE b.command = c.command AND block = 0
              ORDER BY stage LIMIT 1),
             iif(call = 'vkCmdDispatch', 32 * (parameters ->> '$.groupCountX'),
                 (parameters ->> '$.vertexCount') * (parameters ->> '$.instanceCount')),
             gpu_time_ns
      FROM command_list c)sql"));
  while (rows.step()) {
    if (rows.integer(2) == 0) {
      captured.wrong.push_back(rows.text(0) + " has a row but no counts");
      continue;
    }
    captured.counted += rows.integer(3);
    const int64_t wanted = rows.integer(5) * rows.integer(3);
    if (rows.integer(4) != wanted) {
      captured.wrong.push_back(rows.text(0) + "(" + rows.text(1) +
                               "): " + std::to_string(rows.integer(4)) + " executions, not " +
                               std::to_string(wanted));
    }
  }
  for (const char* sql :
       {"SELECT sum(commands_missing) FROM frame", "SELECT sum(commands_missing) FROM process"}) {
    auto missing = store::require(reader.query(sql));
    if (missing.step()) captured.missing += missing.integer(0);
  }
  for (const auto& message : store::require(reader.messages())) {
    captured.messages += message.text + "\n";
  }
  return captured;
}

// --- one run with one failure

std::string describe(const Scenario& scenario, const std::optional<Order>& order) {
  if (!order) return scenario.name;
  return scenario.name + " with TALLY_TEST_FAULT=" + order->command + ":" +
         std::to_string(order->first) + ":" + std::to_string(order->code) +
         (order->later_too ? "+" : "");
}

// An object that the layer itself implements exists only with the layer's memory.
// Nor can the program run where no pipeline can be made any more: those that are made late are its
// own.
bool may_fail(const Faults::Error& error, const std::optional<Order>& order) {
  const bool lacks_pipelines =
      order && order->later_too &&
      (order->command == "vkCreateComputePipelines" ||
       order->command == "vkCreateGraphicsPipelines" || order->command == "vkCreateShaderModule");
  if (error.command == "vkEndCommandBuffer" && lacks_pipelines) return true;
  return error.own || error.command == "vkCreateQueryPool" ||
         error.command == "vkGetShaderInstrumentationValuesARM";
}

// The calls of the layers fail that the application did not make.
bool layers_failed(const std::string& command) {
  const auto all = faults().failures();
  return std::ranges::any_of(all, [&](const std::string& inside) { return inside != command; });
}

// Calls whose failure may be silent where nothing is lost and the program goes on: the layers ask
// again, whether work has completed or which extensions there are; what a thread could not compile
// ahead, the recording compiles.
bool is_made_up_for(const Scenario& scenario, const std::string& command) {
  return command.starts_with("vkWait") || command == "vkEnumerateDeviceExtensionProperties" ||
         scenario.settings.contains("TALLY_COMPILE_AHEAD");
}

std::vector<std::string> run(const Scenario& scenario, const std::optional<Order>& order) {
  for (const auto& [name, value] : scenario.settings) setenv(name.c_str(), value.c_str(), 1);
  const store::TestDirectory folder;
  setenv("TALLY_LOG_FILE", folder.file("log").c_str(), 1);
  std::unique_ptr<store::Collector> collector;
  if (scenario.commands != 0) {
    auto writer =
        store::require(store::Writer::create(folder.file("a.tally"), {.tool_version = "test"}));
    collector = store::require(store::Collector::start(std::move(writer), folder.path()));
    setenv("TALLY_CAPTURE_SOCKET", collector->name().c_str(), 1);
  }
  faults().order(order);
  const Seen seen = run_program(scenario);
  std::vector<std::string> wrong;
  std::vector<std::string> lost = seen.wrong;
  std::string messages = seen.messages;
  for (const Faults::Error& error : faults().errors()) {
    if (!error.own) lost.push_back(error.command + " failed");
    if (!may_fail(error, order)) {
      wrong.push_back(error.command + " returned " + std::to_string(error.code) +
                      " to the application");
    }
  }
  if (collector) {
    unsetenv("TALLY_CAPTURE_SOCKET");
    store::require(collector->finish(0, std::chrono::seconds(5)));
    const Captured captured = read_capture(folder.file("a.tally"));
    messages += captured.messages;
    (order ? lost : wrong).insert(lost.end(), captured.wrong.begin(), captured.wrong.end());
    const int64_t all = captured.counted + captured.missing;
    if (!seen.failed && all != scenario.commands) {
      lost.push_back(std::to_string(all) + " commands, not " + std::to_string(scenario.commands));
    }
    if (captured.missing != 0) lost.push_back(std::to_string(captured.missing) + " missing");
  }
  std::ifstream log(folder.file("log"));
  messages.append(std::istreambuf_iterator<char>(log), {});
  if (!order) {
    wrong.insert(wrong.end(), lost.begin(), lost.end());
  } else if (layers_failed(order->command) && messages.find(order->command) == std::string::npos &&
             !(lost.empty() && (seen.failed || is_made_up_for(scenario, order->command)))) {
    wrong.push_back("no message names the call; lost: " +
                    (lost.empty() ? "nothing" : lost.front()) + "; messages: " + messages);
  }
  for (const auto& [name, value] : scenario.settings) unsetenv(name.c_str());
  return wrong;
}

// --- all runs of a scenario

// The calls of a run in which none fails.
std::map<std::string, uint32_t> count_calls(const Scenario& scenario) {
  std::map<std::string, uint32_t> calls;
  supervise({.count = 1,
             .limit = std::chrono::minutes(1),
             .begin =
                 [&] {
                   return [&](size_t, const SendLine& send) {
                     for (const std::string& wrong : run(scenario, std::nullopt)) send("!" + wrong);
                     for (const auto& [name, count] : faults().calls()) {
                       send(name + " " + std::to_string(count));
                     }
                   };
                 },
             .on_line =
                 [&](size_t, std::string_view line) {
                   if (line.front() == '!') {
                     ADD_FAILURE() << scenario.name << " without a failure: " << line.substr(1);
                     return;
                   }
                   std::istringstream text{std::string(line)};
                   std::string name;
                   text >> name;
                   text >> calls[name];
                 },
             .on_death = [&](size_t, const Death& death) { ADD_FAILURE() << death.how; }});
  return calls;
}

std::vector<Order> orders_of(const std::map<std::string, uint32_t>& calls) {
  const bool every = std::getenv("TALLY_TEST_EVERY_FAULT") != nullptr;
  std::vector<Order> orders;
  for (const auto& [command, count] : calls) {
    for (uint32_t first = 1; first <= count; ++first) {
      const bool some = first <= 4 || first == count;
      if (every || some) orders.push_back({.command = command, .first = first});
      if (every || first == 1 || first == (count + 1) / 2)
        orders.push_back({.command = command, .first = first, .later_too = true});
    }
  }
  return orders;
}

class FaultsOf : public testing::TestWithParam<Scenario> {};

TEST_P(FaultsOf, every_call_of_the_layers_may_fail) {
  const Scenario& scenario = GetParam();
  const std::vector<Order> orders = orders_of(count_calls(scenario));
  ASSERT_GT(orders.size(), 50u);
  RecordProperty("runs", std::to_string(orders.size()));
  supervise({.count = orders.size(),
             .limit = std::chrono::seconds(30),
             .begin =
                 [&] {
                   return [&](size_t i, const SendLine& send) {
                     for (const std::string& wrong : run(scenario, orders[i])) send(wrong);
                   };
                 },
             .on_line =
                 [&](size_t i, std::string_view line) {
                   ADD_FAILURE() << describe(scenario, orders[i]) << ": " << line;
                 },
             .on_death =
                 [&](size_t i, const Death& death) {
                   ADD_FAILURE() << describe(scenario, orders[i]) << ": " << death.how;
                 }});
}

INSTANTIATE_TEST_SUITE_P(All, FaultsOf, testing::ValuesIn(fault_scenarios()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tally::test
