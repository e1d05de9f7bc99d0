// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc fmt` and `mxc grammar`.
#include "Syntax/Format.h"
#include "Driver/Commands.h"
#include "Support/Diagnostic.h"
#include "Support/Limits.h"
#include "Syntax/EditorGrammar.h"
#include "Syntax/Parser.h"
#include <cstdio>
#include <sys/stat.h>

namespace mx::driver {
namespace {

constexpr const char *kFormatHelp = R"(mxc fmt - put files into the one style

usage: mxc fmt [--check] FILE…           (- reads standard input and writes the result)

  --check    change nothing; name the files that would change, exit 1 if there are any

There are no options for the style: 100 columns, two spaces, comments kept. A file with syntax
errors is left as it is.
)";

/// Writes beside the file and renames, so that a full disk or a crash loses nothing.
bool replaceFile(const std::string &path, const std::string &text, std::string &error) {
  std::string temporary = path + ".mxfmt";
  FILE *out = std::fopen(temporary.c_str(), "wb");
  if (!out) {
    error = "cannot write beside it";
    return false;
  }
  bool ok = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  ok &= std::fclose(out) == 0;
  struct stat info;
  if (ok && stat(path.c_str(), &info) == 0)
    chmod(temporary.c_str(), info.st_mode & 07777);
  if (!ok || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    error = "writing failed";
    return false;
  }
  return true;
}

} // namespace

int runFormat(const std::vector<std::string> &args, Streams streams) {
  CommandLine line(args, {}, {"--check", "--help", "-h"});
  if (line.has("--help") || line.has("-h")) {
    streams.out << kFormatHelp;
    return kFine;
  }
  if (!line.problem().empty() || line.files().empty()) {
    streams.err << "mxc fmt: " << (line.problem().empty() ? "which file?" : line.problem())
                << "\n`mxc fmt --help` shows how it is used\n";
    return kWrongUse;
  }
  int worst = kFine;
  for (const std::string &path : line.files()) {
    std::string error;
    std::optional<std::string> text;
    if (path == "-") {
      text.emplace();
      for (int c; (c = std::getchar()) != EOF && text->size() <= limits::kMaxSourceBytes;)
        *text += static_cast<char>(c);
    } else {
      text = readFile(path, limits::kMaxSourceBytes + 1, error);
    }
    if (!text) {
      streams.err << "mxc fmt: cannot read `" << path << "`: " << error << "\n";
      worst = std::max<int>(worst, kWrongUse);
      continue;
    }
    SourceManager sources;
    Diagnostics diags(sources);
    const SourceFile &file = sources.add(path == "-" ? "<stdin>" : path, path, *text);
    LexedSource lexed = lex(file, diags);
    Arena arena;
    ast::Module *module = parseModule(file, lexed, arena, diags);
    if (diags.hasErrors()) {
      for (const Diagnostic *d : diags.sorted())
        streams.err << render(*d, sources, {ErrorFormat::Text, streams.colour});
      worst = std::max<int>(worst, kProgramHasErrors);
      continue;
    }
    std::optional<std::string> formatted = formatSource(file, lexed, *module);
    if (!formatted) {
      streams.err << "mxc fmt: a fault of mxc: the formatted text of `" << path
                  << "` would mean something else; the file is left as it is\nplease report it "
                     "with the file\n";
      return kFaultOfMxc;
    }
    bool changed = *formatted != *text;
    if (line.has("--check")) {
      if (changed) {
        streams.out << path << "\n";
        worst = std::max<int>(worst, kProgramHasErrors);
      }
    } else if (path == "-") {
      streams.out << *formatted;
    } else if (changed && !replaceFile(path, *formatted, error)) {
      streams.err << "mxc fmt: `" << path << "`: " << error << "\n";
      worst = std::max<int>(worst, kWrongUse);
    }
  }
  return worst;
}

int runGrammar(const std::vector<std::string> &args, Streams streams) {
  CommandLine line(args, {}, {"--vscode", "--tree-sitter", "--tokens", "--help", "-h"});
  bool help = line.has("--help") || line.has("-h");
  if (help || !line.problem().empty() || !line.files().empty()) {
    (help ? streams.out : streams.err)
        << (help
                ? ""
                : "mxc grammar: " +
                      (line.problem().empty() ? std::string("it takes no files") : line.problem()) +
                      "\n")
        << "usage: mxc grammar --vscode|--tree-sitter|--tokens\n\n  --vscode       a TextMate "
           "grammar (JSON)\n"
           "  --tree-sitter  a grammar.js\n  --tokens       the token table as Markdown\n";
    return help ? kFine : kWrongUse;
  }
  if (line.has("--tree-sitter"))
    streams.out << treeSitterGrammar();
  else if (line.has("--tokens"))
    streams.out << tokenTableMarkdown();
  else
    streams.out << vscodeGrammar();
  return kFine;
}

} // namespace mx::driver
