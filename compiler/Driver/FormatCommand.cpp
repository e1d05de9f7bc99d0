// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc fmt` (source formatter) and `mxc grammar`.
#include "Syntax/Format.h"
#include "Driver/Commands.h"
#include "Support/Diagnostic.h"
#include "Support/Limits.h"
#include "Syntax/EditorGrammar.h"
#include "Syntax/Parser.h"
#include "base/Files.h"
#include "base/Replacement.h"
#include <cstdio>

namespace mx::driver {
namespace {

constexpr const char *kFormatHelp = R"(mxc fmt - put files into the one style

usage: mxc fmt [--check] FILE…           (- reads standard input and writes the result)

  --check    change nothing; name the files that would change, exit 1 if there are any

There are no options for the style: 100 columns, two spaces, comments kept. A file with syntax
errors is left as it is.
)";

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
    } else if (changed) {
      char words[128];
      if (int failure =
              mxrt::os::replaceFile(path.c_str(), formatted->data(), formatted->size(), 0666)) {
        streams.err << "mxc fmt: cannot write `" << path
                    << "`: " << mxrt::os::errorText(failure, words, sizeof words) << "\n";
        worst = std::max<int>(worst, kWrongUse);
      }
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
