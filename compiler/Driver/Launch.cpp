// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc launch`: runs a program as several processes.
#include "Launch/Job.h"
#include "Driver/Commands.h"
#include "Driver/RunOptions.h"
#include "Driver/Settings.h"
#include "Run/Machine.h"
#include "base/Sockets.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace mx::driver {
namespace {

constexpr const char *kLaunchHelp = R"(mxc launch - run a program as several processes, of this machine or several

usage: mxc launch -n N [OPTIONS] FILE.mx [-- name=value…]
       mxc launch -n N [OPTIONS] PROGRAM [-- ARGUMENT…]     an executable of `mxc build --exe`, or any other

The processes are the ranks 0 to N-1 of a job. Each runs the whole program; `dist.sync(…)` in it connects
them.

  -n N              ranks, 1 to 64
  --restart K       if a rank is killed or does not answer, end all and start them again, up to K times;
                    programs resume from their checkpoints. An error of the program is not tried again
  --via local|ssh|slurm|mpirun
                    how ranks are started: on this machine, through ssh, as steps of Slurm (srun), or by
                    mpirun of Open MPI. The program and mxc have the same paths on all machines
  --hosts FILE      the machines: `NAME` or `NAME slots=K` a line. Ranks go to the first until its slots are
                    used, then to the next
  --transport shm|grpc|mpi
                    how ranks talk: shared memory (on one machine), gRPC or MPI
  --address A       the address of this machine for ranks on others
  --insecure-network
                    allows addresses other than 127.0.0.1. Nothing is encrypted: other users of the
                    network can read and change weights. For networks that nobody else uses
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
  MX_JOB            a name that no other job has; with gRPC it is the secret that ranks know each other by
  MX_TRANSPORT      shm, grpc or mpi
  MX_RENDEZVOUS     HOST:PORT where ranks find each other, for grpc; without a launcher rank 0 listens there
  MX_INSECURE_NETWORK=1   as --insecure-network
  MX_NUM_THREADS    its threads
  MX_LOGDIR         where `log` writes its curves, unless --logdir says it
)";

/// Options of this command, with a value.
const std::set<std::string> kOwn = {"-n",          "--restart",   "--via",
                                    "--hosts",     "--transport", "--address"};
const std::string kInsecure = "--insecure-network";

/// The integer value of an option; nothing if it is not an integer within these bounds.
std::optional<int> numberOf(const std::string &text, int min, int max) {
  char *end = nullptr;
  errno = 0;
  long number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end || errno || number < min || number > max)
    return std::nullopt;
  return static_cast<int>(number);
}

/// How ranks are started and how they talk; an error message, or empty.
std::string readStart(const CommandLine &line, launch::JobOptions &options) {
  using launch::Via;
  std::string via = line.value("--via").value_or("local");
  const std::pair<const char *, Via> ways[] = {
      {"local", Via::Local}, {"ssh", Via::Ssh}, {"slurm", Via::Slurm}, {"mpirun", Via::Mpirun}};
  auto way = std::find_if(std::begin(ways), std::end(ways), [&](auto &each) { return via == each.first; });
  if (way == std::end(ways))
    return "`--via " + via + "` is not a way to start ranks; there are local, ssh, slurm and mpirun";
  options.via = way->second;
  std::string usual = via == "local" ? "shm" : via == "mpirun" ? "mpi" : "grpc";
  options.transport = line.value("--transport").value_or(usual);
  if (options.transport != "shm" && options.transport != "grpc" && options.transport != "mpi")
    return "`--transport " + options.transport + "` is not a transport; there are shm, grpc and mpi";
  if (options.transport == "mpi" && options.via != Via::Mpirun)
    return "`--transport mpi` needs ranks that mpirun starts: add `--via mpirun`";
  if (line.has("--hosts")) {
    std::string problem;
    if (options.via == Via::Local)
      return "`--hosts` is for ranks on other machines: add `--via ssh`, `--via slurm` or `--via mpirun`";
    auto hosts = launch::readHosts(*line.value("--hosts"), problem);
    if (!hosts)
      return problem;
    options.hosts = *hosts;
  } else if (options.via == Via::Ssh) {
    return "which machines? `--via ssh` needs a list: `--hosts FILE`";
  }
  auto isHere = [](const launch::Host &host) {
    return host.name == "localhost" || mxrt::os::isLoopback(host.name.c_str());
  };
  bool areAllHere = std::all_of(options.hosts.begin(), options.hosts.end(), isHere);
  if (options.transport == "shm" && !areAllHere)
    return "`--transport shm` is for ranks of one machine; write `--transport grpc`";
  options.address = line.value("--address").value_or("127.0.0.1");
  options.insecure = line.has(kInsecure);
  return "";
}

/// Ranks that would talk through an open network, without the permission to do so.
bool isRefused(const launch::JobOptions &options, Streams &streams) {
  std::string where = mxrt::os::isLoopback(options.address.c_str()) ? "" : options.address;
  for (const launch::Host &host : options.hosts)
    if (where.empty() && host.name != "localhost" && !mxrt::os::isLoopback(host.name.c_str()))
      where = host.name;
  if (where.empty())
    return false;
  if (options.insecure) {
    streams.err << "warning: mxc launch: what the ranks say is not encrypted (--insecure-network)\n";
    return false;
  }
  streams.err << "error[R0708]: mxc launch: ranks would talk with " << where
              << ", through a network where others can read and change what they say\n"
              << "  = note: this version has no TLS\n"
              << "  = help: in a network that nobody else uses, add `--insecure-network`\n";
  return true;
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
    if (isOption && !kOwn.count(name) && name != kInsecure) {
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
  std::set<std::string> flags = runFlags();
  flags.insert(kInsecure);
  CommandLine line(args, valued, flags);
  if (!line.problem().empty())
    return wrongUse(streams, line.problem(), "launch");
  if (line.has("--help") || line.has("-h")) {
    streams.out << kLaunchHelp;
    return kFine;
  }
  launch::JobOptions options;
  std::string problem = readLaunch(line, options);
  if (problem.empty())
    problem = readStart(line, options);
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
  if (isRefused(options, streams))
    return kWrongUse;
  // Other folders are meant by this name on other machines.
  options.command = {options.via == launch::Via::Local ? file : std::filesystem::absolute(file).string()};
  if (isProgram) {
    if (int code = checkOnce(line, streams); code != kFine)
      return code;
    options.command = {std::filesystem::read_symlink("/proc/self/exe"), "run"};
    options.command.insert(options.command.end(), given.begin(), given.end());
    if (streams.colour && !line.has("--colour"))
      options.command.push_back("--colour=always");
    options.command.insert(options.command.end(), {file, "--"}); // ranks start in the same folder
  }
  options.command.insert(options.command.end(), line.rest().begin(), line.rest().end());
  options.logFolder = run::defaultLogFolder(file);
  options.colourOut = streams.drawsOut && streams.colour;
  options.colourErr = streams.colour;
  return launch::runJob(options, streams.out, streams.err);
}

} // namespace mx::driver
