// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTML documentation of a library: a page per module, one for the primitives, an index page, and
// the search index. Pages need no network and no server.
#pragma once
#include "Docs/Library.h"

namespace mx::docs {

struct File {
  std::string name, text;
};

struct PageOptions {
  std::string title = "mx";
  bool primitives = true; ///< primitives, which are not written in mx, have a page too
};

std::vector<File> pagesOf(const Library &library, const PageOptions &options);

/// Style and script of every page (Style.cpp).
extern const char *const kStyle;
extern const char *const kScript;

} // namespace mx::docs
