// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Input pipeline benchmark: JPEG images of 500 x 375 from RecordIO, centre crop at 256 x 256,
// random crop of 224 x 224, random flip, normalise; on one thread and on two, compared with Pillow
// and NumPy on as many processes. Also the overhead of a loader per batch of data in memory.

#include "DataBench.h"

#include "Driver/Installed.h"
#include "Driver/InputSession.h"
#include "Measure.h"
#include "io/Images.h"
#include "io/Records.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using mx::bench::Contender;

constexpr int kPictures = 64;

/// Smooth shapes with noise: about 100 KB at quality 90, like a photo.
std::string picture(int number) {
  constexpr int width = 500, height = 375;
  std::vector<unsigned char> rgb;
  unsigned state = 1u + static_cast<unsigned>(number);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) {
        state = state * 1664525u + 1013904223u;
        double wave = std::sin(x * 0.02 * (c + 1) + number) * std::cos(y * 0.03 + c);
        rgb.push_back(static_cast<unsigned char>(128 + 90 * wave + double(state >> 24) / 255 * 24));
      }
  mxrt::Vec<char> bytes(mxrt_system_allocator());
  if (!mxrt::io::encodeJpeg(rgb.data(), {width, height}, 90, bytes).ok())
    return "";
  return {bytes.data(), bytes.size()};
}

bool writeRecords(const fs::path &path) {
  mxrt::Vec<char> file(mxrt_system_allocator());
  for (int i = 0; i < kPictures; ++i) {
    mxrt::Vec<char> payload(mxrt_system_allocator());
    float label = float(i);
    if (!mxrt::io::appendImageRecord(payload, {&label, 1}, uint64_t(i), picture(i)) ||
        !mxrt::io::appendRecord(file, {payload.data(), payload.size()}).ok())
      return false;
  }
  std::ofstream out(path, std::ios::binary);
  out.write(file.data(), std::streamsize(file.size()));
  return bool(out);
}

/// A session whose names are reused.
class Program {
public:
  Program(const char *threads, const fs::path &folder, const std::string &text) {
    setenv("MX_NUM_THREADS", threads, 1);
    mx::driver::SessionOptions options;
    options.check.stdlib = mx::driver::findStdlib();
    options.cacheFolder = (folder / "cache").string();
    options.logFolder = (folder / "log").string();
    session = std::make_unique<mx::driver::InputSession>(options, out, err);
    unsetenv("MX_NUM_THREADS");
    input(text);
  }
  /// Microseconds per input.
  double input(const std::string &text) {
    bool complete = true;
    double begin = mx::bench::now();
    if (!session->ready() || !session->runInput("bench", text, complete)) {
      std::fprintf(stderr, "mxc-bench data: %s\n", err.str().c_str());
      std::exit(1);
    }
    return mx::bench::now() - begin;
  }

private:
  std::ostringstream out, err;
  std::unique_ptr<mx::driver::InputSession> session;
};

const char kPillow[] = R"(
import io, struct, sys, time
import numpy as np
from PIL import Image
path, processes = sys.argv[1], int(sys.argv[2])
records, at = [], 0
data = open(path, 'rb').read()
while at < len(data):
    parts = b''
    while True:
        magic, word = struct.unpack('<II', data[at:at + 8])
        flag, size = word >> 29, word & (1 << 29) - 1
        if flag in (2, 3): parts += struct.pack('<I', 0xced7230a)
        parts += data[at + 8:at + 8 + size]
        at += 8 + (size + 3) // 4 * 4
        if flag in (0, 3): break
    records.append(parts[24:])
mean, std = np.float32([0.5] * 3)[:, None, None], np.float32([0.25] * 3)[:, None, None]
def load(i):
    rng = np.random.default_rng(i)
    image = Image.open(io.BytesIO(records[i])).convert('RGB')
    w, h = image.size
    side = min(w, h)
    left, top = (w - side) / 2, (h - side) / 2
    image = image.resize((256, 256), Image.BILINEAR, box=(left, top, left + side, top + side))
    x, y = rng.integers(0, 33, 2)
    image = image.crop((x, y, x + 224, y + 224))
    if rng.random() < 0.5: image = image.transpose(Image.FLIP_LEFT_RIGHT)
    return (np.asarray(image, np.float32).transpose(2, 0, 1) / 255 - mean) / std
def batch(numbers): return np.stack([load(i) for i in numbers]).sum()
if processes == 1:
    run = lambda: [batch(range(b, b + 32)) for b in range(0, len(records), 32)]
else:
    import multiprocessing
    pool = multiprocessing.get_context('fork').Pool(processes)
    run = lambda: pool.map(batch, [range(b, b + 16) for b in range(0, len(records), 16)])
run()
begin = time.perf_counter()
run()
print((time.perf_counter() - begin) * 1e6 / len(records))
)";

/// Microseconds per image; negative if Pillow is not installed.
double pillow(const fs::path &script, const fs::path &records, int processes) {
  std::string command = "/usr/bin/python3 '" + script.string() + "' '" + records.string() + "' " +
                        std::to_string(processes) + " 2>/dev/null";
  std::FILE *pipe = popen(command.c_str(), "r");
  double micros = -1;
  if (!pipe || std::fscanf(pipe, "%lf", &micros) != 1)
    micros = -1;
  if (pipe)
    pclose(pipe);
  return micros;
}

} // namespace

int runDataBench(int argc, char **argv) {
  const char *json = mx::bench::takeJson(argc, argv);
  fs::path folder = fs::temp_directory_path() / ("mx-bench-" + std::to_string(getpid()));
  fs::create_directories(folder);
  fs::path records = folder / "pictures.rec", script = folder / "pillow.py";
  std::ofstream(script) << kPillow;
  if (!writeRecords(records)) {
    std::fprintf(stderr, "mxc-bench data: cannot write `%s`\n", records.c_str());
    return 1;
  }
  std::string pictures = "import data\nfrom rand import Rng\nvar rng = Rng(0)\nvar total = f32(0.0)\n"
                         "let set = data.images(\"" +
                         records.string() +
                         "\", height=256, width=256).crop(224, 224).flip()"
                         ".normalise(mean=[0.5, 0.5, 0.5], std=[0.25, 0.25, 0.25])\n";
  std::string load = "for (x, y) in data.loader(set, batch=32, shuffle=mut rng) { wait(x) }\n";
  std::string rows = "import data\nfrom rand import Rng\nvar rng = Rng(0)\n"
                     "let set = data.rows(ones([60000, 784]), iota(60000))\n";
  std::string pass = "for (x, y) in data.loader(set, batch=128, shuffle=mut rng, last=\"drop\") { wait(x) }\n";
  mx::bench::Report report(9);
  {
    bool peer = pillow(script, records, 1) > 0;
    for (int threads : {1, 2}) {
      auto program = std::make_shared<Program>(threads == 1 ? "1" : "2", folder, pictures);
      std::string many = std::to_string(threads);
      std::vector<Contender> all = {
          {"mx, " + many + (threads == 1 ? " thread" : " threads"),
           [=] { return program->input(load) / kPictures; }}};
      if (peer)
        all.push_back({"Pillow, " + many + (threads == 1 ? " process" : " processes"),
                       [=] { return pillow(script, records, threads); }});
      report.compare("JPEG to a changed picture", 0, all);
    }
    if (!peer)
      report.note("no Pillow here (Debian: python3-pil)");
    auto program = std::make_shared<Program>("2", folder, rows);
    // Includes gathering 128 x 784 numbers in a shuffled order.
    report.compare("batch of 128 x 784 from memory", 0,
                   {{"mx, 2 threads", [=] { return program->input(pass) / 468; }}});
  }
  report.printTable(stdout);
  fs::remove_all(folder);
  return !json || mx::bench::writeJson(json, [&](std::FILE *to) { report.printJson(to); }) ? 0 : 1;
}
