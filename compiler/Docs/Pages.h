// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library as HTML: a page for each module, one for the primitives, one that leads to them, and
// the names that the search of all of them reads. Pages need no network and no server.
#pragma once
#include "Docs/Library.h"

namespace mx::docs {

struct File {
  std::string name, text;
};

struct PageOptions {
  std::string title = "mx";
  bool primitives = true; ///< what is not written in mx has a page too
};

std::vector<File> pagesOf(const Library &library, const PageOptions &options);

/// What every page carries (Style.cpp).
extern const char *const kStyle;
extern const char *const kScript;

} // namespace mx::docs
