// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing and creation of image lists.

#include "List.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace fs = std::filesystem;

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
  // A list is untrusted input: it must not refer to files outside of the folder.
  fs::path path(line.path);
  if (path.is_absolute())
    return "`" + line.path + "` is not a path below the folder";
  for (const fs::path &step : path)
    if (step == "..")
      return "`" + line.path + "` leads out of the folder";
  return "";
}

bool staysInside(const fs::path &folder, const fs::path &path) {
  std::error_code missing, noRoot;
  fs::path real = fs::canonical(path, missing), root = fs::canonical(folder, noRoot);
  if (missing || noRoot)
    return true; // does not exist: reading it reports that
  auto [end, rest] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  return end == root.end();
}

std::string makeList(const fs::path &folder, std::string &problem) {
  std::error_code failed;
  std::map<std::string, std::vector<std::string>> found; // by folder
  for (auto it = fs::recursive_directory_iterator(folder, failed);
       !failed && it != fs::recursive_directory_iterator(); it.increment(failed)) {
    std::string ending = it->path().extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!it->is_regular_file() || (ending != ".jpg" && ending != ".jpeg" && ending != ".png"))
      continue;
    fs::path below = it->path().lexically_relative(folder);
    std::string group = std::next(below.begin()) == below.end() ? "" : below.begin()->string();
    found[group].push_back(below.generic_string());
  }
  if (failed)
    problem = failed.message();
  std::string list;
  int64_t index = 0, label = 0;
  for (auto &[group, paths] : found) {
    std::sort(paths.begin(), paths.end());
    for (const std::string &path : paths)
      list += std::to_string(index++) + "\t" + std::to_string(label) + "\t" + path + "\n";
    ++label;
  }
  return list;
}
