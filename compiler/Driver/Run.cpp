// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc run`, `mxc -e` and `mxc test`.
#include "Docs/Library.h"
#include "Driver/Emit.h"
#include "Driver/MakeCode.h"
#include "Driver/ProgramOptions.h"
#include "Driver/RunOptions.h"
#include "Driver/ProgramSession.h"
#include "Driver/Settings.h"
#include "Support/Bytes.h"
#include "Support/Limits.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mx::driver {
namespace {

constexpr const char *kRunHelp = R"(mxc run - check a program and run it

usage: mxc run [OPTIONS] FILE [-- name=value…]        (- reads standard input)
       mxc run FILE --help                            the options of the program
       mxc -e 'CODE' [OPTIONS]

  --eager                  graphs run op by op too
  --sync                   each op is waited for before the next is issued
  --compare                both ways; says where results differ and by how many ulps
  --check=nan              stop at the first op that makes a NaN; graphs run op by op
  --check=memory           graphs: no kernel changes memory that is not its own; what is not in use is poison
  --unchecked              integer division by zero gives 0 instead of an error
  --fast-math              kernels of graphs may reorder sums, contract ops, and assume that there is no NaN and no
                           infinity: other bits than eager code
  --seed N                 seed of the default random generator (0)
  --max-memory=512MiB      error instead of using more for tensors
  --max-bytes=512MiB       graphs rematerialise values rather than need a larger arena; error if that is
                           not enough
  --profile=trace.json     write a trace for Perfetto or chrome://tracing
  --tune                   autotuning: time a few tilings of each matmul and convolution; the fastest is kept
                           with the compiled code and used from then on, with the same results
  --timing                 say at the end where the time went: stages of the compiler, running, slow kernels
  --perf-map               name compiled code for `perf record`, in /tmp/perf-PID.map
  --logdir=FOLDER          where `log` writes its curves (runs/NAME-DATE); see mxc report
  --disable=PASS[,PASS]    leave out passes: fuse, simplify, cse, hoist, tile-chains, prepack,
                           schedule, recompute, in-place, co-share
  --explain-fusion         say which ops of a graph were not put into one kernel, and why
  --emit=STAGE             print a stage: tokens ast typed mx bytecode mx-specialised mx-fused dot mxrt
                           loops llvm asm; those behind mx are shown for each graph that runs
  --target-cpu=NAME        make code for this CPU instead of this machine's: generic, x86-64-v2, …
  --cache=FOLDER           where compiled code is kept ($MX_CACHE_DIR, ~/.cache/mx)
  -D name=value            a value for `option(name, default)`
  --error-format=text|short|json   --silence=CODE   --as NAME   --colour=auto|always|never
)";
constexpr const char *kTestHelp = R"(mxc test - run the `test "…" { }` blocks of programs

usage: mxc test [OPTIONS] FILE… [--filter TEXT] [--grad]

The options are those of `mxc run`. Each test runs after the top level of its file, in order. Blocks of mx
in `##` comments are programs, and run too (`mxc doc --help`); `--filter` finds them by `example of NAME`.

  --grad  every gradient that is taken is compared with differences: all floats are f64, graphs run
          op by op, and a gradient that differs is an error at its `grad` that says where; examples are left out
)";

} // namespace

const std::set<std::string> &runOptions() {
  static const std::set<std::string> options = [] {
    std::set<std::string> all = programOptions();
    for (const char *more :
         {"-e", "--check", "--seed", "--max-memory", "--max-bytes", "--profile", "--disable",
          "--cache", "--filter", "--target-cpu", "--internal-mistake", "--internal-chunk",
          "--internal-block", "--internal-tiling", "--internal-bf16", "--logdir"})
      all.insert(more);
    return all;
  }();
  return options;
}
const std::set<std::string> &runFlags() {
  static const std::set<std::string> flags = {
      "--help",    "-h",          "--eager",     "--sync",
      "--compare", "--unchecked", "--fast-math", "--explain-fusion", "--perf-map", "--timing",
      "--tune",    "--internal-bytes"};
  return flags;
}

namespace {

std::set<std::string> testFlags() {
  std::set<std::string> all = runFlags();
  all.insert("--grad");
  return all;
}

} // namespace

std::string readSeed(const std::string &text, int64_t &seed) {
  char *end = nullptr;
  seed = std::strtoll(text.c_str(), &end, 10);
  return text.empty() || *end ? "`--seed " + text + "` is not a whole number" : "";
}

std::string readRunOptions(const CommandLine &line, std::ostream &err, const Settings &settings,
                           SessionOptions &options) {
  options.check = settings.check;
  options.render = settings.render;
  options.silenced = settings.silenced;
  options.code.eager = line.has("--eager");
  options.sync = line.has("--sync");
  options.compare = line.has("--compare");
  options.compile.kernels.unchecked = line.has("--unchecked");
  options.compile.kernels.fastMath = line.has("--fast-math");
  options.cacheFolder = line.value("--cache").value_or("");
  options.cpu = line.value("--target-cpu").value_or(options.cpu);
  if (auto cpu = target::TargetCpu::parse(options.cpu); !cpu)
    return cpu.message();
  else if (!cpu->runsHere())
    return "this machine cannot run code for `" + options.cpu + "`";
  options.logFolder =
      line.value("--logdir")
          .value_or(run::defaultLogFolder(line.files().size() == 1 ? line.files()[0] : ""));
  if (options.logFolder.empty())
    return "`--logdir` needs a folder";
  options.profile = line.value("--profile").value_or("");
  if (line.value("--profile")) {
    // The profile may go into the log folder, which does not exist yet.
    std::error_code ignored;
    if (line.value("--logdir"))
      std::filesystem::create_directories(options.logFolder, ignored);
    // Fail now rather than after the run.
    errno = 0;
    if (options.profile.empty() || !std::ofstream(options.profile, std::ios::app))
      return "cannot write the profile `" + options.profile + "`: " +
             (options.profile.empty() ? "it has no name" : std::strerror(errno));
  }
  for (const std::string &check : commaList(line.value("--check").value_or(""))) {
    if (check == "nan") {
      options.checkNan = true;
      options.code.eager = true; // eagerly, so that the op that produced the NaN can be named
    } else if (check == "memory") {
      options.compile.guard = true;
    } else if (check != "index") // indices are always checked
      return "`" + check + "` cannot be checked; known are nan, index and memory";
  }
  if (std::string problem = readDisabled(line, err, options.compile.disabled); !problem.empty())
    return problem;
  // Fault injection for tests of the tests, hence not in the help.
  options.compile.mistake = line.value("--internal-mistake").value_or("");
  if (!options.compile.mistake.empty() && options.compile.mistake != kWrongCode &&
      !pipeline::knowsMistake(options.compile.mistake))
    return "no pass makes the mistake `" + options.compile.mistake + "`";
  options.countBytes = line.has("--internal-bytes");
  options.compile.perfMap = line.has("--perf-map");
  options.timing = line.has("--timing");
  options.tune = line.has("--tune");
  if (auto chunk = line.value("--internal-chunk"))
    options.compile.kernels.chunkWork = std::max(1ll, std::atoll(chunk->c_str()));
  if (std::string problem = readBf16Unit(line, options.compile); !problem.empty())
    return problem;
  if (auto text = line.value("--internal-tiling")) {
    auto tiling = lowering::Tiling::parse(*text);
    if (!tiling)
      return "`" + *text + "` is not a tiling of a matmul";
    options.compile.kernels.tiling = *tiling;
  }
  if (auto block = line.value("--internal-block"))
    options.compile.tileBytes = std::max(1ll, std::atoll(block->c_str()));
  if (auto seed = line.value("--seed"))
    if (std::string problem = readSeed(*seed, options.seed); !problem.empty())
      return problem;
  if (auto limit = line.value("--max-memory")) {
    auto bytes = parseBytes(*limit);
    if (!bytes)
      return "`--max-memory=" + *limit + "` is not a number of bytes, such as 512MiB";
    options.memoryLimit = *bytes;
  }
  if (auto limit = line.value("--max-bytes")) {
    auto bytes = parseBytes(*limit);
    if (!bytes)
      return "`--max-bytes=" + *limit + "` is not a number of bytes, such as 512MiB";
    options.compile.maxBytes = *bytes;
  }
  return "";
}

namespace {

/// The error if there is not exactly one program to run.
std::string filesProblem(const CommandLine &line, bool isCode) {
  for (const std::string &word : line.files())
    if (word.find('=') != std::string::npos && (isCode || &word != &line.files()[0]))
      return "values of options follow `--`: `-- " + word + "`";
  return isCode ? "`-e` takes the program itself, and no file" : "one file, please";
}

} // namespace

/// Of a rank above 0: what is for people is shown by rank 0.
static SessionOptions optionsOfRank(SessionOptions options, int rank) {
  options.showsProgress = options.onTerminal = options.drawsOnTerminal = false;
  options.timing = options.countBytes = false;
  options.logFolder = run::folderOfRank(options.logFolder, rank);
  options.profile = run::fileOfRank(options.profile, rank);
  return options;
}

int runProgram(const std::vector<std::string> &args, Streams streams) {
  CommandLine line(args, runOptions(), runFlags());
  if (!line.problem().empty())
    return wrongUse(streams, line.problem(), "run");
  std::optional<std::string> code = line.value("-e");
  bool helps = line.has("--help") || line.has("-h");
  if (helps && !code && line.files().empty()) {
    streams.out << kRunHelp;
    return kFine;
  }
  if (line.files().size() != (code ? 0u : 1u))
    return wrongUse(streams, filesProblem(line, code.has_value()), "run");
  Settings settings;
  SessionOptions options;
  std::string problem = readSettings(line, streams, settings);
  if (problem.empty())
    problem = readRunOptions(line, streams.err, settings, options);
  if (problem.empty() && line.has("--filter"))
    problem = "`--filter` is for `mxc test`";
  if (problem.empty() && !settings.emit.empty())
    problem = prepareEmit(settings.emit, options, streams.out);
  if (line.has("--explain-fusion"))
    explainFusion(options, streams.err);
  if (!problem.empty())
    return wrongUse(streams, problem, "run");
  std::string path = code ? "" : line.files()[0];
  std::optional<std::string> text = code ? code : readProgram(path, streams, "run");
  if (!text)
    return kWrongUse;
  std::string name = code ? "<command>" : shownName(settings, path);
  if (helps)
    return showProgramOptions(path, name, std::move(*text), settings, streams);
  if (settings.emit == "tokens" || settings.emit == "ast" || settings.emit == "typed")
    return runCheck(args, streams);
  options.onTerminal = streams.terminal;
  options.drawsOnTerminal = streams.drawsOut;
  std::string from = path == "-" ? "" : path;
  run::Launched launched;
  launch::CompileGate gate(launched.compileLock());
  options.compileGate = &gate;
  run::Replicas replicas(streams.out, streams.err, launched,
                         [&](run::Replica &replica, int threads, std::ostream &out,
                             std::ostream &err) {
                           SessionOptions own = optionsOfRank(options, replica.rank());
                           own.replica = &replica;
                           own.threads = threads;
                           ProgramSession session(own, out, err);
                           return session.ready() && session.runProgram(name, from, *text) &&
                                  !session.hadFault();
                         });
  SessionOptions own = launched.rank() > 0 ? optionsOfRank(options, launched.rank()) : options;
  own.replica = &replicas.first();
  ProgramSession session(own, replicas.out(), replicas.err());
  if (!session.ready()) {
    replicas.finish(false);
    return kFaultOfMxc;
  }
  run::Interruptible stop(session.runsOn());
  bool fine = session.runProgram(name, from, *text);
  return session.exitCode(replicas.finish(fine));
}

/// Runs the programs in the doc comments of a file, each in its own session. Their output is not
/// shown.
static bool runExamples(const std::string &name, const std::string &path, const std::string &text,
                        const std::string &filter, const SessionOptions &options, Streams streams,
                        int &passed, int &failed) {
  SourceManager sources;
  const SourceFile &file = sources.add(name, path, text);
  for (docs::Example &example : docs::examplesOf(file)) {
    std::string title =
        "example of " +
        (example.of.empty() ? std::filesystem::path(name).stem().string() : example.of);
    if (title.find(filter) == std::string::npos)
      continue;
    std::ostringstream printed;
    SessionOptions own = options;
    own.check.sharesOptions = true; // those of the file
    ProgramSession session(own, printed, streams.err);
    if (!session.ready())
      return false;
    run::Interruptible stop(session.runsOn());
    // A path next to the file, not the file itself: an example imports it.
    std::string location = path.empty() ? "" : path + ":" + std::to_string(example.line);
    bool ok = session.runProgram(name, location, std::move(example.text));
    streams.out << (ok ? "pass  " : "FAIL  ") << name << ":" << example.line << "  " << title
                << "\n";
    ++(ok ? passed : failed);
    if (session.wasCancelled())
      return false;
  }
  return true;
}

int runTests(const std::vector<std::string> &args, Streams streams) {
  CommandLine line(args, runOptions(), testFlags());
  if (!line.problem().empty())
    return wrongUse(streams, line.problem(), "test");
  if (line.has("--help") || line.has("-h")) {
    streams.out << kTestHelp;
    return kFine;
  }
  if (line.files().empty())
    return wrongUse(streams, "which file?", "test");
  Settings settings;
  SessionOptions options;
  std::string problem = readSettings(line, streams, settings);
  if (problem.empty())
    problem = readRunOptions(line, streams.err, settings, options);
  for (const char *other : {"-e", "--emit", "--compare", "--timing", "--internal-bytes"})
    if (problem.empty() && line.has(other))
      problem = "`" + std::string(other) + "` is for `mxc run`";
  if (line.has("--explain-fusion"))
    explainFusion(options, streams.err);
  options.checkGradients = line.has("--grad");
  options.code.eager |= options.checkGradients;
  if (!problem.empty())
    return wrongUse(streams, problem, "test");
  int passed = 0, failed = 0, worst = kFine;
  OptionsOfFiles declared(options.check, line.files().size());
  for (const std::string &path : line.files()) {
    std::optional<std::string> text = readProgram(path, streams, "test");
    if (!text) {
      worst = std::max<int>(worst, kWrongUse);
      continue;
    }
    std::string name = shownName(settings, path), from = path == "-" ? "" : path,
                filter = line.value("--filter").value_or("");
    bool fine = true;
    {
      ProgramSession session(options, streams.out, streams.err);
      if (!session.ready())
        return kFaultOfMxc;
      run::Interruptible stop(session.runsOn());
      bool isChecked = false;
      fine = session.runTests(name, from, *text, filter, passed, failed, isChecked);
      declared.add(session.checker(), isChecked);
      if (session.hadFault())
        worst = kFaultOfMxc;
    }
    if (fine && !options.checkGradients)
      fine = runExamples(name, from, *text, filter, options, streams, passed, failed);
    if (!fine)
      worst = std::max<int>(worst, kProgramHasErrors);
  }
  worst = std::max(worst, declared.finish(settings, streams));
  streams.out << passed << " passed, " << failed << " failed\n";
  return failed ? std::max<int>(worst, kProgramHasErrors) : worst;
}

} // namespace mx::driver
