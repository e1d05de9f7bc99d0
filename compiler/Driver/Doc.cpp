// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc doc`: the API reference of the library or of programs, as pages.
#include "Docs/Pages.h"
#include "Driver/Commands.h"
#include "Driver/DocSite.h"
#include "Driver/Installed.h"
#include "Driver/Settings.h"
#include "Support/Limits.h"
#include <algorithm>
#include <filesystem>

namespace mx::driver {
namespace {

namespace fs = std::filesystem;

constexpr const char *kDocHelp = R"(mxc doc - the reference of modules, as HTML

usage: mxc doc [OPTIONS]                 the standard library and the primitives
       mxc doc [OPTIONS] FILE|FOLDER…    your own modules

  -o FOLDER         where the pages go (doc); open FOLDER/index.html
  --site FOLDER     with the Markdown pages below FOLDER and beside it; the README.md beside it is the start page
  --library         pages of the standard library too, so that its names are links
  --title TEXT      what the pages are of (mx, or the name of the first file)
  --error-format=text|short|json   --colour=auto|always|never

`##` lines above a function, model, struct, field, type or constant say what it is; those that begin a file are
about the module. They are Markdown: paragraphs, `code`, lists with `- `, **strong** words, [links](address), blocks:

  ## Half of x.
  ##
  ## ```mx
  ## import halves
  ## assert halves.half(4.0) == 2.0
  ## ```
  fn half(x: f32) -> f32 { x / 2.0 }

A block of mx is a whole program, and `mxc test FILE` runs it. Names that begin with `_` are left out. A page shows
the tests that use a name, and the source. Pages need no network and no server.

With --site the comments and the pages are one site, with one navigation and one search. The README.md of a folder
orders its pages by its links. Links between pages (x.md, ../guides/y.md#anchor) and images are checked: if one leads
nowhere, nothing is written and the exit code is 1. Links to other files of the repository are text. HTML in a page is
shown as text.
)";

struct Input {
  std::string module, path;
};

/// The module of `models/net.mx` is `models.net`.
std::string moduleName(const fs::path &path) {
  std::string name = path.lexically_normal().replace_extension().generic_string();
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

/// The files of a folder, named by their relative paths.
bool addFolder(const fs::path &folder, std::vector<Input> &out) {
  std::error_code failed;
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed))
    if (it->path().extension() == ".mx" && it->is_regular_file(failed))
      out.push_back({moduleName(it->path().lexically_relative(folder)), it->path().string()});
  return !failed;
}

/// Files are named relative to their common folder, as imports name them there.
void addFiles(const std::vector<fs::path> &files, std::vector<Input> &out) {
  fs::path common;
  for (const fs::path &file : files) {
    fs::path folder = fs::absolute(file).lexically_normal().parent_path();
    if (common.empty())
      common = folder;
    while (common != common.parent_path() &&
           folder.lexically_relative(common).generic_string().rfind("..", 0) == 0)
      common = common.parent_path();
  }
  for (const fs::path &file : files)
    out.push_back({moduleName(fs::absolute(file).lexically_normal().lexically_relative(common)),
                   file.string()});
}

} // namespace

int runDoc(const std::vector<std::string> &args, Streams streams) {
  CommandLine line(args, {"-o", "--site", "--title", "--error-format", "--colour"},
                   {"--library", "--help", "-h"});
  if (!line.problem().empty())
    return wrongUse(streams, line.problem(), "doc");
  if (line.has("--help") || line.has("-h")) {
    streams.out << kDocHelp;
    return kFine;
  }
  Settings settings;
  if (std::string problem = readSettings(line, streams, settings); !problem.empty())
    return wrongUse(streams, problem, "doc");

  std::vector<Input> inputs;
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const std::string &path : line.files())
    if (!fs::is_directory(path, ignored))
      files.push_back(path);
    else if (!addFolder(path, inputs))
      return wrongUse(streams, "cannot read the folder `" + path + "`", "doc");
  addFiles(files, inputs);
  bool ofLibrary = line.files().empty();
  docs::PageOptions options;
  options.primitives = ofLibrary || line.has("--library");
  options.title = line.value("--title").value_or(
      ofLibrary ? "mx" : fs::path(line.files()[0]).lexically_normal().stem().string());
  if (options.primitives) {
    std::string stdlib = findStdlib();
    if (stdlib.empty() || !addFolder(fs::path(stdlib), inputs))
      return wrongUse(streams, "the standard library was not found; $MX_STDLIB names its folder",
                      "doc");
  }
  if (inputs.empty())
    return wrongUse(streams, "there are no .mx files in `" + line.files()[0] + "`", "doc");
  std::sort(inputs.begin(), inputs.end(),
            [](const Input &a, const Input &b) { return a.module < b.module; });

  SourceManager sources;
  Diagnostics diags(sources);
  docs::Library library;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0 && inputs[i].module == inputs[i - 1].module)
      return wrongUse(streams,
                      "`" + inputs[i - 1].path + "` and `" + inputs[i].path +
                          "` are both the module `" + inputs[i].module + "`",
                      "doc");
    std::string error;
    std::optional<std::string> text = readFile(inputs[i].path, limits::kMaxSourceBytes + 1, error);
    if (!text)
      return wrongUse(streams, "cannot read `" + inputs[i].path + "`: " + error, "doc");
    library.add(inputs[i].module, sources.add(inputs[i].path, inputs[i].path, std::move(*text)),
                diags);
  }
  for (const Diagnostic *d : diags.sorted())
    streams.err << render(*d, sources, settings.render);
  if (diags.hasErrors())
    return kProgramHasErrors;
  library.resolve(options.primitives);

  fs::path folder = line.value("-o").value_or("doc");
  if (auto site = line.value("--site")) {
    if (ofLibrary && !line.value("--title"))
      options.title.clear(); // that of the start page
    return writeSite(*site, folder.string(), library, std::move(options), settings.render, streams);
  }
  size_t names = 0;
  for (auto &module : library.modules())
    names += module->items.size();
  std::vector<docs::File> pages = docs::pagesOf(library, options);
  for (const docs::File &page : pages)
    if (std::string path = (folder / page.name).string(); !writePage(path, page.text))
      return wrongUse(streams, "cannot write `" + path + "`", "doc");
  streams.out << library.modules().size()
              << (library.modules().size() == 1 ? " module, " : " modules, ") << names
              << (names == 1 ? " name: " : " names: ") << (folder / "index.html").string() << "\n";
  return kFine;
}

} // namespace mx::driver
