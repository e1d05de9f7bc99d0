// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Line editing on a terminal with libedit. Its buffer holds a whole input, newlines included: Enter
// submits a complete input, and otherwise starts a new line of it.
#include "Run/Interrupt.h"
#include "Repl/Inputs.h"
#include "Repl/LineReader.h"
#include "Support/Unicode.h"
#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <histedit.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace mx::repl {
namespace {

// Keys that users do not type; bound to libedit commands that have no function in its API.
constexpr const char *kAccept = "\x1d", *kPreviousLine = "\x1e", *kNextLine = "\x1f";
constexpr const char *kPreviousEntry = "\x1c", *kNextEntry = "\x0f";
constexpr const char *kPasteEnd = "\x1b[201~";

class EditReader final : public LineReader {
public:
  EditReader(History &kept, ReaderHooks hooks) : kept(kept), hooks(std::move(hooks)) {
    std::setlocale(LC_CTYPE, "C.UTF-8"); // encoding of non-ASCII text in libedit
    editor = el_init("mxc", stdin, stdout, stderr);
    past = history_init();
    if (!editor || !past)
      return;
    HistEvent event;
    ::history(past, &event, H_SETSIZE, 100000);
    for (const std::string &entry : kept.entries())
      ::history(past, &event, H_ENTER, entry.c_str());
    el_set(editor, EL_CLIENTDATA, this);
    el_set(editor, EL_PROMPT, prompt);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_SIGNAL, 0); // the program has its own handler
    el_set(editor, EL_GETCFN, readCharacter);
    el_set(editor, EL_HIST, ::history, past);
    el_set(editor, EL_ADDFN, "mx-enter", "end a complete input", enter);
    el_set(editor, EL_ADDFN, "mx-newline", "begin a new line", newline);
    el_set(editor, EL_ADDFN, "mx-paste", "take pasted text as it is", paste);
    el_set(editor, EL_ADDFN, "mx-complete", "what may stand here", completeWord);
    el_set(editor, EL_ADDFN, "mx-up", "the line above, or the input before", up);
    el_set(editor, EL_ADDFN, "mx-down", "the line below, or the next input", down);
    bind(kAccept, "ed-newline");
    bind(kPreviousLine, "ed-prev-line");
    bind(kNextLine, "ed-next-line");
    bind(kPreviousEntry, "ed-prev-history");
    bind(kNextEntry, "ed-next-history");
    for (const char *key : {"\r", "\n"})
      bind(key, "mx-enter");
    for (const char *key : {"\x1b\r", "\x1b\n"})
      bind(key, "mx-newline");
    bind("\x1b[200~", "mx-paste");
    bind("\t", "mx-complete");
    for (const char *key : {"\x1b[A", "\x1bOA", "\x10"})
      bind(key, "mx-up");
    for (const char *key : {"\x1b[B", "\x1bOB", "\x0e"})
      bind(key, "mx-down");
    bind("\x12", "em-inc-search-prev");
    bind("\x1b[H", "ed-move-to-beg");
    bind("\x1b[F", "ed-move-to-end");
    bind("\x1b[3~", "ed-delete-next-char");
  }
  ~EditReader() override {
    if (past)
      history_end(past);
    if (editor)
      el_end(editor);
  }
  bool works() const { return editor && past; }

  std::optional<std::string> readInput() override {
    for (;;) {
      std::optional<std::string> text = edit("mx> ", /*whole=*/true);
      if (!text)
        return std::nullopt;
      if (text->find_first_not_of(" \t\r\n") == std::string::npos)
        continue;
      kept.add(*text);
      HistEvent event;
      if (!kept.entries().empty())
        ::history(past, &event, H_ENTER, kept.entries().back().c_str());
      return text;
    }
  }

  std::optional<std::string> readLine(const std::string &before) override {
    std::optional<std::string> text = edit(before, /*whole=*/false);
    if (text && !text->empty() && text->back() == '\n')
      text->pop_back();
    return text;
  }

private:
  void bind(const char *key, const char *command) {
    el_set(editor, EL_BIND, key, command, nullptr);
  }

  std::optional<std::string> edit(const std::string &before, bool whole) {
    shownPrompt = before;
    takesWhole = whole;
    for (;;) {
      el_resize(editor);
      setPasteMode(true);
      int count = 0;
      errno = 0;
      const char *line = el_gets(editor, &count);
      bool interrupted = wasInterrupted;
      wasInterrupted = false;
      setPasteMode(false);
      if (line && count > 0)
        return std::string(line, static_cast<size_t>(count));
      if (!interrupted) {
        std::fputs("\n", stdout);
        std::fflush(stdout);
        return std::nullopt;
      }
      // Discards the typed text; shows a new prompt on a new line.
      std::fputs("^C\n", stdout);
      std::fflush(stdout);
      el_reset(editor);
      if (!whole)
        return std::nullopt;
    }
  }

  static void setPasteMode(bool on) {
    std::fputs(on ? "\x1b[?2004h" : "\x1b[?2004l", stdout);
    std::fflush(stdout);
  }

  static EditReader &self(EditLine *editor) {
    void *data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<EditReader *>(data);
  }
  static char *prompt(EditLine *editor) { return self(editor).shownPrompt.data(); }

  /// Reads one character from the terminal. An interrupt ends the line, which libedit's own reader
  /// does not support.
  static int readCharacter(EditLine *editor, wchar_t *out) {
    EditReader &reader = self(editor);
    std::string bytes;
    for (;;) {
      if (!run::Interruptible::waitForInput(STDIN_FILENO, reader.hooks.takeInterrupt)) {
        reader.wasInterrupted = true;
        return -1;
      }
      char byte;
      ssize_t got = read(STDIN_FILENO, &byte, 1);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return got < 0 ? -1 : 0;
      bytes += byte;
      unsigned char lead = static_cast<unsigned char>(bytes[0]);
      size_t wanted = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
      if (bytes.size() < wanted)
        continue;
      CodePoint decoded = decodeUtf8(bytes, 0);
      *out = decoded.bytes ? static_cast<wchar_t>(decoded.value) : L'?';
      return 1;
    }
  }

  std::string text() const {
    const LineInfo *info = el_line(editor);
    return std::string(info->buffer, info->lastchar);
  }
  std::string textBefore() const {
    const LineInfo *info = el_line(editor);
    return std::string(info->buffer, info->cursor);
  }
  void push(const char *key) { el_push(editor, key); }

  static unsigned char enter(EditLine *editor, int) {
    EditReader &reader = self(editor);
    std::string text = reader.text();
    if (reader.takesWhole && !isComplete(text + "\n")) {
      el_insertstr(editor, "\n");
      return CC_REFRESH;
    }
    el_cursor(editor, static_cast<int>(text.size())); // libedit stops at the end
    reader.push(kAccept);
    return CC_REFRESH;
  }
  static unsigned char newline(EditLine *editor, int) {
    el_insertstr(editor, "\n");
    return CC_REFRESH;
  }
  static unsigned char up(EditLine *editor, int) {
    EditReader &reader = self(editor);
    bool inside = reader.textBefore().find('\n') != std::string::npos;
    reader.push(inside ? kPreviousLine : kPreviousEntry);
    return CC_NORM;
  }
  static unsigned char down(EditLine *editor, int) {
    EditReader &reader = self(editor);
    bool inside = reader.text().find('\n', reader.textBefore().size()) != std::string::npos;
    reader.push(inside ? kNextLine : kNextEntry);
    return CC_NORM;
  }

  static unsigned char paste(EditLine *editor, int) {
    std::string text;
    wchar_t c;
    while (readCharacter(editor, &c) == 1) {
      appendUtf8(text, static_cast<uint32_t>(c));
      if (text.ends_with(kPasteEnd)) {
        text.resize(text.size() - std::char_traits<char>::length(kPasteEnd));
        break;
      }
    }
    // Leaves the final newline to the user.
    text = cleanPaste(text);
    while (!text.empty() && text.back() == '\n')
      text.pop_back();
    if (text.empty() || el_insertstr(editor, text.c_str()) == -1)
      return CC_ERROR;
    return CC_REFRESH;
  }

  static unsigned char completeWord(EditLine *editor, int) {
    EditReader &reader = self(editor);
    std::string before = reader.textBefore();
    size_t lineStart = before.rfind('\n') + 1; // 0 if there is none
    if (before.find_first_not_of(' ', lineStart) == std::string::npos) {
      el_insertstr(editor, "  "); // at the start of a line Tab indents
      return CC_REFRESH;
    }
    sema::Completion found = reader.hooks.complete(before);
    if (found.list.empty())
      return CC_REFRESH_BEEP;
    std::string common = found.list[0].text;
    for (const sema::Suggestion &one : found.list) {
      size_t same = 0;
      while (same < common.size() && same < one.text.size() && common[same] == one.text[same])
        ++same;
      common.resize(same);
    }
    size_t typed = before.size() - found.begin;
    if (common.size() > typed) {
      el_insertstr(editor, common.c_str() + typed);
      return CC_REFRESH;
    }
    if (found.list.size() > 1 || !found.list[0].type.empty())
      reader.show(found.list);
    return CC_REDISPLAY;
  }

  /// One suggestion per line, with as much of its type as fits the width.
  void show(const std::vector<sema::Suggestion> &list) const {
    constexpr size_t kMaxShown = 40;
    winsize size{};
    size_t width =
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
    size_t widest = 0;
    for (size_t i = 0; i < std::min(list.size(), kMaxShown); ++i)
      widest = std::max(widest, list[i].text.size());
    std::string out = "\n";
    for (size_t i = 0; i < std::min(list.size(), kMaxShown); ++i) {
      std::string line = "  " + list[i].text;
      if (!list[i].type.empty())
        line += std::string(widest - list[i].text.size() + 2, ' ') + list[i].type;
      if (line.size() >= width)
        line = line.substr(0, width - 4) + "...";
      out += line + "\n";
    }
    if (list.size() > kMaxShown)
      out += "  and " + std::to_string(list.size() - kMaxShown) + " more\n";
    std::fputs(out.c_str(), stdout);
    std::fflush(stdout);
  }

  History &kept;
  ReaderHooks hooks;
  EditLine *editor = nullptr;
  ::History *past = nullptr;
  std::string shownPrompt;
  bool takesWhole = true, wasInterrupted = false;
};

} // namespace

std::unique_ptr<LineReader> makeEditReader(History &history, ReaderHooks hooks) {
  auto reader = std::make_unique<EditReader>(history, std::move(hooks));
  if (!reader->works())
    return nullptr;
  return reader;
}

} // namespace mx::repl
