// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc doc --site`: reads Markdown pages, reports dead links, writes the site.
#include "Driver/DocSite.h"
#include "Docs/Site.h"
#include <algorithm>
#include <filesystem>
#include <fstream>

namespace mx::driver {
namespace {

namespace fs = std::filesystem;

bool isPage(const fs::directory_entry &entry) {
  std::error_code failed;
  return entry.path().extension() == ".md" && entry.is_regular_file(failed) &&
         entry.path().filename().string().rfind('.', 0) != 0;
}

/// The pages below a folder, relative to it. Names that begin with a dot are skipped.
bool findPages(const fs::path &folder, std::vector<std::string> &out) {
  std::error_code failed;
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (it->path().filename().string().rfind('.', 0) == 0)
      it.disable_recursion_pending();
    else if (isPage(*it))
      out.push_back(it->path().lexically_relative(folder).generic_string());
  }
  std::sort(out.begin(), out.end());
  return !failed;
}

std::string shown(const docs::SiteProblem &problem, const SourceManager &sources,
                  const RenderOptions &render) {
  if (render.format != ErrorFormat::Json)
    return sources.location(problem.span) + ": error: " + problem.message + "\n";
  const SourceFile &file = sources.file(problem.span);
  LineColumn at = file.lineColumn(problem.span.begin);
  return "{\"severity\":\"error\",\"code\":\"\",\"message\":" + jsonString(problem.message) +
         ",\"location\":{\"file\":" + jsonString(file.path()) +
         ",\"line\":" + std::to_string(at.line) + ",\"column\":" + std::to_string(at.column) +
         "}}\n";
}

bool copyFile(const fs::path &from, const fs::path &to) {
  std::error_code failed;
  if (fs::equivalent(from, to, failed))
    return true;
  fs::create_directories(to.parent_path(), failed);
  return fs::copy_file(from, to, fs::copy_options::overwrite_existing, failed);
}

} // namespace

bool writePage(const std::string &path, const std::string &text) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  std::ofstream out(path, std::ios::binary);
  out << text;
  return bool(out.flush());
}

int writeSite(const std::string &given, const std::string &output, const docs::Library &library,
              docs::PageOptions options, const RenderOptions &render, Streams &streams) {
  std::error_code ignored;
  fs::path folder = fs::absolute(given).lexically_normal();
  if (!folder.has_filename()) // `docs/`
    folder = folder.parent_path();
  fs::path repository = folder.parent_path();
  std::vector<std::string> found;
  if (!folder.has_filename() || !fs::is_directory(folder, ignored) || !findPages(folder, found))
    return wrongUse(streams, "cannot read the folder `" + given + "`", "doc");
  if (found.empty())
    return wrongUse(streams, "there are no .md files in `" + given + "`", "doc");

  docs::SiteOptions site;
  options.folder = "library/";
  site.library = std::move(options);
  site.folder = folder.filename().generic_string();
  site.isFile = [&](const std::string &path) {
    std::error_code failed;
    return fs::is_regular_file(repository / path, failed);
  };
  site.isFolder = [&](const std::string &path) {
    std::error_code failed;
    return fs::is_directory(repository / path, failed);
  };
  // Messages name the files as the folder was given.
  std::vector<std::pair<std::string, fs::path>> inputs;
  for (const std::string &path : found)
    inputs.emplace_back(site.folder + "/" + path, fs::path(given) / path);
  for (fs::directory_iterator it(repository, ignored), end; !ignored && it != end;
       it.increment(ignored))
    if (std::string name = it->path().filename().string(); isPage(*it))
      inputs.emplace_back(name, (fs::path(given) / "" / ".." / name).lexically_normal());
  SourceManager sources;
  docs::Site pages(library, std::move(site));
  for (const auto &[path, file] : inputs) {
    std::string error;
    std::optional<std::string> text =
        readFile((repository / path).string(), docs::kMaxPageBytes, error);
    if (!text)
      return wrongUse(streams, "cannot read `" + file.string() + "`: " + error, "doc");
    pages.add(path, sources.add(file.generic_string(), file.string(), docs::cleanText(*text)));
  }

  docs::SiteResult result = pages.write();
  for (const docs::SiteProblem &problem : result.problems)
    streams.err << shown(problem, sources, render);
  if (!result.problems.empty())
    return kProgramHasErrors;
  for (const docs::File &file : result.files)
    if (std::string path = (fs::path(output) / file.name).string(); !writePage(path, file.text))
      return wrongUse(streams, "cannot write `" + path + "`", "doc");
  for (const auto &[from, to] : result.copies)
    if (fs::path path = fs::path(output) / to; !copyFile(repository / from, path))
      return wrongUse(streams, "cannot write `" + path.string() + "`", "doc");
  size_t modules = library.modules().size();
  streams.out << inputs.size() << (inputs.size() == 1 ? " page, " : " pages, ") << modules
              << (modules == 1 ? " module: " : " modules: ")
              << (fs::path(output) / "index.html").string() << "\n";
  return kFine;
}

} // namespace mx::driver
