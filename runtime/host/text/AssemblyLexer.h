// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lexer of the assembler.

#ifndef MXRT_HOST_ASSEMBLYLEXER_H
#define MXRT_HOST_ASSEMBLYLEXER_H

#include <string>
#include <string_view>

namespace mxrt::host {

struct AssemblyToken {
  enum class Type { End, Newline, Word, Number, String, Punct, Bad };
  Type type = Type::End;
  std::string text; // of a string: its contents
  unsigned line = 1;
  unsigned column = 1;
};

class AssemblyLexer {
public:
  explicit AssemblyLexer(std::string_view text) : text(text) {}
  AssemblyToken next();

private:
  char peek(size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  bool readString(std::string &out);

  std::string_view text;
  size_t at = 0;
  size_t lineStart = 0;
  unsigned line = 1;
};

} // namespace mxrt::host

#endif // MXRT_HOST_ASSEMBLYLEXER_H
