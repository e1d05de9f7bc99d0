// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of diagnostic codes, and the sink that collects diagnostics.
#include "Support/Diagnostic.h"
#include "Support/Limits.h"
#include <algorithm>
#include <cctype>
#include <map>

namespace mx {

const std::vector<CodeInfo> &allCodes() {
  static const std::vector<CodeInfo> table = {
#define MX_CODE(ID, TITLE, TEXT, WRONG, RIGHT) {Code::ID, #ID, TITLE, TEXT, WRONG, RIGHT},
#include "Support/Codes.def"
  };
  return table;
}

const CodeInfo &codeInfo(Code code) { return allCodes()[static_cast<size_t>(code)]; }

const CodeInfo *findCode(std::string_view id) {
  auto same = [&](std::string_view other) {
    return id.size() == other.size() &&
           std::equal(id.begin(), id.end(), other.begin(), [](unsigned char a, unsigned char b) {
             return std::toupper(a) == std::toupper(b);
           });
  };
  for (const CodeInfo &info : allCodes())
    if (same(info.id))
      return &info;
  return nullptr;
}

Severity severityOf(Code code) {
  switch (codeInfo(code).id[0]) {
  case 'W':
    return Severity::Warning;
  case 'N':
    return Severity::Note;
  default:
    return Severity::Error;
  }
}

Diagnostic &Diagnostics::report(Code code, Span at, std::string message) {
  Severity severity = severityOf(code);
  Diagnostic d{code, {}, severity, std::move(message), at, {}, {}};
  d.labels.push_back({at, "", true});
  // Diagnostics past the limit are dropped: a file of ten million bad characters must not exhaust
  // memory.
  bool tooMany = severity == Severity::Error && full();
  bool repeated = !tooMany && !seen.insert({code, at.file, at.begin}).second;
  if (tooMany || repeated || (severity != Severity::Error && silenced.count(code))) {
    scratch = std::move(d);
    return *scratch;
  }
  if (severity == Severity::Error)
    ++errors;
  list.push_back(std::move(d));
  return list.back();
}

bool Diagnostics::full() const { return errors >= limits::kMaxErrors; }

void Diagnostics::clear() {
  list.clear();
  seen.clear();
  errors = 0;
}

void Diagnostics::truncate(size_t count) {
  while (list.size() > count) {
    const Diagnostic &d = list.back();
    if (d.severity == Severity::Error)
      --errors;
    seen.erase({d.code, d.span.file, d.span.begin});
    list.pop_back();
  }
}

std::vector<const Diagnostic *> Diagnostics::sorted() const {
  std::vector<const Diagnostic *> out;
  std::map<std::tuple<uint32_t, uint32_t, size_t>, const Diagnostic *> byLocation;
  for (const Diagnostic &d : list)
    byLocation[{d.span.file, d.span.begin, byLocation.size()}] = &d;
  for (const auto &entry : byLocation)
    out.push_back(entry.second);
  return out;
}

} // namespace mx
