// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths of a repository and addresses of links, as text.
#include "Docs/SitePaths.h"
#include <algorithm>
#include <vector>

namespace mx::docs {
namespace {

std::vector<std::string_view> partsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin < path.size();) {
    size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin)
      parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

int hexValue(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/// An address without its `%` escapes. NUL ends a path of the file system, so it stays escaped.
std::string unescaped(std::string_view address) {
  std::string out;
  for (size_t i = 0; i < address.size(); ++i) {
    int high = address[i] == '%' && i + 2 < address.size() ? hexValue(address[i + 1]) : -1;
    int low = high >= 0 ? hexValue(address[i + 2]) : -1;
    if (low >= 0 && high * 16 + low != 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += address[i];
    }
  }
  return out;
}

} // namespace

std::string_view folderOf(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view nameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string joined(std::string_view folder, std::string_view name) {
  return (folder.empty() ? "" : std::string(folder) + "/") + std::string(name);
}

std::optional<std::string> normalPath(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::string_view part : partsOf(path)) {
    if (part == ".")
      continue;
    if (part != "..") {
      parts.push_back(part);
      continue;
    }
    if (parts.empty())
      return std::nullopt;
    parts.pop_back();
  }
  std::string out;
  for (std::string_view part : parts)
    out += (out.empty() ? "" : "/") + std::string(part);
  return out;
}

std::string relativePath(std::string_view path, std::string_view folder) {
  std::vector<std::string_view> to = partsOf(path), from = partsOf(folder);
  size_t same = 0;
  while (same < from.size() && same + 1 < to.size() && to[same] == from[same])
    ++same;
  std::string out;
  for (size_t i = same; i < from.size(); ++i)
    out += "../";
  for (size_t i = same; i < to.size(); ++i)
    out += (i > same ? "/" : "") + std::string(to[i]);
  return out;
}

bool isIndexPage(std::string_view path) {
  return nameOf(path) == "README.md" || nameOf(path) == "index.md";
}

bool isImageName(std::string_view path) {
  std::string ending(path.substr(std::min(path.rfind('.'), path.size())));
  for (char &c : ending)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  for (std::string_view known : {".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp"})
    if (ending == known)
      return true;
  return false;
}

std::string_view schemeOf(std::string_view address) {
  size_t end = address.find_first_of(":/#?");
  return end != std::string_view::npos && address[end] == ':' ? address.substr(0, end)
                                                              : std::string_view();
}

LocalAddress localAddress(std::string_view address) {
  size_t hash = std::min(address.find('#'), address.size());
  return {unescaped(address.substr(0, hash)),
          unescaped(address.substr(std::min(hash + 1, address.size())))};
}

std::optional<std::string> targetPath(std::string_view path, std::string_view folder) {
  return normalPath(!path.empty() && path[0] == '/' ? std::string(path) : joined(folder, path));
}

} // namespace mx::docs
