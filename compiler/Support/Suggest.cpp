// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spelling suggestions by edit distance.
#include "Support/Suggest.h"
#include <algorithm>
#include <cctype>

namespace mx {

int editDistance(std::string_view a, std::string_view b) {
  // Words in programs are short. A longer one is never a typo of a shorter one.
  constexpr size_t kMaxWord = 64;
  if (a.size() > kMaxWord || b.size() > kMaxWord)
    return static_cast<int>(kMaxWord);
  int rows[3][kMaxWord + 1];
  int *before = rows[0], *previous = rows[1], *current = rows[2];
  for (size_t j = 0; j <= b.size(); ++j)
    previous[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      int cost = a[i - 1] == b[j - 1] ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

bool looksLike(std::string_view typed, std::string_view known) {
  if (typed.empty() || known.empty() || typed == known)
    return false;
  if (typed.size() == known.size() &&
      std::equal(typed.begin(), typed.end(), known.begin(), [](unsigned char a, unsigned char b) {
        return std::tolower(a) == std::tolower(b);
      }))
    return true;
  int allowed = std::max(typed.size(), known.size()) <= 3   ? 1
                : std::max(typed.size(), known.size()) <= 7 ? 2
                                                            : 3;
  // Words of one or two letters are always similar, so that is not significant.
  if (std::max(typed.size(), known.size()) <= 2 && typed[0] != known[0])
    return false;
  if (typed.size() == 1 && known.size() == 1)
    return false;
  return editDistance(typed, known) <= std::min<int>(allowed, static_cast<int>(known.size()) - 1);
}

std::string nearest(std::string_view typed, const std::vector<std::string> &known) {
  const std::string *best = nullptr;
  int bestDistance = 1 << 20;
  for (const std::string &word : known) {
    if (!looksLike(typed, word))
      continue;
    int distance = editDistance(typed, word);
    if (distance < bestDistance) {
      best = &word;
      bestDistance = distance;
    }
  }
  return best ? *best : std::string();
}

} // namespace mx
