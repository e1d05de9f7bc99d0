// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte pair encoding: training with a priority queue of pairs, encoding and decoding.

#include "io/Bpe.h"

#include <algorithm>
#include <bit>

namespace mxrt::io {

namespace {

constexpr size_t maxDecoded = size_t(1) << 31;

enum class Sort { Blank, Letter, Digit, Sign };
Sort sortOf(char c) {
  auto byte = static_cast<unsigned char>(c);
  if (c == ' ' || (byte >= 9 && byte <= 13))
    return Sort::Blank;
  if (c >= '0' && c <= '9')
    return Sort::Digit;
  bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || byte >= 0x80;
  return letter ? Sort::Letter : Sort::Sign;
}

uint64_t pairOf(int32_t left, int32_t right) {
  return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
}
size_t hashOf(uint64_t key) { return static_cast<size_t>((key * 0x9e3779b97f4a7c15u) >> 20); }
size_t hashOf(std::string_view text) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (char c : text)
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hashOf(sum);
}

/// Hash table with open addressing (linear probing). Rows have `key` and `used`. Doubles when half
/// full.
template <typename Row> class Table {
public:
  explicit Table(const mxrt_allocator *alloc) : rows(alloc) {}
  /// The row of a key, inserted if missing; nullptr if out of memory.
  template <typename Key> Row *at(const Key &key) {
    if (2 * (count + 1) > rows.size() && !grow())
      return nullptr;
    Row *row = find(rows, key);
    if (!row->used) {
      row->used = true;
      row->key = key;
      ++count;
    }
    return row;
  }
  Vec<Row> rows;

private:
  template <typename Key> static Row *find(Vec<Row> &in, const Key &key) {
    size_t mask = in.size() - 1, i = hashOf(key) & mask;
    while (in[i].used && in[i].key != key)
      i = (i + 1) & mask;
    return &in[i];
  }
  bool grow() {
    Vec<Row> larger(rows.allocator());
    if (!larger.resize(std::max<size_t>(2 * rows.size(), 64)))
      return false;
    for (Row &row : rows)
      if (row.used)
        *find(larger, row.key) = row;
    rows = std::move(larger);
    return true;
  }
  size_t count = 0;
};

/// Learns merges. Each distinct piece is stored once, with its frequency, as a linked list of
/// symbols. Each pair has its frequency and a list of its occurrences.
class Trainer {
public:
  explicit Trainer(const mxrt_allocator *alloc)
      : alloc(alloc), pairs(alloc), symbols(alloc), positions(alloc), heap(alloc) {}

  Status read(std::string_view text) {
    Table<Piece> pieces(alloc);
    for (size_t at = 0; at < text.size();) {
      Piece *piece = pieces.at(nextPiece(text, at));
      if (!piece)
        return outOfMemory(alloc);
      ++piece->count;
    }
    for (const Piece &piece : pieces.rows)
      if (piece.used)
        MXRT_CHECK(add(piece.key, piece.count));
    // All counts are final: pairs that occur at least twice are candidates.
    for (const Pair &pair : pairs.rows)
      if (pair.used)
        MXRT_CHECK(offer(pair.key, pair.count));
    return success();
  }

  /// Merges the most frequent pair into `token`. False if no pair occurs twice.
  Status merge(int32_t token, Merge &merged, bool &found) {
    found = false;
    while (!heap.empty() && !found) {
      std::pop_heap(heap.begin(), heap.end(), worse);
      Candidate best = heap[heap.size() - 1];
      heap.pop();
      Pair *pair = pairs.at(best.key);
      if (!pair)
        return outOfMemory(alloc);
      // Lazy deletion: an entry is stale if the pair's count has changed since. The pair was pushed
      // again then.
      found = pair->count == best.count && best.count >= 2;
      if (!found)
        continue;
      merged = {int32_t(best.key >> 32), int32_t(uint32_t(best.key))};
      MXRT_CHECK(replace(*pair, merged, token));
    }
    return success();
  }

private:
  struct Piece {
    std::string_view key;
    bool used = false;
    int64_t count = 0;
  };
  struct Pair {
    uint64_t key = 0;
    bool used = false;
    int64_t count = 0;
    int32_t first = -1; // head of its list of occurrences
  };
  struct Symbol {
    int32_t token; // -1: merged into the previous symbol
    int32_t before, after;
    int64_t count; // frequency of its piece
  };
  struct Position {
    int32_t symbol, next;
  };
  struct Candidate {
    int64_t count;
    uint64_t key;
  };
  static bool worse(const Candidate &a, const Candidate &b) {
    return a.count != b.count ? a.count < b.count : a.key > b.key;
  }

  Status offer(uint64_t key, int64_t count) {
    if (count < 2)
      return success();
    if (!heap.push({count, key}))
      return outOfMemory(alloc);
    std::push_heap(heap.begin(), heap.end(), worse);
    return success();
  }

  /// Adds `count` to the frequency of the pair that starts at a symbol, and records new
  /// occurrences.
  Status note(int32_t left, int64_t count, bool changed) {
    int32_t right = left < 0 ? -1 : symbols[size_t(left)].after;
    if (right < 0)
      return success();
    Pair *pair = pairs.at(pairOf(symbols[size_t(left)].token, symbols[size_t(right)].token));
    if (!pair)
      return outOfMemory(alloc);
    pair->count += count;
    if (count > 0) {
      if (!positions.push({left, pair->first}))
        return outOfMemory(alloc);
      pair->first = int32_t(positions.size() - 1);
    }
    return changed ? offer(pair->key, pair->count) : success();
  }

  Status add(std::string_view piece, int64_t count) {
    if (symbols.size() + piece.size() > size_t(INT32_MAX) / 2)
      return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                   "the distinct words of the text have more than %d bytes", INT32_MAX / 2);
    auto begin = int32_t(symbols.size()), end = int32_t(begin + int32_t(piece.size()));
    for (int32_t i = begin; i < end; ++i)
      if (!symbols.push(
              {static_cast<unsigned char>(piece[size_t(i - begin)]), i - 1, i + 1, count}))
        return outOfMemory(alloc);
    symbols[size_t(begin)].before = -1;
    symbols[size_t(end - 1)].after = -1;
    for (int32_t i = begin; i + 1 < end; ++i)
      MXRT_CHECK(note(i, count, false));
    return success();
  }

  /// Replaces all remaining occurrences of a pair, left to right in each piece.
  Status replace(Pair &pair, const Merge &merged, int32_t token) {
    Vec<int32_t> where(alloc);
    for (int32_t i = pair.first; i >= 0; i = positions[size_t(i)].next)
      if (!where.push(positions[size_t(i)].symbol))
        return outOfMemory(alloc);
    pair.first = -1;
    std::sort(where.begin(), where.end());
    for (int32_t left : where) {
      Symbol &symbol = symbols[size_t(left)];
      int32_t right = symbol.after;
      if (symbol.token != merged.left || right < 0 || symbols[size_t(right)].token != merged.right)
        continue;
      int64_t count = symbol.count;
      MXRT_CHECK(note(symbol.before, -count, true));
      MXRT_CHECK(note(left, -count, true));
      MXRT_CHECK(note(right, -count, true));
      symbol.token = token;
      symbol.after = symbols[size_t(right)].after;
      symbols[size_t(right)].token = -1;
      if (symbol.after >= 0)
        symbols[size_t(symbol.after)].before = left;
      MXRT_CHECK(note(symbol.before, count, true));
      MXRT_CHECK(note(left, count, true));
    }
    return success();
  }

  const mxrt_allocator *alloc;
  Table<Pair> pairs;
  Vec<Symbol> symbols;
  Vec<Position> positions;
  Vec<Candidate> heap;
};

} // namespace

std::string_view nextPiece(std::string_view text, size_t &at) {
  size_t begin = at;
  auto run = [&](Sort sort) {
    while (at < text.size() && sortOf(text[at]) == sort)
      ++at;
  };
  if (sortOf(text[at]) == Sort::Blank) {
    run(Sort::Blank);
    // The last blank belongs to the next piece.
    if (at == text.size() || text[at - 1] != ' ')
      return text.substr(begin, at - begin);
    if (--at > begin)
      return text.substr(begin, at - begin);
    ++at;
  }
  run(sortOf(text[at]));
  return text.substr(begin, at - begin);
}

Status trainBpe(std::string_view text, int64_t tokens, Vec<Merge> &merges) {
  const mxrt_allocator *alloc = merges.allocator();
  if (tokens < byteTokens || tokens > maxTokens)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "a vocabulary has %lld to %lld tokens, the bytes among them, not %lld",
                 static_cast<long long>(byteTokens), static_cast<long long>(maxTokens),
                 static_cast<long long>(tokens));
  Trainer trainer(alloc);
  MXRT_CHECK(trainer.read(text));
  for (int64_t token = byteTokens; token < tokens; ++token) {
    Merge merged;
    bool found = false;
    MXRT_CHECK(trainer.merge(int32_t(token), merged, found));
    if (!found)
      break;
    if (!merges.push(merged))
      return outOfMemory(alloc);
  }
  return success();
}

Status Bpe::set(std::span<const Merge> given) {
  if (int64_t(given.size()) > maxTokens - byteTokens)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "%zu merges, at most %lld are possible",
                 given.size(), static_cast<long long>(maxTokens - byteTokens));
  merges.clear();
  table.clear();
  if (!table.resize(std::bit_ceil(2 * given.size() + 1)) || !merges.reserve(given.size()))
    return outOfMemory(alloc);
  for (size_t i = 0; i < given.size(); ++i) {
    Merge merge = given[i];
    auto next = int32_t(byteTokens + int64_t(i));
    bool fits = merge.left >= 0 && merge.left < next && merge.right >= 0 && merge.right < next;
    if (!fits || rankOf(merge.left, merge.right) >= 0)
      return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "merge %zu, of tokens %d and %d, %s", i,
                   merge.left, merge.right, fits ? "is there twice" : "needs tokens before it");
    uint64_t pair = pairOf(merge.left, merge.right);
    size_t mask = table.size() - 1, slot = hashOf(pair) & mask;
    while (table[slot].rank >= 0)
      slot = (slot + 1) & mask;
    table[slot] = {pair, int32_t(i)};
    if (!merges.push(merge))
      return outOfMemory(alloc);
  }
  return success();
}

int32_t Bpe::rankOf(int32_t left, int32_t right) const {
  uint64_t pair = pairOf(left, right);
  size_t mask = table.size() - 1, slot = hashOf(pair) & mask;
  while (table[slot].rank >= 0 && table[slot].pair != pair)
    slot = (slot + 1) & mask;
  return table[slot].rank;
}

Status Bpe::encodePiece(std::string_view piece, Vec<int32_t> &tokens) const {
  // A linked list of symbols, and a priority queue of possible merges by rank; ties go to the
  // leftmost.
  struct Symbol {
    int32_t token;
    int64_t before, after;
  };
  struct Candidate {
    int32_t rank;
    int64_t position;
    int32_t left, right; // to detect stale entries
  };
  auto later = [](const Candidate &a, const Candidate &b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  };
  auto size = static_cast<int64_t>(piece.size());
  Vec<Symbol> symbols(alloc);
  Vec<Candidate> heap(alloc);
  if (!symbols.reserve(piece.size()))
    return outOfMemory(alloc);
  for (int64_t i = 0; i < size; ++i)
    if (!symbols.push(
            {static_cast<unsigned char>(piece[size_t(i)]), i - 1, i + 1 < size ? i + 1 : -1}))
      return outOfMemory(alloc);
  auto offer = [&](int64_t position) {
    int64_t after = position < 0 ? -1 : symbols[size_t(position)].after;
    if (after < 0)
      return true;
    int32_t left = symbols[size_t(position)].token, right = symbols[size_t(after)].token;
    int32_t rank = rankOf(left, right);
    if (rank < 0)
      return true;
    if (!heap.push({rank, position, left, right}))
      return false;
    std::push_heap(heap.begin(), heap.end(), later);
    return true;
  };
  for (int64_t i = 0; i < size; ++i)
    if (!offer(i))
      return outOfMemory(alloc);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Candidate next = heap[heap.size() - 1];
    heap.pop();
    Symbol &symbol = symbols[size_t(next.position)];
    if (symbol.token != next.left || symbol.after < 0 ||
        symbols[size_t(symbol.after)].token != next.right)
      continue;
    Symbol &right = symbols[size_t(symbol.after)];
    symbol.token = int32_t(byteTokens) + next.rank;
    symbol.after = right.after;
    right.token = -1;
    if (symbol.after >= 0)
      symbols[size_t(symbol.after)].before = next.position;
    if (!offer(symbol.before) || !offer(next.position))
      return outOfMemory(alloc);
  }
  for (const Symbol &symbol : symbols)
    if (symbol.token >= 0 && !tokens.push(symbol.token))
      return outOfMemory(alloc);
  return success();
}

Status Bpe::encode(std::string_view text, Vec<int32_t> &tokens) const {
  for (size_t at = 0; at < text.size();)
    MXRT_CHECK(encodePiece(nextPiece(text, at), tokens));
  return success();
}

Status Bpe::decode(std::span<const int32_t> tokens, Vec<char> &text) const {
  Vec<int32_t> rest(alloc); // stack of tokens to expand
  for (size_t i = 0; i < tokens.size(); ++i) {
    int32_t token = tokens[i];
    if (token < 0 || int64_t(token) >= byteTokens + int64_t(merges.size()))
      return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                   "token %d at position %zu, there are %zu of them", token, i,
                   size_t(byteTokens) + merges.size());
    if (!rest.push(token))
      return outOfMemory(alloc);
    while (!rest.empty()) {
      int32_t next = rest[rest.size() - 1];
      rest.pop();
      bool room = true;
      if (next < byteTokens) {
        if (text.size() >= maxDecoded)
          return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "the text has more than 2^31 bytes");
        room = text.push(static_cast<char>(next));
      } else {
        const Merge &merge = merges[size_t(next - byteTokens)];
        room = rest.push(merge.right) && rest.push(merge.left);
      }
      if (!room)
        return outOfMemory(alloc);
    }
  }
  return success();
}

} // namespace mxrt::io
