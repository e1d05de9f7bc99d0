// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutations of whole tokens. Bytes alone rarely make a program that gets past the lexer; deleting,
// repeating, swapping and inserting tokens, and splicing pieces of known programs, does.
#include "Syntax/Lexer.h"
#include <cstring>
#include <random>

using namespace mx;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);
// Builds without libFuzzer only replay, and never mutate.
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *, size_t size, size_t) {
  return size;
}

namespace {

const char *const kPieces[] = {
    "fn f(x: f32[N, D]) -> f32[N, D] { x }",
    "graph fn g(mut m: M, static n: i64 = 4) -> f32 where n % 2 == 0 { m(n) }",
    "model M[A, ...B, C: float](static k: i64 = 1) where A > 0 { param w: f32[A] = zeros() on d0 }",
    "state n: i64 = 0; sub s = nn.Dense[A, 2*A]()",
    "struct S { a: f32, b: f32 = 1.0 }",
    "if a { b } else if c { d } else { e }",
    "for (i, (j, k)) in 0..T-1 { x[i*M : i*M + M, ..., new] += 1 }",
    "while a > b limit (100) { break }",
    "try { raise Error(f\"a {x:.2f} {{b}}\") } catch e { continue }",
    "let (a, b): (f32, fn(i64) -> f32) = grad(m.w, b) { loss }",
    "[x[i, k] * y[k, j] for i in 0..N, j in 0..M]",
    "x |> f |> g(1, mut y, axis=-1)",
    "on d1 { h }",
    "graph { h @ h.T }",
    "fn(x) { x ** -2 }",
    "@remat(every=16)\n",
    "import a.b as c, d\n",
    "from m import x, y\n",
    "type T[N] = [f32[dyn N <= 4, ?, ...S]; 3]\n",
    "test \"t\" { assert a == b, \"m\" }",
    "extern fn c() -> i64",
    "export mut graph fn e() { }",
    "# a comment\n",
    "## a doc\n",
    "x # behind\n",
    "not a and b or c",
    "var v = (1, 0xff, 1e-3, \"\\u{41}\");\n",
    "(a\n + b)",
    "f(\n  a,\n  b\n)",
    "[1,\n\n 2]",
    "{ }",
    "return\n",
    "\n\n\n",
    ";",
};

size_t pick(std::minstd_rand &random, size_t count) { return count ? random() % count : 0; }

std::string randomPiece(std::minstd_rand &random) {
  if (random() % 2)
    return kPieces[pick(random, std::size(kPieces))];
  const auto &table = allTokens();
  const TokenInfo &info = table[pick(random, table.size())];
  if (info.fixed)
    return std::string(info.spelling);
  static const char *const samples[] = {"\n",       "x", "7",     "1.5",   "\"s\"",
                                        "f\"{x}\"", "T", "param", "limit", "dyn"};
  return samples[pick(random, std::size(samples))];
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 8 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string text(reinterpret_cast<char *>(data), size);
  SourceManager sources;
  Diagnostics diagnostics(sources);
  const SourceFile &file = sources.add("m", "", text);
  LexedSource lexed = lex(file, diagnostics);
  size_t rounds = 1 + random() % 3;
  std::vector<std::string> words; // each with the white space and comments before it
  uint32_t last = 0;
  for (const Token &token : lexed.tokens) {
    words.push_back(text.substr(last, token.end - last));
    last = token.end;
  }
  for (size_t round = 0; round < rounds && !words.empty(); ++round) {
    size_t i = pick(random, words.size()), j = pick(random, words.size());
    switch (random() % 7) {
    case 0:
      words.erase(words.begin() + i);
      break;
    case 1:
      words.insert(words.begin() + i, words[j]);
      break;
    case 2:
      std::swap(words[i], words[j]);
      break;
    case 3:
      words[i] = " " + randomPiece(random);
      break;
    case 4:
      words.insert(words.begin() + i, " " + randomPiece(random));
      break;
    case 5: { // white space and comments
      static const char *const gaps[] = {"\n",       "\n\n\n", "  ", " # c\n",
                                         "\n## d\n", ";",      "",   "\n# own\n"};
      words[i].insert(0, gaps[pick(random, std::size(gaps))]);
      break;
    }
    default: { // wrap a piece in brackets
      static const char *const pairs[][2] = {{"(", ")"},   {"[", "]"},  {"{ ", " }"},
                                             {"f(", ",)"}, {"x[", "]"}, {"graph { ", " }"}};
      const auto &pair = pairs[pick(random, std::size(pairs))];
      size_t a = std::min(i, j), b = std::min(std::max(i, j), a + 12);
      words[a] = " " + std::string(pair[0]) + words[a];
      words[b] += pair[1];
    }
    }
  }
  std::string out;
  for (const std::string &word : words)
    out += word;
  size_t bytes = std::min(out.size(), maxSize);
  std::memcpy(data, out.data(), bytes);
  return bytes;
}
