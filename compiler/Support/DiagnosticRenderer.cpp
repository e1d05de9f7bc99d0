// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three output formats of a diagnostic: the source excerpt with labels, one line for editors and
// grep, and JSON for tools.
#include "Support/Diagnostic.h"
#include "Support/Unicode.h"
#include <algorithm>
#include <map>

namespace mx {
namespace {

const char *severityName(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Note:
    return "note";
  }
  return "error";
}

static std::string codeOf(const Diagnostic &d) {
  return d.runCode.empty() ? std::string(codeInfo(d.code).id) : d.runCode;
}

std::string header(const Diagnostic &d) {
  return std::string(severityName(d.severity)) + "[" + codeOf(d) + "]";
}

/// A label on one source line, in terminal cells.
struct Mark {
  int start, end;
  bool primary;
  const std::string *text;
};

class TextRenderer {
public:
  TextRenderer(const Diagnostic &diagnostic, const SourceManager &manager, bool withColour)
      : d(diagnostic), sources(manager), colour(withColour) {}

  std::string run() {
    out += paint(severityStyle(), header(d)) + paint("1", ": " + d.message) + "\n";
    if (d.severity == Severity::Note) { // it needs no action, so its output is short
      if (d.span.valid())
        out += " " + paint("34", "-->") + " " + sources.location(d.span) + "\n";
      gutter = 2;
    } else if (d.span.valid()) {
      snippets();
    }
    for (const Diagnostic::Remark &remark : d.remarks)
      addRemark(remark);
    return std::move(out);
  }

private:
  const Diagnostic &d;
  const SourceManager &sources;
  bool colour;
  std::string out;
  int gutter = 1;

  const char *severityStyle() const {
    return d.severity == Severity::Error     ? "1;31"
           : d.severity == Severity::Warning ? "1;33"
                                             : "1;36";
  }
  std::string paint(const char *style, const std::string &text) const {
    return colour && !text.empty() ? "\x1b[" + std::string(style) + "m" + text + "\x1b[0m" : text;
  }
  std::string bar(const std::string &number = "") const {
    return paint("34", std::string(gutter - number.size(), ' ') + number + " |");
  }

  void snippets() {
    // Lines to show, by file in order of first mention. The primary file comes first.
    std::vector<uint32_t> fileOrder;
    std::map<uint32_t, std::map<uint32_t, std::vector<const Label *>>> lines;
    for (const Label &label : d.labels) {
      if (!label.span.valid())
        continue;
      if (std::find(fileOrder.begin(), fileOrder.end(), label.span.file) == fileOrder.end())
        fileOrder.push_back(label.span.file);
      uint32_t line = sources.file(label.span).lineColumn(label.span.begin).line;
      auto &entry = lines[label.span.file][line];
      if (label.primary || !label.text.empty())
        entry.push_back(&label);
    }
    for (auto &[file, byLine] : lines)
      gutter = std::max<int>(gutter, std::to_string(byLine.rbegin()->first).size());
    bool first = true;
    for (uint32_t file : fileOrder) {
      const SourceFile &source = sources.file(file);
      std::string pad(gutter, ' ');
      if (first)
        out += pad + paint("34", "-->") + " " + sources.location(d.span) + "\n";
      else
        out += pad + paint("34", ":::") + " " + locationOfFirst(file) + "\n";
      first = false;
      out += bar() + "\n";
      uint32_t previous = 0;
      for (auto &[line, labels] : lines[file]) {
        if (previous != 0 && line != previous + 1)
          out += paint("34", "...") + "\n";
        previous = line;
        showLine(source, line, labels);
      }
    }
    if (!d.remarks.empty())
      out += bar() + "\n";
  }

  std::string locationOfFirst(uint32_t file) const {
    for (const Label &label : d.labels)
      if (label.span.file == file)
        return sources.location(label.span);
    return "";
  }

  /// Line text with tabs as four spaces and control characters escaped. A very long line (generated
  /// code) is truncated around the first mark.
  static std::string visible(std::string_view text) {
    std::string shown;
    for (size_t i = 0; i < text.size();) {
      CodePoint c = decodeUtf8(text, i);
      if (c.bytes == 0 || isBidiControl(c.value) || (c.value < 0x20 && c.value != '\t') ||
          c.value == 0x7F)
        appendUtf8(shown, 0xFFFD);
      else if (c.value == '\t')
        shown += "    ";
      else
        shown += text.substr(i, c.bytes);
      i += c.bytes ? c.bytes : 1;
    }
    return shown;
  }

  void showLine(const SourceFile &source, uint32_t number,
                const std::vector<const Label *> &labels) {
    constexpr size_t kMaxShownBytes = 400;
    std::string_view text = source.line(number);
    uint32_t lineStart = source.lineStart(number);
    size_t cutFront = 0;
    if (text.size() > kMaxShownBytes) {
      size_t focus = labels.empty() ? 0 : labels[0]->span.begin - lineStart;
      cutFront = focus > kMaxShownBytes / 2 ? focus - kMaxShownBytes / 2 : 0;
      while (cutFront < text.size() && (static_cast<unsigned char>(text[cutFront]) & 0xC0) == 0x80)
        ++cutFront;
      text = text.substr(cutFront, kMaxShownBytes);
    }
    std::string lead = cutFront ? "…" : "";
    std::string shown = visible(text);
    out += bar(std::to_string(number)) + (shown.empty() && lead.empty() ? "" : " ") + lead + shown +
           "\n";
    if (labels.empty())
      return;
    std::vector<Mark> marks;
    for (const Label *label : labels) {
      auto cell = [&](uint32_t offset) {
        size_t inLine = offset < lineStart + cutFront ? 0 : offset - lineStart - cutFront;
        return displayWidth(visible(text.substr(0, std::min(inLine, text.size())))) +
               displayWidth(lead);
      };
      int start = cell(label->span.begin);
      int end = cell(label->span.end);
      marks.push_back({start, std::max(end, start + 1), label->primary, &label->text});
    }
    showMarks(marks);
  }

  void showMarks(std::vector<Mark> marks) {
    std::sort(marks.begin(), marks.end(), [](const Mark &a, const Mark &b) {
      return std::pair(a.start, a.end) < std::pair(b.start, b.end);
    });
    int width = 0;
    for (const Mark &m : marks)
      width = std::max(width, m.end);
    std::string row(width, ' ');
    for (bool primary : {false, true})
      for (const Mark &m : marks)
        if (m.primary == primary)
          for (int i = m.start; i < m.end; ++i)
            row[i] = primary ? '^' : '-';
    // The text of the last mark fits on the same row if no mark extends past it.
    std::string tail;
    if (marks.back().end == width && !marks.back().text->empty()) {
      tail = " " + *marks.back().text;
      marks.pop_back();
    }
    marks.erase(
        std::remove_if(marks.begin(), marks.end(), [](const Mark &m) { return m.text->empty(); }),
        marks.end());
    out += bar() + " " + paint(severityStyle(), row + tail) + "\n";
    if (marks.empty())
      return;
    out += bar() + " " + paint(severityStyle(), stems(marks)) + "\n";
    while (!marks.empty()) {
      Mark m = marks.back();
      marks.pop_back();
      std::string line = stems(marks);
      line.resize(std::max<size_t>(line.size(), m.start), ' ');
      // Two marks at one column share a stem. The text follows it.
      if (static_cast<int>(line.size()) > m.start)
        line += " ";
      out += bar() + " " + paint(severityStyle(), line + *m.text) + "\n";
    }
  }

  static std::string stems(const std::vector<Mark> &marks) {
    std::string line;
    for (const Mark &m : marks) {
      line.resize(std::max<size_t>(line.size(), m.start + 1), ' ');
      line[m.start] = '|';
    }
    return line;
  }

  /// Truncates a help that quotes a very long part of the program.
  static std::string clipped(const std::string &text) {
    constexpr size_t kMaxRemark = 2000;
    if (text.size() <= kMaxRemark)
      return text;
    size_t end = kMaxRemark;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      --end;
    return text.substr(0, end) + "…";
  }

  void addRemark(const Diagnostic::Remark &remark) {
    std::string lead = std::string(gutter + 1, ' ') + "= " + (remark.help ? "help: " : "note: ");
    std::string body;
    for (char c : clipped(remark.text)) {
      body += c;
      if (c == '\n')
        body += std::string(lead.size(), ' ');
    }
    out += paint("1", lead) + body + "\n";
  }
};

std::string renderJson(const Diagnostic &d, const SourceManager &sources) {
  auto range = [&](Span span) {
    if (!span.valid())
      return std::string("null");
    const SourceFile &file = sources.file(span);
    LineColumn a = file.lineColumn(span.begin), b = file.lineColumn(span.end);
    return "{\"file\":" + jsonString(file.path().empty() ? file.name() : file.path()) +
           ",\"line\":" + std::to_string(a.line) + ",\"column\":" + std::to_string(a.column) +
           ",\"endLine\":" + std::to_string(b.line) + ",\"endColumn\":" + std::to_string(b.column) +
           ",\"begin\":" + std::to_string(span.begin) + ",\"end\":" + std::to_string(span.end) +
           "}";
  };
  std::string out = "{\"severity\":\"" + std::string(severityName(d.severity)) + "\",\"code\":\"" +
                    codeOf(d) + "\",\"message\":" + jsonString(d.message) +
                    ",\"location\":" + range(d.span) + ",\"labels\":[";
  bool first = true;
  for (const Label &label : d.labels) {
    if (label.text.empty() && !label.primary)
      continue;
    out += std::string(first ? "" : ",") + "{\"primary\":" + (label.primary ? "true" : "false") +
           ",\"text\":" + jsonString(label.text) + ",\"location\":" + range(label.span) + "}";
    first = false;
  }
  for (bool help : {false, true}) {
    out += std::string("],\"") + (help ? "help" : "notes") + "\":[";
    first = true;
    for (const Diagnostic::Remark &remark : d.remarks)
      if (remark.help == help) {
        out += (first ? "" : ",") + jsonString(remark.text);
        first = false;
      }
  }
  return out + "]}\n";
}

} // namespace

std::string jsonString(std::string_view text) {
  static const char hex[] = "0123456789abcdef";
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    CodePoint c = decodeUtf8(text, i);
    if (c.bytes == 0)
      appendUtf8(out, 0xFFFD);
    else if (c.value == '"' || c.value == '\\')
      out += std::string("\\") + static_cast<char>(c.value);
    else if (c.value == '\n')
      out += "\\n";
    else if (c.value < 0x20 || c.value == 0x7F)
      out += std::string("\\u00") + hex[c.value >> 4] + hex[c.value & 15];
    else
      out += text.substr(i, c.bytes);
    i += c.bytes ? c.bytes : 1;
  }
  return out + "\"";
}

std::string render(const Diagnostic &d, const SourceManager &sources,
                   const RenderOptions &options) {
  switch (options.format) {
  case ErrorFormat::Json:
    return renderJson(d, sources);
  case ErrorFormat::Short:
    return (d.span.valid() ? sources.location(d.span) + ": " : std::string()) + header(d) + ": " +
           d.message + "\n";
  case ErrorFormat::Text:
    return TextRenderer(d, sources, options.colour).run();
  }
  return {};
}

} // namespace mx
