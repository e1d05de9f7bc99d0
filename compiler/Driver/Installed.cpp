// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths of the installation, found through the dynamic loader.
#include "Driver/Installed.h"
#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <sys/stat.h>

namespace mx::driver {

static bool isFolder(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string codeFile() {
  Dl_info info;
  void *extra = nullptr;
  const char *path = "/proc/self/exe";
  // The loader knows libraries by their path, and the program by an empty path.
  if (dladdr1(reinterpret_cast<void *>(&codeFile), &info, &extra, RTLD_DL_LINKMAP) && extra)
    if (const char *name = static_cast<link_map *>(extra)->l_name; name && *name)
      path = name;
  char buffer[PATH_MAX];
  return realpath(path, buffer) ? buffer : "";
}

std::string findStdlib() {
  if (const char *given = std::getenv("MX_STDLIB"); given && *given)
    return given;
  std::string file = codeFile();
  std::string folder = file.substr(0, file.rfind('/'));
  for (const char *location : {"/../share/mx/stdlib", "/stdlib", "/../stdlib"})
    if (!file.empty() && isFolder(folder + location))
      return folder + location;
  return "";
}

std::string findLibrary(const std::string &name) {
  std::string first;
  std::filesystem::path beside = std::filesystem::path(codeFile()).parent_path().parent_path();
  for (const char *folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    std::filesystem::path path = beside / folder / name;
    if (std::error_code failure; std::filesystem::exists(path, failure))
      return path;
    if (first.empty())
      first = path;
  }
  return first;
}

} // namespace mx::driver
