// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mxc-im2rec: packs images into RecordIO files with an index, as MXNet's im2rec does.

#include "Pack.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace mxrt;

namespace {

const char kHelp[] =
    R"(Usage: mxc-im2rec [OPTIONS] LIST FOLDER OUT
       mxc-im2rec --list FOLDER

Packs the pictures that LIST names, files below FOLDER, into OUT.rec and OUT.idx.
A line of LIST is `index<TAB>label<TAB>...<TAB>path`, with one label or several.
Pictures are JPEG or PNG; without options they are taken as they are.

  --resize=N     the shorter side becomes N pixels; written as JPEG
  --quality=Q    of the JPEG, 1 to 100 (95); without --resize: the same size
  --center-crop  the square in the middle
  --shards=K     OUT-0.rec to OUT-(K-1).rec, lines dealt in turn
  --threads=T    work on T pictures at a time (all processors)
  --list         prints a list of FOLDER: its folders, by name, are the labels

Exit codes: 0 fine, 1 a picture or the list is wrong, 2 wrong use.
)";

int fail(const std::string &where, const std::string &why) {
  std::cerr << "mxc-im2rec: " << where << ": " << why.substr(0, why.find('\n')) << "\n";
  return 1;
}

struct Options {
  PackOptions pack;
  int64_t shards = 1, threads = 0;
  bool lists = false;
  std::vector<std::string> rest;
};

/// Parses an integer in [low, high] after `=`.
bool readNumber(const std::string &arg, size_t at, int64_t low, int64_t high, int64_t &out) {
  const char *end = arg.data() + arg.size();
  auto [stop, problem] = std::from_chars(arg.data() + at, end, out);
  return problem == std::errc() && stop == end && out >= low && out <= high;
}

bool readOptions(const std::vector<std::string> &args, Options &options) {
  for (const std::string &arg : args) {
    auto named = [&](const char *name) { return arg.rfind(name, 0) == 0; };
    int64_t quality = 0;
    bool fine = true;
    if (named("--resize="))
      fine = readNumber(arg, 9, 1, 65000, options.pack.resize);
    else if (named("--quality=")) {
      fine = readNumber(arg, 10, 1, 100, quality);
      options.pack.quality = static_cast<int>(quality);
    } else if (named("--shards="))
      fine = readNumber(arg, 9, 1, 10000, options.shards);
    else if (named("--threads="))
      fine = readNumber(arg, 10, 1, 1024, options.threads);
    else if (arg == "--center-crop")
      options.pack.square = true;
    else if (arg == "--list")
      options.lists = true;
    else if (arg.size() > 1 && arg[0] == '-')
      fine = false;
    else
      options.rest.push_back(arg);
    if (!fine) {
      std::cerr << "mxc-im2rec: `" << arg << "` is not an option\n";
      return false;
    }
  }
  return options.rest.size() == (options.lists ? 1 : 3);
}

/// One output file with its index.
struct Shard {
  std::ofstream records, index;
  int64_t offset = 0;
};

/// An image that is being processed, and its result.
struct Slot {
  Vec<char> record{mxrt_system_allocator()};
  Status status;
};

class Packer {
public:
  Packer(const Options &options, fs::path folder)
      : options(options), folder(std::move(folder)),
        threads(options.threads > 0 ? static_cast<size_t>(options.threads)
                                    : std::max(1u, std::thread::hardware_concurrency())) {}

  int readList(const std::string &path) {
    std::ifstream list(path);
    if (!list)
      return fail(path, "it cannot be read");
    listPath = path;
    std::string text;
    for (int number = 1; std::getline(list, text); ++number) {
      Line line;
      line.number = number;
      std::string problem = parseLine(text, line);
      if (problem.empty() && !staysInside(folder, folder / line.path))
        problem = "`" + line.path + "` leads out of the folder";
      if (!problem.empty())
        return fail(where(line), problem);
      lines.push_back(std::move(line));
    }
    return 0;
  }

  int write(const std::string &out) {
    std::vector<Shard> shards(static_cast<size_t>(options.shards));
    for (size_t i = 0; i < shards.size(); ++i) {
      std::string name = options.shards > 1 ? out + "-" + std::to_string(i) : out;
      shards[i].records.open(name + ".rec", std::ios::binary);
      shards[i].index.open(name + ".idx");
      if (!shards[i].records || !shards[i].index)
        return fail(name, "it cannot be written");
    }
    int64_t bytes = 0;
    // Images in flight: enough that no thread waits long for the slowest. Their records are held in
    // memory.
    const size_t window = 32 * threads;
    for (size_t begin = 0; begin < lines.size(); begin += window) {
      size_t count = std::min(window, lines.size() - begin);
      std::vector<Slot> slots(count);
      pack(begin, slots);
      for (size_t i = 0; i < count; ++i) {
        const Line &line = lines[begin + i];
        if (!slots[i].status.ok())
          return fail(where(line), slots[i].status.message());
        Shard &shard = shards[(begin + i) % shards.size()];
        const Vec<char> &record = slots[i].record;
        shard.records.write(record.data(), static_cast<std::streamsize>(record.size()));
        shard.index << line.index << '\t' << shard.offset << '\n';
        shard.offset += static_cast<int64_t>(record.size());
        bytes += static_cast<int64_t>(record.size());
      }
      showProgress(begin + count);
    }
    for (Shard &shard : shards) {
      shard.records.close();
      shard.index.close();
      if (!shard.records || !shard.index)
        return fail(out, "it cannot be written");
    }
    std::cout << lines.size() << " pictures, " << bytes << " bytes\n";
    return 0;
  }

private:
  std::string where(const Line &line) const { return listPath + ":" + std::to_string(line.number); }

  void pack(size_t begin, std::vector<Slot> &slots) {
    std::atomic<size_t> next = 0;
    auto work = [&] {
      for (size_t i = next++; i < slots.size(); i = next++) {
        const Line &line = lines[begin + i];
        slots[i].status =
            packPicture(line, (folder / line.path).string(), options.pack, slots[i].record);
      }
    };
    std::vector<std::thread> others;
    for (size_t i = 1; i < std::min(threads, slots.size()); ++i)
      others.emplace_back(work);
    work();
    for (std::thread &other : others)
      other.join();
  }

  void showProgress(size_t done) {
    auto now = std::chrono::steady_clock::now();
    bool last = done == lines.size();
    if (!isatty(STDERR_FILENO) || (!last && now - shown < std::chrono::milliseconds(200)))
      return;
    shown = now;
    double seconds = std::chrono::duration<double>(now - start).count();
    std::cerr << "\r" << done << "/" << lines.size() << "  "
              << static_cast<int64_t>(double(done) / std::max(seconds, 1e-9)) << "/s   "
              << (last ? "\n" : "") << std::flush;
  }

  const Options &options;
  fs::path folder;
  size_t threads;
  std::string listPath;
  std::vector<Line> lines;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now(), shown;
};

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 1 && (args[0] == "--help" || args[0] == "-h")) {
    std::cout << kHelp;
    return 0;
  }
  Options options;
  if (!readOptions(args, options)) {
    std::cerr << kHelp;
    return 2;
  }
  if (options.lists) {
    std::string problem, list = makeList(options.rest[0], problem);
    if (!problem.empty())
      return fail(options.rest[0], problem);
    std::cout << list;
    return 0;
  }
  Packer packer(options, options.rest[1]);
  if (int failed = packer.readList(options.rest[0]))
    return failed;
  return packer.write(options.rest[2]);
}
