// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Latency of the REPL: the first prompt, the echo of an input, a small graph, and Ctrl-C. mxc runs
// on a pseudo-terminal. A figure is the time from the last key to the next prompt, the best of
// several runs.

#include "PromptBench.h"
#include "Measure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

/// mxc on a pseudo-terminal of its own.
class Session {
public:
  Session(const std::string &mxc, const std::string &home) {
    begun = Clock::now();
    pid = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid == 0) {
      setenv("HOME", home.c_str(), 1);
      setenv("TERM", "xterm", 1);
      unsetenv("XDG_STATE_HOME");
      execl(mxc.c_str(), mxc.c_str(), static_cast<char *>(nullptr));
      _exit(127);
    }
  }
  ~Session() {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    close(terminal);
  }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  void type(const std::string &keys) {
    begun = Clock::now();
    if (write(terminal, keys.data(), keys.size()) < 0)
      std::perror("mxc-bench");
  }
  /// Milliseconds from the last key until `text` appears; negative if it never does.
  double until(const std::string &text) {
    for (;;) {
      if (size_t at = seen.find(text); at != std::string::npos) {
        seen.erase(0, at + text.size());
        return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
      }
      pollfd ready{terminal, POLLIN, 0};
      char bytes[4096];
      ssize_t got = poll(&ready, 1, 20000) > 0 ? read(terminal, bytes, sizeof bytes) : -1;
      if (got <= 0)
        return -1;
      seen.append(bytes, static_cast<size_t>(got));
    }
  }
  /// One input: from Enter to the next prompt.
  double input(const std::string &text, const std::string &shown) {
    type(text + "\r");
    double ms = until(shown);
    return ms < 0 ? ms : until("mx> ");
  }

private:
  int terminal = -1;
  pid_t pid = -1;
  Clock::time_point begun;
  std::string seen;
};

double best(int runs, const std::function<double()> &measure) {
  double smallest = 1e300;
  for (int i = 0; i < runs; ++i)
    smallest = std::min(smallest, measure());
  return smallest;
}

} // namespace

int runPromptBench(int argc, char **argv) {
  const char *json = mx::bench::takeJson(argc, argv);
  mx::bench::Figures figures;
  std::string mxc = mx::bench::commandOf(argc, argv);
  std::filesystem::path home =
      std::filesystem::temp_directory_path() / ("mxc-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(home);
  setenv("MX_CACHE_DIR", (home / "cache").c_str(), 1);
  figures.title("the prompt, from the last key to the next prompt (milliseconds, best of 10)");
  figures.add("start to the first prompt",
              best(10,
                   [&] {
                     Session session(mxc, home);
                     return session.until("mx> ");
                   }),
              "ms", 60);
  Session session(mxc, home);
  session.until("mx> ");
  figures.add("1.0 + 1.0", best(10, [&] { return session.input("1.0 + 1.0", "2.0\r\n"); }), "ms",
              10);
  int next = 0;
  figures.add("a small graph { }, compiled",
              best(10,
                   [&] {
                     // A different graph each time, so that no cache has it.
                     std::string number = std::to_string(++next) + ".5";
                     return session.input("graph { (ones([3]) * " + number + ").sum() }", "\r\n");
                   }),
              "ms", 40);
  figures.add(
      "the same graph { } again",
      best(10, [&] { return session.input("graph { (ones([3]) * 1.5).sum() }", "4.5\r\n"); }), "ms",
      10);
  auto stop = [&](const std::string &program) {
    session.type(program + "\r");
    session.until("begun\r\n");
    usleep(300000); // the computation is running now
    session.type("\x03");
    double ms = session.until("stopped");
    return ms < 0 ? ms : session.until("mx> ");
  };
  session.input("var n = 0", "mx> ");
  session.input("let m = ones([1500, 1500])", "mx> ");
  figures.title("Ctrl-C to the next prompt (milliseconds, worst of 3)");
  auto worst = [&](const std::string &program) {
    double largest = 0;
    for (int i = 0; i < 3; ++i) {
      double ms = stop(program);
      largest = ms < 0 || largest < 0 ? -1 : std::max(largest, ms);
    }
    return largest;
  };
  figures.add("a loop of the host", worst("print(\"begun\"); while true { n += 1 }"), "ms", 100);
  figures.add("matmul of 1500 x 1500, eager",
              worst("print(\"begun\"); var p = m; while true { p = (p @ m) * 0.001 }"), "ms", 100);
  figures.add(
      "the same in a graph",
      worst("graph { m @ m }; print(\"begun\"); graph { var p = m\n for i in 0..10000 { p = "
            "(p @ m) * 0.001 }\n p }"),
      "ms", 100);
  std::filesystem::remove_all(home);
  if (json && !mx::bench::writeJson(json, [&](std::FILE *to) { figures.printJson(to); }))
    return 1;
  return figures.goalsMet() ? 0 : 1;
}
