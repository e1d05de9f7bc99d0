// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Image lists: lines `index<TAB>label<TAB>...<TAB>path`.

#ifndef MXC_IM2REC_LIST_H
#define MXC_IM2REC_LIST_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

struct Line {
  int64_t index = 0;
  std::vector<float> labels;
  std::string path; // relative to the folder
  int number = 0;   // of the line, from 1
};

/// Parses a line. Returns the error, or an empty string.
std::string parseLine(const std::string &text, Line &line);

/// Whether a path, with links resolved, is inside the folder.
bool staysInside(const std::filesystem::path &folder, const std::filesystem::path &path);

/// Creates a list of the JPEG and PNG files of a folder. Files in its subfolders, sorted by name,
/// get the labels 0, 1, ...; files of the folder itself get 0.
std::string makeList(const std::filesystem::path &folder, std::string &problem);

#endif // MXC_IM2REC_LIST_H
