// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mxc-im2rec: packs pictures into a RecordIO file with an index, as MXNet's
// im2rec does with --pass-through: the files are taken as they are.

#include "io/Images.h"
#include "io/Records.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using namespace mxrt;

namespace {

const char kHelp[] =
    R"(Usage: mxc-im2rec LIST FOLDER OUT

Packs the pictures that LIST names, files below FOLDER, into OUT.rec and OUT.idx.
A line of LIST is `index<TAB>label<TAB>...<TAB>path`, with one label or several.
Pictures are JPEG or PNG and are taken as they are.

Exit codes: 0 fine, 1 a picture or the list is wrong, 2 wrong use.
)";

struct Line {
  int64_t index = 0;
  std::vector<float> labels;
  std::string path;
};

/// Why the line is none, or nothing.
std::string parseLine(const std::string &text, Line &line) {
  std::vector<std::string> cells;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\t', begin), text.size());
    cells.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (cells.size() < 3)
    return "a line is `index<TAB>label<TAB>path`";
  auto number = [](const std::string &cell, auto &value) {
    auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    return problem == std::errc() && end == cell.data() + cell.size();
  };
  if (!number(cells[0], line.index))
    return "`" + cells[0] + "` is not an index";
  for (size_t i = 1; i + 1 < cells.size(); ++i)
    if (float label = 0; number(cells[i], label))
      line.labels.push_back(label);
    else
      return "`" + cells[i] + "` is not a label";
  line.path = cells.back();
  // A list comes from elsewhere: it must not reach files outside of the folder.
  fs::path path(line.path);
  if (path.is_absolute())
    return "`" + line.path + "` is not a path below the folder";
  for (const fs::path &step : path)
    if (step == "..")
      return "`" + line.path + "` leads out of the folder";
  return "";
}

/// Whether a link on the way leads out of the folder.
bool staysInside(const fs::path &folder, const fs::path &path) {
  std::error_code missing, noRoot;
  fs::path real = fs::canonical(path, missing), root = fs::canonical(folder, noRoot);
  if (missing || noRoot)
    return true; // not there: reading it says so
  auto [end, rest] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  return end == root.end();
}

Status pack(const Line &line, const std::string &path, Vec<char> &record) {
  const mxrt_allocator *alloc = mxrt_system_allocator();
  io::FileInput input(alloc, path.c_str());
  MXRT_CHECK(input.open());
  Vec<char> bytes(alloc), payload(alloc);
  if (!bytes.resize(static_cast<size_t>(input.size)))
    return outOfMemory(alloc);
  MXRT_CHECK(input.read(0, bytes.data(), bytes.size()));
  std::string_view image(bytes.data(), bytes.size());
  io::ImageSize size;
  MXRT_CHECK(io::readImageSize(input, 0, image, size));
  if (!io::appendImageRecord(payload, line.labels, static_cast<uint64_t>(line.index), image))
    return outOfMemory(alloc);
  return io::appendRecord(record, {payload.data(), payload.size()});
}

int fail(const std::string &where, const std::string &why) {
  std::cerr << "mxc-im2rec: " << where << ": " << why.substr(0, why.find('\n')) << "\n";
  return 1;
}

int run(const std::string &listPath, const fs::path &folder, const std::string &out) {
  std::ifstream list(listPath);
  if (!list)
    return fail(listPath, "it cannot be read");
  std::ofstream records(out + ".rec", std::ios::binary), index(out + ".idx");
  if (!records || !index)
    return fail(out, "it cannot be written");
  int64_t offset = 0, count = 0;
  std::string text;
  for (int number = 1; std::getline(list, text); ++number) {
    std::string where = listPath + ":" + std::to_string(number);
    Line line;
    if (std::string problem = parseLine(text, line); !problem.empty())
      return fail(where, problem);
    fs::path path = folder / line.path;
    if (!staysInside(folder, path))
      return fail(where, "`" + line.path + "` leads out of the folder");
    Vec<char> record(mxrt_system_allocator());
    if (Status status = pack(line, path.string(), record); !status.ok())
      return fail(where, status.message());
    records.write(record.data(), static_cast<std::streamsize>(record.size()));
    index << line.index << '\t' << offset << '\n';
    offset += static_cast<int64_t>(record.size());
    ++count;
  }
  records.close();
  index.close();
  if (!records || !index)
    return fail(out, "it cannot be written");
  std::cout << count << " pictures, " << offset << " bytes\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 1 && (args[0] == "--help" || args[0] == "-h")) {
    std::cout << kHelp;
    return 0;
  }
  if (args.size() != 3) {
    std::cerr << kHelp;
    return 2;
  }
  return run(args[0], args[1], args[2]);
}
