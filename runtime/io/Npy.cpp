// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reader of NumPy's .npy: a magic, a version, and a Python dictionary with three keys.

#include "io/Arrays.h"

#include <bit>
#include <cstring>

namespace mxrt::io {

namespace {

/// Headers that NumPy writes are far smaller than this.
constexpr size_t maxHeader = 64 << 10;

/// Parser of the literals of a Python dictionary.
class Literals {
public:
  Literals(const Stream &stream, std::string_view text, int64_t base)
      : stream(stream), text(text), base(base) {}

  Status expect(char wanted) {
    skipBlanks();
    if (at >= text.size() || text[at] != wanted)
      return fault("`%c` was expected", wanted);
    ++at;
    return success();
  }
  bool next(char wanted) {
    skipBlanks();
    if (at >= text.size() || text[at] != wanted)
      return false;
    ++at;
    return true;
  }
  Status string(std::string_view &out) {
    skipBlanks();
    char quote = at < text.size() ? text[at] : 0;
    size_t end = quote == '\'' || quote == '"' ? text.find(quote, at + 1) : std::string_view::npos;
    if (end == std::string_view::npos)
      return fault("a string was expected");
    out = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return success();
  }
  Status boolean(bool &out) {
    skipBlanks();
    for (std::string_view word : {"True", "False"})
      if (text.substr(at, word.size()) == word) {
        out = word == "True";
        at += word.size();
        return success();
      }
    return fault("True or False was expected");
  }
  Status number(int64_t &out) {
    skipBlanks();
    size_t first = at;
    out = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      if (__builtin_mul_overflow(out, 10, &out) ||
          __builtin_add_overflow(out, text[at] - '0', &out))
        return fault("a size does not fit in 63 bits");
      ++at;
    }
    return at == first ? fault("a number was expected") : success();
  }
  bool atEnd() {
    skipBlanks();
    return at == text.size();
  }
  template <typename... Args> Status fault(const char *format, Args... args) const {
    auto byte = base + static_cast<int64_t>(at);
    if constexpr (sizeof...(args) == 0)
      return stream.malformed(byte, "header", "%s", format);
    else
      return stream.malformed(byte, "header", format, args...);
  }

private:
  void skipBlanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t'))
      ++at;
  }
  const Stream &stream;
  std::string_view text;
  int64_t base;
  size_t at = 0;
};

bool elementType(std::string_view code, mxrt_dtype &type) {
  struct Row {
    const char *code;
    mxrt_dtype type;
  };
  static constexpr Row rows[] = {{"b1", MXRT_BOOL}, {"i1", MXRT_I8},  {"u1", MXRT_U8},
                                 {"i4", MXRT_I32},  {"i8", MXRT_I64}, {"f2", MXRT_F16},
                                 {"f4", MXRT_F32},  {"f8", MXRT_F64}};
  for (const Row &row : rows)
    if (code == row.code) {
      type = row.type;
      return true;
    }
  return false;
}

Status readDictionary(Literals &in, ArrayHead &head) {
  bool seen[3] = {};
  MXRT_CHECK(in.expect('{'));
  while (!in.next('}')) {
    std::string_view key;
    MXRT_CHECK(in.string(key));
    MXRT_CHECK(in.expect(':'));
    int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
    if (which < 0 || seen[which])
      return in.fault("`%.*s` is %s", int(std::min<size_t>(key.size(), 40)), key.data(),
                      which < 0 ? "not a key of the header" : "there twice");
    seen[which] = true;
    if (which == 0) {
      std::string_view code;
      MXRT_CHECK(in.string(code));
      char order = code.empty() ? 0 : code[0];
      bool known = order == '<' || order == '>' || order == '|' || order == '=';
      if (!known || !elementType(code.substr(1), head.type))
        return in.fault("elements `%.*s` cannot be read; bool, i8, u8, i32, i64, f16, f32 and f64 "
                        "can",
                        int(std::min<size_t>(code.size(), 40)), code.data());
      bool other = std::endian::native == std::endian::little ? order == '>' : order == '<';
      head.swapped = other && mxrt_dtype_size(head.type) > 1;
    } else if (which == 1) {
      bool fortran = false;
      MXRT_CHECK(in.boolean(fortran));
      if (fortran)
        return in.fault("the array is in Fortran order; save np.ascontiguousarray(x) instead");
    } else {
      MXRT_CHECK(in.expect('('));
      while (!in.next(')')) {
        if (head.rank == MXRT_MAX_RANK)
          return in.fault("more than %d dimensions", MXRT_MAX_RANK);
        MXRT_CHECK(in.number(head.sizes[head.rank++]));
        if (!in.next(',')) {
          MXRT_CHECK(in.expect(')'));
          break;
        }
      }
    }
    if (!in.next(',')) {
      MXRT_CHECK(in.expect('}'));
      break;
    }
  }
  if (!in.atEnd())
    return in.fault("something follows the header's dictionary");
  for (int i = 0; i < 3; ++i)
    if (!seen[i]) {
      static const char *const keys[] = {"descr", "fortran_order", "shape"};
      return in.fault("`%s` is missing", keys[i]);
    }
  return success();
}

} // namespace

Status readNpyHead(Stream &stream, ArrayHead &head) {
  unsigned char magic[8];
  MXRT_CHECK(stream.read(magic, 8, "the header of an npy file"));
  if (std::memcmp(magic, "\x93NUMPY", 6) != 0)
    return stream.malformed(0, "magic", "an npy file begins with \\x93NUMPY");
  if (magic[6] < 1 || magic[6] > 3 || magic[7] != 0)
    return stream.malformed(6, "version", "version %d.%d cannot be read, 1.0 to 3.0 can", magic[6],
                            magic[7]);
  unsigned char word[4] = {};
  MXRT_CHECK(stream.read(word, magic[6] == 1 ? 2 : 4, "the length of the header"));
  size_t length = word[0] | word[1] << 8 | word[2] << 16 | size_t(word[3]) << 24;
  if (length > maxHeader)
    return stream.malformed(8, "header", "a header of %zu bytes, at most %zu are read", length,
                            maxHeader);
  if (static_cast<int64_t>(length) > stream.atMost())
    return stream.malformed(stream.offset(), "truncated",
                            "the header needs %zu bytes, %lld are left", length,
                            static_cast<long long>(stream.atMost()));
  int64_t base = stream.offset();
  Vec<char> text(stream.input.alloc);
  if (!text.resize(length))
    return outOfMemory(stream.input.alloc);
  MXRT_CHECK(stream.read(text.data(), length, "the header"));
  Literals literals(stream, {text.data(), length}, base);
  MXRT_CHECK(readDictionary(literals, head));
  MXRT_CHECK(measure(stream, base, head));
  if (head.bytes > stream.atMost())
    return stream.malformed(
        stream.offset(), "size", "the header announces %lld bytes, at most %lld can follow",
        static_cast<long long>(head.bytes), static_cast<long long>(stream.atMost()));
  return success();
}

} // namespace mxrt::io
