// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc doc --site`: the Markdown pages of a folder and the reference of modules, as one site.
#pragma once
#include "Docs/Pages.h"
#include "Driver/Settings.h"

namespace mx::driver {

/// Writes `text` to a file, whose folder is created.
bool writePage(const std::string &path, const std::string &text);

/// Reads the pages below `folder` and those beside it, checks their links, and writes the
/// site into the folder `output`. An empty title is replaced by that of the start page. Returns the
/// exit code of the command.
int writeSite(const std::string &folder, const std::string &output, const docs::Library &library,
              docs::PageOptions options, const RenderOptions &render, Streams &streams);

} // namespace mx::driver
