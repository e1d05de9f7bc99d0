// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc launch`: runs a program as several processes.
#include "Launch/Job.h"
#include "Driver/Commands.h"
#include "Driver/RunOptions.h"
#include "Driver/Settings.h"
#include "Run/Machine.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace mx::driver {
namespace {

constexpr const char *kLaunchHelp = R"(mxc launch - run a program as several processes of this machine

usage: mxc launch -n N [OPTIONS] FILE.mx [-- name=value…]
       mxc launch -n N [OPTIONS] PROGRAM [-- ARGUMENT…]     an executable of `mxc build --exe`, or any other

The processes are the ranks 0 to N-1 of a job. Each runs the whole program; `dist.sync(…)` in it connects
them through shared memory.

  -n N              ranks, 1 to 64
  --restart K       if a rank is killed or does not answer, end all and start them again, up to K times;
                    programs resume from their checkpoints. An error of the program ends the job
  --via local       how ranks are started: on this machine
  OPTIONS of mxc run, for every rank: `mxc run --help`

Threads ($MX_NUM_THREADS, or all) are divided among the ranks. A program is checked before the first rank
starts, and code is compiled by one rank at a time: the others find it in the cache.

Every line of output begins with the rank, `[0] `. The standard input of ranks is empty. The first error of
a job is shown once, and ends all ranks, as do Ctrl-C and the end of the launcher. Rank 2 writes its logs
into the folder `rank2` and its profile into the file `NAME.rank2.json`.

exit codes: 0 success, else that of the first rank that failed; 128 + S if signal S killed it;
2 wrong use of mxc

environment of a rank
  MX_RANK, MX_SIZE  its number, and how many there are
  MX_JOB            a name that no other job has
  MX_NUM_THREADS    its threads
  MX_LOGDIR         where `log` writes its curves, unless --logdir says it
)";

/// Options of this command alone; each has a value.
const std::set<std::string> kOwn = {"-n", "--restart", "--via", "--hosts"};

/// The integer value of an option; nothing if it is not an integer within these bounds.
std::optional<int> numberOf(const std::string &text, int min, int max) {
  char *end = nullptr;
  errno = 0;
  long number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end || errno || number < min || number > max)
    return std::nullopt;
  return static_cast<int>(number);
}

/// Reports what this version does not support. Returns the exit code.
int notYet(Streams &streams, const std::string &what) {
  streams.err << "error[R0005]: mxc launch: " << what << " is not supported in this version\n"
              << "  = help: ranks are processes of this machine: leave it out\n";
  return kWrongUse;
}

/// Reads the options of this command. Returns an error message, or an empty string.
std::string readLaunch(const CommandLine &line, launch::JobOptions &options) {
  if (!line.has("-n"))
    return "how many ranks? write `-n 4`";
  std::string count = *line.value("-n"), again = line.value("--restart").value_or("0");
  auto ranks = numberOf(count, 1, launch::kMaxRanks);
  if (!ranks)
    return "`-n " + count + "`: there may be 1 to " + std::to_string(launch::kMaxRanks) + " ranks";
  auto restarts = numberOf(again, 0, 1000);
  if (!restarts)
    return "`--restart " + again + "` is not a number of restarts, 0 to 1000";
  options.ranks = *ranks;
  options.restarts = *restarts;
  if (line.files().size() != 1)
    return line.files().empty() ? "which program?"
                                : "one program, please; its options follow `--`: `-- " +
                                      line.files()[1] + "`";
  for (const char *other : {"-e", "--emit", "--filter", "--tune"})
    if (line.has(other))
      return "`" + std::string(other) + "` is for `mxc run`";
  return "";
}

/// The arguments before `--` without the file and the options of this command.
std::vector<std::string> optionsOfRanks(const std::vector<std::string> &args) {
  std::vector<std::string> out;
  for (size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    const std::string &arg = args[i];
    size_t equals = arg.find('=');
    std::string name = arg.substr(0, equals);
    bool isValued = equals == std::string::npos && (runOptions().count(name) || kOwn.count(name));
    bool isOption = arg.size() >= 2 && arg[0] == '-';
    if (isOption && !kOwn.count(name)) {
      out.push_back(arg);
      if (isValued)
        out.push_back(args[i + 1]);
    }
    if (isOption && isValued)
      ++i;
  }
  return out;
}

/// Checks the program and shows its errors. Warnings are left to rank 0.
int checkOnce(const CommandLine &line, Streams &streams) {
  std::vector<std::string> args{line.files()[0]};
  for (const std::string &option : programOptions())
    for (const std::string &value : line.values(option))
      args.insert(args.end(), {option, value});
  args.push_back("--");
  args.insert(args.end(), line.rest().begin(), line.rest().end());
  std::ostringstream messages;
  Streams own{streams.out, messages, streams.colour};
  int code = runCheck(args, own);
  if (code != kFine)
    streams.err << messages.str() << std::flush;
  return code;
}

} // namespace

int runLaunch(const std::vector<std::string> &args, Streams streams) {
  std::set<std::string> valued = runOptions();
  valued.insert(kOwn.begin(), kOwn.end());
  CommandLine line(args, valued, runFlags());
  if (!line.problem().empty())
    return wrongUse(streams, line.problem(), "launch");
  if (line.has("--help") || line.has("-h")) {
    streams.out << kLaunchHelp;
    return kFine;
  }
  std::string via = line.value("--via").value_or("local");
  if (line.has("--hosts"))
    return notYet(streams, "`--hosts`");
  if (via == "ssh" || via == "slurm" || via == "mpirun")
    return notYet(streams, "`--via " + via + "`");
  launch::JobOptions options;
  std::string problem = readLaunch(line, options);
  if (problem.empty() && via != "local")
    problem = "`--via " + via + "` is not a way to start ranks; known is local";
  std::vector<std::string> given = optionsOfRanks(args);
  std::string file = line.files().empty() ? "" : line.files()[0];
  std::error_code ignored;
  bool isProgram = file.ends_with(".mx");
  if (problem.empty() && !isProgram) {
    if (access(file.c_str(), F_OK) != 0)
      problem = "there is no program `" + file + "`";
    else if (std::filesystem::is_directory(file, ignored) || access(file.c_str(), X_OK) != 0)
      problem = "`" + file + "` is neither a program in mx, FILE.mx, nor an executable";
    else if (!given.empty())
      problem = "`" + given[0] + "` is for programs in mx, and `" + file +
                "` is an executable; its arguments follow `--`";
  }
  if (!problem.empty())
    return wrongUse(streams, problem, "launch");
  options.command = {file};
  if (isProgram) {
    if (int code = checkOnce(line, streams); code != kFine)
      return code;
    options.command = {std::filesystem::read_symlink("/proc/self/exe"), "run"};
    options.command.insert(options.command.end(), given.begin(), given.end());
    if (streams.colour && !line.has("--colour"))
      options.command.push_back("--colour=always");
    options.command.insert(options.command.end(), {file, "--"});
  }
  options.command.insert(options.command.end(), line.rest().begin(), line.rest().end());
  options.logFolder = run::defaultLogFolder(file);
  options.colourOut = streams.drawsOut && streams.colour;
  options.colourErr = streams.colour;
  return launch::runJob(options, streams.out, streams.err);
}

} // namespace mx::driver
