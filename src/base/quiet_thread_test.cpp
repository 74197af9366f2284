#include "base/quiet_thread.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace tally {
namespace {

bool blocks(const sigset_t& mask, int signal) { return sigismember(&mask, signal) == 1; }

sigset_t mask_of_a_quiet_thread() {
  sigset_t mask;
  quiet_thread("test", [&] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); }).join();
  return mask;
}

TEST(QuietThread, signals_from_processes_are_blocked) {
  const sigset_t mask = mask_of_a_quiet_thread();
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD,
                           SIGPIPE, SIGPROF, SIGRTMIN}) {
    EXPECT_TRUE(blocks(mask, signal)) << signal;
  }
}

constexpr int kSynchronousSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

TEST(QuietThread, signals_of_its_own_instructions_are_not) {
  const sigset_t mask = mask_of_a_quiet_thread();
  for (const int signal : kSynchronousSignals) EXPECT_FALSE(blocks(mask, signal)) << signal;
}

TEST(QuietThread, a_starting_thread_that_blocks_all_signals_changes_nothing) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const sigset_t mask = mask_of_a_quiet_thread();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const int signal : kSynchronousSignals) EXPECT_FALSE(blocks(mask, signal)) << signal;
}

TEST(QuietThread, the_mask_of_the_starting_thread_stays_as_it_was) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  quiet_thread("test", [] {}).join();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    EXPECT_EQ(blocks(before, signal), blocks(after, signal)) << signal;
  }
}

char* g_page = nullptr;
std::atomic<int> g_faults = 0;

void open_page(int, siginfo_t* info, void*) {
  if (info->si_addr != g_page || mprotect(g_page, 4096, PROT_READ | PROT_WRITE) != 0) _exit(1);
  ++g_faults;
}

// As programs do that record which pages are written to.
TEST(QuietThread, a_program_that_guards_pages_sees_its_writes) {
  g_page = static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(g_page, MAP_FAILED);
  struct sigaction guard {};
  struct sigaction before {};
  guard.sa_sigaction = open_page;
  guard.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &guard, &before);
  quiet_thread("test", [] { *static_cast<volatile char*>(g_page) = 7; }).join();
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_EQ(g_faults, 1);
  EXPECT_EQ(*g_page, 7);
  munmap(g_page, 4096);
}

}  // namespace
}  // namespace tally
