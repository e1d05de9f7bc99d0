// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rematerialisation under a memory budget, in the style of dynamic tensor rematerialisation (DTR)
// but offline. Simulates the schedule. When the budget is exceeded, it evicts the value with the
// smallest recomputation cost per byte and per unit of time freed. A task with a missing input
// first recomputes that input, recursively. The cost of a value includes everything that must be
// recomputed with it: connected missing values form union-find sets with a cost sum. Sets merge as
// values leave and shrink as members return, so each lookup is cheap.
//
// The next use of a value is known, because the order of tasks is. A value that no task needs any
// more may still be an input of missing values (`wanted`); it is evicted once those are back.
#include "Memory/Dropping.h"
#include <algorithm>

namespace mx::memory {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

class Thought {
public:
  Thought(const Schedulable &problem, int64_t budget)
      : p(problem), budget(budget), values(problem.bytes.size()), runnable(problem.tasks.size()) {
    for (uint32_t t = 0; t < p.tasks.size(); ++t) {
      runnable[t] = p.tasks[t].canRepeat;
      for (uint32_t v : p.tasks[t].reads) {
        values[v].uses.push_back(t);
        values[v].lastTouch = t;
      }
      for (uint32_t v : p.tasks[t].writes) {
        values[v].maker = values[v].maker == kNone ? t : kMany;
        values[v].lastTouch = t;
      }
    }
    for (uint32_t v = 0; v < values.size(); ++v) {
      Value &value = values[v];
      value.isFixed = p.isHeld[v] || value.maker == kNone || value.maker == kMany ||
                      (!value.uses.empty() && value.uses.front() < value.maker) ||
                      !p.tasks[value.maker].canRepeat;
    }
    // Guarantees termination: a schedule with that many runs is not worth having.
    runsLeft = 12 * static_cast<int64_t>(p.tasks.size()) + 1000;
    for (const Task &task : p.tasks)
      maxCost += kMaxRecomputations * task.cost;
    looksLeft = 400'000'000;
  }

  std::optional<Rerun> run() {
    for (uint32_t v = 0; v < values.size(); ++v)
      if (p.isHeld[v])
        enter(v);
    for (now = 0; now < p.tasks.size(); ++now)
      if (!make(now))
        return std::nullopt;
    return std::move(out);
  }

private:
  static constexpr uint32_t kMany = UINT32_MAX - 1;
  struct Value {
    std::vector<uint32_t> uses; ///< tasks that read it, in order
    size_t nextUse = 0;
    uint32_t maker = kNone, lastTouch = 0;
    uint32_t set = 0;    ///< the set of missing values, if it is missing
    uint32_t wanted = 0; ///< needed missing values that are computed from it
    uint32_t locks = 0;
    uint32_t at = kNone;  ///< its position in `there`
    bool isFixed = false; ///< cannot be recomputed
    bool isThere = false, wasMade = false, isLost = false;
  };

  const Schedulable &p;
  const int64_t budget;
  std::vector<Value> values;
  std::vector<bool> runnable;    ///< all inputs are in memory or can be recomputed
  std::vector<uint32_t> parents; ///< union-find parents of sets
  std::vector<double> setCost;   ///< cost sums of the root sets
  std::vector<uint32_t> there;   ///< candidates for eviction
  uint32_t now = 0;
  int64_t inUse = 0, runsLeft = 0, looksLeft = 0;
  double maxCost = 0;
  Rerun out;

  bool isUsedLater(const Value &value) const { return value.nextUse < value.uses.size(); }
  bool isNeeded(uint32_t v) const { return isUsedLater(values[v]) || values[v].wanted > 0; }

  // ------------------------------------------------------------------------ sets of missing values

  uint32_t setOf(uint32_t v) {
    uint32_t root = values[v].set;
    while (parents[root] != root)
      root = parents[root] = parents[parents[root]];
    return root;
  }
  /// Missing values that are recomputed together with `v`: its inputs and the values computed from
  /// it.
  template <class Seen> void forNeighbours(uint32_t v, Seen seen) {
    if (values[v].maker < kMany)
      for (uint32_t r : p.tasks[values[v].maker].reads)
        if (!values[r].isThere && values[r].wasMade && !values[r].isFixed && !values[r].isLost)
          seen(r);
    for (uint32_t t : values[v].uses)
      for (uint32_t w : p.tasks[t].writes)
        if (!values[w].isThere && values[w].wasMade && !values[w].isFixed && isNeeded(w))
          seen(w);
  }
  double costOf(uint32_t v) const {
    return values[v].maker < kMany ? p.tasks[values[v].maker].cost : 0;
  }

  // ---------------------------------------------------------------------------- eviction

  void enter(uint32_t v) {
    Value &value = values[v];
    if (value.isThere)
      return;
    bool wasWanted = value.wasMade && isNeeded(v);
    value.isThere = true;
    inUse += p.bytes[v];
    if (!value.isFixed) {
      value.at = static_cast<uint32_t>(there.size());
      there.push_back(v);
      if (value.wasMade) {
        // It leaves its set. The set is not split, which is a close enough estimate.
        uint32_t set = setOf(v);
        setCost[set] = std::max(0.0, setCost[set] - costOf(v));
      }
    }
    if (wasWanted && !value.isFixed)
      unwant(v);
    value.wasMade = true;
  }

  void leave(uint32_t v) {
    Value &value = values[v];
    value.isThere = false;
    inUse -= p.bytes[v];
    if (value.isFixed) {
      lose(v);
      return;
    }
    there[value.at] = there.back();
    values[there.back()].at = value.at;
    there.pop_back();
    value.at = kNone;
    if (!runnable[value.maker]) {
      lose(v);
      return;
    }
    auto root = static_cast<uint32_t>(parents.size());
    value.set = root;
    parents.push_back(root);
    setCost.push_back(costOf(v));
    forNeighbours(v, [&](uint32_t other) {
      uint32_t theirs = setOf(other);
      if (theirs == root)
        return;
      setCost[root] += setCost[theirs];
      parents[theirs] = root;
    });
    if (isNeeded(v))
      want(v);
  }

  /// `v` is missing and needed: marks its inputs, transitively, as wanted.
  void want(uint32_t v) {
    std::vector<uint32_t> work{v};
    while (!work.empty()) {
      uint32_t next = work.back();
      work.pop_back();
      for (uint32_t r : p.tasks[values[next].maker].reads) {
        bool was = isNeeded(r);
        ++values[r].wanted;
        if (!was && !values[r].isThere && !values[r].isFixed)
          work.push_back(r);
      }
    }
  }
  void unwant(uint32_t v) {
    std::vector<uint32_t> work{v};
    while (!work.empty()) {
      uint32_t next = work.back();
      work.pop_back();
      for (uint32_t r : p.tasks[values[next].maker].reads) {
        --values[r].wanted;
        if (isNeeded(r))
          continue;
        if (values[r].isThere) {
          if (values[r].locks == 0 && !p.isHeld[r])
            leave(r);
        } else if (!values[r].isFixed && !values[r].isLost) {
          work.push_back(r);
        }
      }
    }
  }

  /// A value computed from a lost value cannot be recomputed.
  void lose(uint32_t v) {
    std::vector<uint32_t> work{v};
    while (!work.empty()) {
      uint32_t next = work.back();
      work.pop_back();
      values[next].isLost = true;
      for (uint32_t t : values[next].uses) {
        if (!runnable[t])
          continue;
        runnable[t] = false;
        for (uint32_t w : p.tasks[t].writes)
          if (!values[w].isThere && values[w].wasMade && !values[w].isLost)
            work.push_back(w);
      }
    }
  }

  // -------------------------------------------------------------------------- choice of the victim

  /// Next use, as the number of a task.
  uint32_t neededAt(uint32_t v) const {
    const Value &value = values[v];
    uint32_t at = value.nextUse < value.uses.size() ? value.uses[value.nextUse] : kNone;
    if (value.wanted == 0 || at != kNone)
      return at;
    for (uint32_t t : value.uses)
      for (uint32_t w : p.tasks[t].writes)
        if (const Value &made = values[w]; !made.isThere && made.nextUse < made.uses.size())
          at = std::min(at, made.uses[made.nextUse]);
    return at == kNone ? static_cast<uint32_t>(p.tasks.size()) : at;
  }

  bool dropOne() {
    uint32_t best = kNone;
    double bestScore = 0;
    looksLeft -= static_cast<int64_t>(there.size());
    for (uint32_t v : there) {
      const Value &value = values[v];
      if (value.locks > 0 || p.bytes[v] == 0 || !runnable[value.maker])
        continue;
      double cost = costOf(v);
      uint32_t seen[8];
      size_t count = 0;
      forNeighbours(v, [&](uint32_t other) {
        uint32_t set = setOf(other);
        if (count == 8 || std::find(seen, seen + count, set) != seen + count)
          return;
        seen[count++] = set;
        cost += setCost[set];
      });
      double distance = double(neededAt(v)) - double(now) + 1;
      double score = (cost + 1) / (double(p.bytes[v]) * std::max(distance, 1.0));
      if (best == kNone || score < bestScore || (score == bestScore && v < best)) {
        best = v;
        bestScore = score;
      }
    }
    if (best == kNone || looksLeft < 0)
      return false;
    leave(best);
    return true;
  }

  // ---------------------------------------------------------------------------- simulation

  void lock(uint32_t t, int by) {
    for (uint32_t v : p.tasks[t].reads)
      values[v].locks += static_cast<uint32_t>(by);
  }

  /// Runs the task after recomputing its missing inputs.
  bool make(uint32_t task) {
    std::vector<uint32_t> stack{task};
    lock(task, 1);
    while (!stack.empty()) {
      uint32_t t = stack.back();
      uint32_t missing = kNone;
      for (uint32_t v : p.tasks[t].reads)
        if (!values[v].isThere && values[v].wasMade) {
          missing = v;
          break;
        }
      if (missing != kNone) {
        if (values[missing].isFixed || values[missing].isLost || !runnable[values[missing].maker])
          return false;
        stack.push_back(values[missing].maker);
        lock(stack.back(), 1);
        continue;
      }
      bool isRecomputed = t != task;
      if (!perform(t, isRecomputed))
        return false;
      stack.pop_back();
    }
    return true;
  }

  bool perform(uint32_t t, bool isRecomputed) {
    const Task &task = p.tasks[t];
    if (--runsLeft < 0)
      return false;
    if (!isRecomputed)
      for (uint32_t v : task.reads)
        if (values[v].nextUse < values[v].uses.size() && values[v].uses[values[v].nextUse] == t)
          ++values[v].nextUse;
    // A fixed value that is read before any task here has written it.
    for (uint32_t v : task.reads)
      if (!values[v].isThere)
        enter(v);
    int64_t needed = task.extra;
    for (uint32_t v : task.writes)
      needed += values[v].isThere ? 0 : p.bytes[v];
    // Inputs whose lifetime ends here may be overwritten.
    int64_t saved = 0;
    std::vector<uint32_t> taken;
    for (auto [written, read] : task.over) {
      const Value &from = values[read];
      bool ends = !isUsedLater(from) && from.wanted == 0 && from.locks <= 1 && !p.isHeld[read] &&
                  !values[written].isThere && p.bytes[read] == p.bytes[written];
      if (ends && std::find(taken.begin(), taken.end(), read) == taken.end() &&
          std::find(taken.begin(), taken.end(), written) == taken.end()) {
        taken.push_back(read);
        taken.push_back(written);
        saved += p.bytes[read];
      }
    }
    for (uint32_t v : task.writes)
      ++values[v].locks;
    while (inUse + needed - saved > budget)
      if (!dropOne())
        return false;
    out.peak = std::max(out.peak, inUse + needed - saved);
    out.order.push_back(t);
    if (isRecomputed && (out.cost += task.cost) > maxCost)
      return false;
    for (uint32_t v : task.writes)
      enter(v);
    for (uint32_t v : task.writes)
      --values[v].locks;
    lock(t, -1);
    for (uint32_t v : task.writes)
      release(v);
    for (uint32_t v : task.reads)
      release(v);
    return true;
  }

  void release(uint32_t v) {
    const Value &value = values[v];
    bool ends = !value.isFixed || (value.lastTouch != kNone && value.lastTouch <= now);
    if (value.isThere && ends && value.locks == 0 && !p.isHeld[v] && !isNeeded(v))
      leave(v);
  }
};

} // namespace

std::optional<Rerun> dropToFit(const Schedulable &problem, int64_t budget) {
  return Thought(problem, budget).run();
}

int64_t peakOf(const Schedulable &problem) {
  auto all = dropToFit(problem, INT64_MAX / 2);
  return all ? all->peak : 0;
}

} // namespace mx::memory
