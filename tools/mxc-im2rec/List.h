// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of pictures: lines `index<TAB>label<TAB>...<TAB>path`.

#ifndef MXC_IM2REC_LIST_H
#define MXC_IM2REC_LIST_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

struct Line {
  int64_t index = 0;
  std::vector<float> labels;
  std::string path; // below the folder
  int number = 0;   // of the line, from 1
};

/// Why a line is none, or nothing.
std::string parseLine(const std::string &text, Line &line);

/// Whether a path, also through links, stays below the folder.
bool staysInside(const std::filesystem::path &folder, const std::filesystem::path &path);

/// A list of the JPEG and PNG files of a folder. Those in its folders, by name,
/// get the labels 0, 1, ...; the files of the folder itself 0.
std::string makeList(const std::filesystem::path &folder, std::string &problem);

#endif // MXC_IM2REC_LIST_H
