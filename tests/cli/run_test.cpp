// `tally run` must be invisible: statuses, streams, signals and job control are the application's
// own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "program.h"
#include "store/read/reader.h"
#include "store/stream/stream_client.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

using testing::HasSubstr;

class Run : public testing::Test {
 protected:
  platform::CapturedRun tally(std::vector<std::string> arguments,
                              const std::vector<std::string>& variables = {}) {
    arguments.insert(arguments.begin(), "run");
    return run_tally(folder_.path(), arguments, variables);
  }
  platform::CapturedRun script(const std::string& text) { return run_script(folder_.path(), text); }
  bool exists(const std::string& name) const { return std::filesystem::exists(folder_.file(name)); }

  store::TestDirectory folder_;
};

TEST_F(Run, exit_status_is_the_applications) {
  EXPECT_EQ(tally({"--", "sh", "-c", "exit 0"}).end.shell_status(), 0);
  EXPECT_EQ(tally({"--", "sh", "-c", "exit 37"}).end.shell_status(), 37);
}

TEST_F(Run, end_by_signal_is_128_and_the_signal_and_is_said) {
  const auto run = tally({"--", "sh", "-c", "kill -SEGV $$"});
  EXPECT_FALSE(run.end.by_signal);
  EXPECT_EQ(run.end.number, 128 + 11);
  EXPECT_THAT(run.standard_error, HasSubstr("terminated by SIGSEGV"));
}

TEST_F(Run, standard_output_holds_nothing_but_the_applications) {
  const auto run = tally({"--", "printf", "a\\nb"});
  EXPECT_EQ(run.standard_output, "a\nb");
}

TEST_F(Run, standard_input_reaches_the_application) {
  const auto run = script("printf 'one\\ntwo\\n' | \"$TALLY\" run -q -- cat");
  EXPECT_EQ(run.standard_output, "one\ntwo\n");
  EXPECT_EQ(run.standard_error, "");
}

TEST_F(Run, arguments_that_look_like_options_are_the_applications) {
  EXPECT_EQ(tally({"-q", "--", "echo", "-v", "--frames", "--", "-o"}).standard_output,
            "-v --frames -- -o\n");
  EXPECT_EQ(tally({"-q", "echo", "-v", "--", "--frames"}).standard_output, "-v -- --frames\n");
}

TEST_F(Run, signals_are_forwarded) {
  for (const char* signal : {"HUP", "INT", "QUIT", "TERM", "USR1", "USR2"}) {
    const std::string name = signal;
    const auto run =
        script("set -m  # else the shell starts it with SIGINT and SIGQUIT ignored\nmkfifo ready-" +
               name + "\n\"$TALLY\" run -q -- bash -c 'trap \"exit 42\" " + name +
               "; echo > ready-" + name + "; while :; do sleep 0.05; done' &\nread < ready-" +
               name + "\nkill -" + name + " $!\nwait $!");
    EXPECT_EQ(run.end.shell_status(), 42) << signal;
  }
}

TEST_F(Run, ignored_signals_stay_ignored) {
  const auto run =
      script("trap '' HUP; exec \"$TALLY\" run -q -- bash -c 'kill -HUP $$; echo alive'");
  EXPECT_EQ(run.standard_output, "alive\n");
}

TEST_F(Run, blocked_signals_of_ours_are_not_blocked_in_the_application) {
  const auto run = tally({"-q", "--", "sh", "-c", "grep SigBlk /proc/self/status"});
  EXPECT_THAT(run.standard_output, HasSubstr("0000000000000000"));
}

// The application sees what a program that is started without `tally run` sees.
TEST_F(Run, the_application_has_the_signals_and_streams_that_tally_was_given) {
  const auto run = script(R"sh(
    show='grep -E "^Sig(Ign|Blk)" /proc/self/status; for i in 0 1 2; do [ -e /proc/self/fd/$i ] || echo no $i; done'
    sh=sh
    both() { $sh -c "$show" > bare.txt 2>&$1; $TALLY run -q -- sh -c "$show" > run.txt 2>&$1; diff bare.txt run.txt || echo "differs: $2"; }
    both 1 plain
    both - 'closed standard error'
    grep -q 'no 2' run.txt || echo 'standard error is open'
    both 1 'closed standard input' <&-
    # Shells set the disposition of SIGCHLD themselves.
    ignore="env --ignore-signal=CHLD,XFSZ,PIPE,USR1" show="grep SigIgn /proc/self/status"
    $ignore $show > bare.txt
    $ignore "$TALLY" run -q -- $show > run.txt
    diff bare.txt run.txt
    grep -q '1011200$' run.txt || cat run.txt)sh");
  EXPECT_EQ(run.standard_output, "");
  EXPECT_EQ(run.standard_error, "");
}

TEST_F(Run, messages_that_nobody_can_read_change_no_status) {
  for (const char* to : {"2>&-", "2>/dev/full"}) {
    const auto run = script(std::string("\"$TALLY\" run -v -- sh -c 'echo out; exit 37' ") + to);
    EXPECT_EQ(run.end.shell_status(), 37) << to;
    EXPECT_EQ(run.standard_output, "out\n") << to;
    EXPECT_EQ(script(std::string("\"$TALLY\" run -- ./no-such-program ") + to).end.shell_status(),
              127)
        << to;
  }
}

TEST_F(Run, a_limit_for_files_ends_no_application_and_leaves_nothing) {
  for (const char* blocks : {"0", "1", "97"}) {
    const auto run = script(std::string("mkdir tmp; export TMPDIR=$PWD/tmp; ulimit -f ") + blocks +
                            "; \"$TALLY\" run --force -o l.tally -- sh -c 'echo app; exit 5'");
    EXPECT_EQ(run.end.shell_status(), 5) << blocks;
    EXPECT_EQ(run.standard_output, "app\n") << blocks;
    EXPECT_THAT(run.standard_error, HasSubstr("cannot be written")) << blocks;
    EXPECT_FALSE(exists("l.tally")) << blocks;
    EXPECT_TRUE(std::filesystem::is_empty(folder_.file("tmp"))) << blocks;
  }
}

TEST_F(Run, a_relative_folder_for_temporary_files_is_found_from_everywhere) {
  const auto run = script(
      "mkdir tmp; export TMPDIR=tmp; \"$TALLY\" run -q -- sh -c "
      "'cd / && [ -S \"$TALLY_CAPTURE_SOCKET\" ] && echo there'");
  EXPECT_EQ(run.standard_output, "there\n");
  const auto missing = script("TMPDIR=nowhere \"$TALLY\" run -- true");
  EXPECT_EQ(missing.end.shell_status(), 2);
  EXPECT_THAT(missing.standard_error, HasSubstr("nowhere (TMPDIR): No such file or directory"));
}

TEST_F(Run, a_missing_proc_is_named) {
  const auto run = script(
      "bwrap --dev-bind / / --tmpfs /proc \"$TALLY\" run --force -o p.tally -- sh -c 'echo app'");
  EXPECT_EQ(run.end.shell_status(), 2);
  EXPECT_EQ(run.standard_output, "");
  EXPECT_THAT(run.standard_error, HasSubstr("is /proc mounted?"));
  EXPECT_FALSE(exists("p.tally"));
}

TEST_F(Run, a_run_inside_of_a_run_is_named) {
  const auto run = script("\"$TALLY\" run -- \"$TALLY\" run -- true");
  EXPECT_THAT(run.standard_error, HasSubstr("is Tally itself"));
  EXPECT_THAT(run.standard_error, testing::Not(HasSubstr("GLX")));
}

TEST_F(Run, stops_and_continues_with_the_application) {
  const auto run = script(R"(
    mkfifo ready
    "$TALLY" run -q -- bash -c 'echo $$ > ready; kill -STOP $$; echo continued; exit 5' &
    tally=$!
    read app < ready
    for i in $(seq 100); do
      grep -q '^State:.*stopped' /proc/$tally/status && break
      sleep 0.05
    done
    grep '^State' /proc/$tally/status
    kill -CONT $tally
    wait $tally)");
  EXPECT_THAT(run.standard_output, HasSubstr("stopped"));
  EXPECT_THAT(run.standard_output, HasSubstr("continued"));
  EXPECT_EQ(run.end.shell_status(), 5);
}

TEST_F(Run, program_that_does_not_exist_is_127_and_one_that_cannot_run_is_126) {
  const auto missing = tally({"--", "./no-such-program"});
  EXPECT_EQ(missing.end.shell_status(), 127);
  EXPECT_EQ(missing.standard_error,
            "tally: cannot run './no-such-program': No such file or directory\n");
  std::ofstream(folder_.file("plain")) << "text";
  EXPECT_EQ(tally({"--", "./plain"}).end.shell_status(), 126);
  EXPECT_FALSE(exists("plain.tally"));
}

TEST_F(Run, script_without_interpreter_is_run_by_the_shell) {
  std::ofstream(folder_.file("script")) << "echo from script $1\n";
  std::filesystem::permissions(folder_.file("script"), std::filesystem::perms::owner_all);
  EXPECT_EQ(tally({"-q", "--", "./script", "one"}).standard_output, "from script one\n");
}

TEST_F(Run, environment_of_the_user_is_kept_and_added_to) {
  const auto run = tally({"-q", "--", "env"}, {"VK_INSTANCE_LAYERS=VK_LAYER_MINE",
                                               "VK_ADD_LAYER_PATH=/mine", "OTHER=1"});
  EXPECT_THAT(run.standard_output,
              HasSubstr("\nVK_INSTANCE_LAYERS=VK_LAYER_MINE:VK_LAYER_TALLY_run\n"));
  EXPECT_THAT(run.standard_output, HasSubstr("\nVK_ADD_LAYER_PATH=/mine:"));
  EXPECT_THAT(run.standard_output, HasSubstr("\nOTHER=1\n"));
  EXPECT_THAT(run.standard_output, HasSubstr("\nTALLY_CAPTURE_SOCKET=/"));
}

TEST_F(Run, options_reach_the_capture_layer) {
  const auto run = tally({"-q", "--frames", "3-9", "--shader", "blur", "--", "env"});
  EXPECT_THAT(run.standard_output, HasSubstr("\nTALLY_FRAMES=3-9\n"));
  EXPECT_THAT(run.standard_output, HasSubstr("\nTALLY_SHADER=*blur*\n"));
  const auto labels = tally({"-q", "--frame-label", "^token [0-9]+", "--", "env"});
  EXPECT_THAT(labels.standard_output, HasSubstr("\nTALLY_FRAME_LABEL=^token [0-9]+\n"));
  const auto fences = tally({"-q", "--frame-per", "fence", "--", "env"});
  EXPECT_THAT(fences.standard_output, HasSubstr("\nTALLY_FRAME_PER=fence\n"));
}

TEST_F(Run, wrong_ends_of_frames_are_named_with_their_place) {
  EXPECT_THAT(tally({"--frame-per", "vsync", "--", "echo"}).standard_error,
              HasSubstr("--frame-per: vsync"));
  EXPECT_THAT(tally({"--frame-label", "token (a|b", "--", "echo"}).standard_error,
              HasSubstr("--frame-label: 'token (a|b': Unmatched ( or \\( at character 7"));
  EXPECT_THAT(tally({"--frame-per", "fence", "--frame-label", "a", "--", "echo"}).standard_error,
              HasSubstr("--frame-label and --frame-per fence exclude each other"));
}

TEST_F(Run, socket_is_where_only_this_user_can_go_and_is_gone_afterwards) {
  const auto run = tally(
      {"-q", "--", "sh", "-c",
       "stat -c %a \"$(dirname \"$TALLY_CAPTURE_SOCKET\")\"; dirname \"$TALLY_CAPTURE_SOCKET\""});
  ASSERT_THAT(run.standard_output, testing::StartsWith("700\n"));
  std::string socket_folder = run.standard_output.substr(4);
  socket_folder.pop_back();
  EXPECT_FALSE(std::filesystem::exists(socket_folder)) << socket_folder;
}

TEST_F(Run, folders_of_a_killed_run_are_removed_by_the_next) {
  const auto run = script(R"(
    export TMPDIR=$PWD
    mkfifo ready
    "$TALLY" run -q -- sh -c 'echo > ready; exec sleep 5' &
    read < ready
    kill -9 $!
    wait $!
    ls -d tally-run-* | wc -l
    "$TALLY" run -q -- true
    ls -d tally-run-* | wc -l)");
  EXPECT_EQ(run.standard_output, "1\n0\n") << run.standard_error;
}

// Stands for a process that the application leaves behind: it connects as the capture layer does,
// and sends `messages` messages, one every 20 ms.
void send_messages(const std::string& folder, int messages, const store::stream::Process& process) {
  namespace stream = store::stream;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  for (int i = 0; i < 3000 && !std::filesystem::exists(folder + "/socket"); ++i) pause();
  std::string path;
  std::getline(std::ifstream(folder + "/socket"), path);
  auto client = stream::StreamClient::connect(path);
  ASSERT_TRUE(client.ok()) << client.error().message;
  const auto send = [&](const stream::AnyMessage& message) {
    stream::Bytes bytes;
    append_message(bytes, message);
    (*client)->push(std::move(bytes), 1 << 20);
    (*client)->flush();
  };
  send(process);
  std::ofstream(folder + "/connected") << "yes";
  for (int i = 0; i < messages; ++i) {
    send(stream::Message{.severity = store::Severity::Info, .text = fmt::format("data {}", i)});
    pause();
  }
}

constexpr const char* kUntilConnected =
    "echo \"$TALLY_CAPTURE_SOCKET\" > path; mv path socket; "
    "while [ ! -e connected ]; do sleep 0.05; done";

TEST_F(Run, a_process_that_outlives_the_application_is_named) {
  auto process = store::stream::describe_this_process("left behind", "");
  process.command_line = {"Z:\\games\\left.exe", "--level"};
  std::thread sender([&] { send_messages(folder_.path(), 100, process); });
  const auto run = tally({"-o", "a.tally", "--", "sh", "-c", kUntilConnected});
  sender.join();
  EXPECT_THAT(run.standard_error,
              HasSubstr(fmt::format("the application has ended; still capturing "
                                    "left.exe (process {}), press Ctrl-C",
                                    process.pid)));
  EXPECT_THAT(run.standard_error, testing::Not(HasSubstr("still receiving")));
}

TEST_F(Run, data_that_arrives_after_the_end_is_received_and_it_is_said) {
  auto process = store::stream::describe_this_process("has ended", "");
  process.pid = std::numeric_limits<int32_t>::max();  // above the kernel's greatest number
  std::thread sender([&] { send_messages(folder_.path(), 100, process); });
  const auto run = tally({"-o", "a.tally", "--", "sh", "-c", kUntilConnected});
  sender.join();
  EXPECT_THAT(run.standard_error, HasSubstr("the application has ended; still receiving its data"));
  EXPECT_THAT(run.standard_error, testing::Not(HasSubstr("still capturing")));
  auto reader = store::Reader::open(folder_.file("a.tally"));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  auto rows = reader->query("SELECT count(*) FROM message WHERE text LIKE 'data %'");
  ASSERT_TRUE(rows.ok() && rows->step());
  EXPECT_EQ(rows->integer(0), 100);
}

TEST_F(Run, application_without_vulkan_leaves_no_capture_and_it_is_said) {
  const auto run = tally({"--", "true"});
  EXPECT_EQ(run.end.shell_status(), 0);
  EXPECT_THAT(run.standard_error, HasSubstr("true created no Vulkan device and no EGL context"));
  EXPECT_FALSE(exists("true.tally"));
}

TEST_F(Run, existing_file_is_not_overwritten) {
  std::ofstream(folder_.file("mine.tally")) << "mine";
  const auto run = tally({"-o", "mine.tally", "--", "echo", "ran"});
  EXPECT_EQ(run.end.shell_status(), 2);
  EXPECT_EQ(run.standard_output, "");
  EXPECT_EQ(run.standard_error,
            "tally: mine.tally exists; choose another name, or replace it with --force\n");
  EXPECT_EQ(std::filesystem::file_size(folder_.file("mine.tally")), 4u);
}

TEST_F(Run, force_replaces_captures_only) {
  std::ofstream(folder_.file("mine.tally")) << "mine";
  EXPECT_EQ(tally({"--force", "-o", "mine.tally", "--", "true"}).end.shell_status(), 2);
  EXPECT_EQ(std::filesystem::file_size(folder_.file("mine.tally")), 4u);
}

TEST_F(Run, a_capture_that_is_being_written_is_not_replaced) {
  const auto run = run_script(
      folder_.path(), "\"$TALLY\" run -o a.tally -- \"$TALLY\" run --force -o a.tally -- echo ran");
  EXPECT_EQ(run.end.shell_status(), 2);
  EXPECT_EQ(run.standard_output, "");
  EXPECT_THAT(run.standard_error, HasSubstr("tally: a.tally: in use, perhaps by a tally run"));
}

TEST_F(Run, a_place_that_is_not_there_is_named_with_its_reason) {
  const auto run = tally({"-o", "no/where.tally", "--", "true"});
  EXPECT_EQ(run.end.shell_status(), 2);
  EXPECT_EQ(run.standard_error, "tally: no/where.tally: No such file or directory\n");
}

TEST_F(Run, a_size_of_regions_that_stands_alone_is_no_application) {
  const auto run = tally({"--regions", "16x16", "--", "echo", "ran"});
  EXPECT_EQ(run.end.shell_status(), 2);
  EXPECT_EQ(run.standard_output, "");
  EXPECT_THAT(run.standard_error, HasSubstr("--regions=16x16"));
}

TEST_F(Run, wrong_options_are_one_line_and_status_2) {
  const std::vector<std::vector<std::string>> wrong = {{"--bogus", "--", "echo"},
                                                       {"--frames", "9-3", "--", "echo"},
                                                       {"--frame-per", "vsync", "--", "echo"},
                                                       {"--frame-label", "a(b", "--", "echo"},
                                                       {"--driver", "no-such-driver", "--", "echo"},
                                                       {},
                                                       {"--"}};
  for (const auto& arguments : wrong) {
    const auto run = tally(arguments);
    EXPECT_EQ(run.end.shell_status(), 2) << run.standard_error;
    EXPECT_EQ(run.standard_output, "");
    EXPECT_EQ(std::count(run.standard_error.begin(), run.standard_error.end(), '\n'), 1)
        << run.standard_error;
  }
}

TEST_F(Run, verbose_says_what_is_set) {
  EXPECT_THAT(tally({"-v", "--", "true"}).standard_error,
              HasSubstr("tally: VK_INSTANCE_LAYERS=VK_LAYER_TALLY_run"));
}

}  // namespace
}  // namespace tally::test
