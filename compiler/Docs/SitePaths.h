// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths of a repository, with `/`, and addresses of links.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace mx::docs {

/// `a/b` of `a/b/c.md`; empty for `c.md`.
std::string_view folderOf(std::string_view path);
/// `c.md` of `a/b/c.md`.
std::string_view nameOf(std::string_view path);
std::string joined(std::string_view folder, std::string_view name);
/// A path without `.`, `..` and empty parts; nothing if it leaves the repository.
std::optional<std::string> normalPath(std::string_view path);
/// `../b/c.md` for `b/c.md` as seen from the folder `a`. Both are in normal form.
std::string relativePath(std::string_view path, std::string_view folder);
/// README.md or index.md, which stand for their folder.
bool isIndexPage(std::string_view path);
/// Whether an image can be shown, judged by the ending of its name.
bool isImageName(std::string_view path);

/// `https` of `https://…`; empty for paths and anchors.
std::string_view schemeOf(std::string_view address);
/// An address of this repository: its path and anchor, without `%` escapes.
struct LocalAddress {
  std::string path, anchor;
};
LocalAddress localAddress(std::string_view address);
/// The path in the repository that an address on a page of `folder` leads to; nothing if it leaves
/// the repository. A path that begins with `/` is relative to the repository.
std::optional<std::string> targetPath(std::string_view path, std::string_view folder);

} // namespace mx::docs
