// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts and monitors one process of a job.
#include "Launch/Rank.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace mx::launch {
namespace {

void closeFile(int &file) {
  if (file >= 0)
    close(file);
  file = -1;
}

/// The environment with `variables` in it.
std::vector<std::string> environmentWith(const std::vector<std::string> &variables) {
  std::vector<std::string> all = variables;
  for (char **each = environ; *each; ++each) {
    std::string_view text(*each), name = text.substr(0, text.find('=') + 1);
    bool isReplaced = false;
    for (const std::string &given : variables)
      isReplaced |= given.starts_with(name);
    if (!isReplaced)
      all.emplace_back(text);
  }
  return all;
}

std::vector<char *> pointersTo(std::vector<std::string> &texts) {
  std::vector<char *> out;
  for (std::string &text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// A file with this text, or one that is empty.
int inputOf(const std::string &text) {
  if (text.empty())
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
  int file = memfd_create("mx-input", MFD_CLOEXEC);
  if (file >= 0 && (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
                    lseek(file, 0, SEEK_SET) != 0))
    closeFile(file);
  return file;
}

/// Both ends of a pipe or channel, closed when it is left.
struct Ends {
  int here = -1, there = -1;
  ~Ends() {
    closeFile(here);
    closeFile(there);
  }
  bool openPipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      return false;
    here = ends[0];
    there = ends[1];
    return true;
  }
  bool openChannel() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return false;
    here = ends[0];
    there = ends[1];
    return true;
  }
};

} // namespace

std::string Rank::start(const RankOptions &options) {
  auto failed = [&](int number) {
    return "cannot start rank " + std::to_string(this->number) + ": " + std::strerror(number);
  };
  Ends out, err, channel, result;
  if (!out.openPipe() || !err.openPipe() || !result.openPipe() || !channel.openChannel())
    return failed(errno);
  remote = options.isRemote;
  std::vector<std::string> variables = options.variables;
  if (!remote)
    variables.push_back(std::string(run::Launched::kLauncher) + "=" +
                        std::to_string(channel.there) + "," + std::to_string(options.compileLock));
  std::vector<std::string> texts = environmentWith(variables), words = options.command;
  std::vector<char *> environment = pointersTo(texts), arguments = pointersTo(words);
  int input = inputOf(options.input);
  pid_t launcher = getpid();
  process = fork();
  if (process == 0) {
    // Only async-signal-safe system calls between fork and exec.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) // the launcher ended before PR_SET_PDEATHSIG was set
      _exit(127);
    bool fine = dup2(input, STDIN_FILENO) >= 0 && dup2(out.there, STDOUT_FILENO) >= 0 &&
                dup2(err.there, STDERR_FILENO) >= 0 &&
                (options.isRemote || fcntl(channel.there, F_SETFD, 0) == 0);
    if (options.compileLock >= 0 && !options.isRemote)
      fine &= fcntl(options.compileLock, F_SETFD, 0) == 0;
    sigprocmask(SIG_SETMASK, &options.signals, nullptr);
    if (fine)
      execve(arguments[0], arguments.data(), environment.data());
    int reason = errno;
    ssize_t written = write(result.there, &reason, sizeof reason);
    (void)written;
    _exit(127);
  }
  int reason = errno;
  closeFile(input);
  if (process < 0)
    return failed(reason);
  setpgid(process, process); // parent and child both call it; the first call counts
  closeFile(result.there);
  bool isFailure = ::read(result.here, &reason, sizeof reason) == sizeof reason;
  if (isFailure) {
    waitpid(process, nullptr, 0);
    process = -1;
    return failed(reason);
  }
  files[0] = std::exchange(out.here, -1);
  files[1] = std::exchange(err.here, -1);
  if (!remote)
    files[2] = std::exchange(channel.here, -1);
  for (int file : files)
    if (file >= 0)
      fcntl(file, F_SETFL, O_NONBLOCK);
  return "";
}

Rank::~Rank() {
  if (process > 0) {
    kill(-process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  for (int &file : files)
    closeFile(file);
}

std::string Rank::follow(Rank &other) {
  carrier = &other;
  remote = true;
  return "";
}

void Rank::connect(int channel) {
  closeFile(files[2]); // it called before: the newer one counts
  files[2] = channel;
}

void Rank::signal(int which) {
  if (remote && which != SIGKILL && files[2] >= 0) {
    auto byte = static_cast<unsigned char>(run::Launched::kSignals + which);
    send(files[2], &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  if (process > 0)
    kill(-process, which);
  if (remote)
    closeFile(files[2]);
}

void Rank::tellEnd(int other) {
  auto byte = static_cast<unsigned char>(other);
  if (files[2] >= 0)
    send(files[2], &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

Rank::State Rank::state() {
  if (carrier) {
    State state = carrier->state();
    isOver = state == State::Ended;
    return isOver ? State::Ended : State::Running;
  }
  if (process < 0 || isOver)
    return State::Ended;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(process), &info,
             WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return State::Running;
  if (info.si_code == CLD_STOPPED)
    return State::Stopped;
  if (info.si_code == CLD_CONTINUED)
    return State::Running;
  isOver = true;
  if (info.si_code == CLD_EXITED)
    code = info.si_status;
  else
    killedBy = info.si_status;
  return State::Ended;
}

std::string Rank::read(int which) {
  int &file = files[which];
  std::string text;
  char buffer[1 << 13];
  while (file >= 0 && text.size() < (1 << 16)) {
    ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got > 0)
      text.append(buffer, static_cast<size_t>(got));
    else if (got < 0 && errno == EINTR)
      continue;
    else if (got < 0 && errno == EAGAIN)
      break;
    else
      closeFile(file);
  }
  return text;
}

bool Rank::nextReport(Report &report) {
  using run::Launched;
  for (std::string more = read(2); !more.empty(); more = read(2))
    received += more;
  Launched::Header header;
  if (received.size() < sizeof header)
    return false;
  std::memcpy(&header, received.data(), sizeof header);
  if (header.length > Launched::kMaxText) { // not written by our runtime
    received.clear();
    closeFile(files[2]);
    return false;
  }
  if (received.size() - sizeof header < header.length)
    return false;
  report.kind = static_cast<Launched::Report>(header.kind);
  report.text = received.substr(sizeof header, header.length);
  received.erase(0, sizeof header + header.length);
  return true;
}

} // namespace mx::launch
