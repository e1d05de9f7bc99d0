// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTML documentation of a library: a page per module, one for the primitives, an index page, and
// the search index. Pages need no network and no server.
#pragma once
#include "Docs/Library.h"
#include "Docs/Shell.h"

namespace mx::docs {

struct PageOptions {
  std::string title = "mx";
  bool primitives = true; ///< primitives, which are not written in mx, have a page too
  std::string folder;     ///< where the pages are among others, with a `/` at its end
};

/// The pages of a library alone, with their search index.
std::vector<File> pagesOf(const Library &library, const PageOptions &options);

/// The same as a part of other pages: the navigation, then the pages, with their search entries.
NavSection navigationOf(const Library &library, const PageOptions &options);
std::vector<File> pagesIn(const Shell &shell, const Library &library, const PageOptions &options,
                          std::string &searchEntries);

} // namespace mx::docs
