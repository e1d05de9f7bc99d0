// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Explorer.h"

#include <algorithm>
#include <utility>

namespace mxrt::test {

/// An execution that takes more steps than this goes round in circles.
constexpr uint64_t stepLimit = 20000;
constexpr size_t arenaBytes = size_t{1} << 20;

Explorer &Explorer::current() {
  static Explorer explorer;
  return explorer;
}

Explorer::Explorer() : arena(arenaBytes) {
  alloc = {};
  alloc.user = this;
  alloc.allocate = allocateHook;
  alloc.release = releaseHook;
}

// -- memory ------------------------------------------------------------------

void *Explorer::allocateHook(void *user, size_t bytes, size_t align) {
  auto *self = static_cast<Explorer *>(user);
  auto base = reinterpret_cast<uintptr_t>(self->arena.data());
  uintptr_t at = (base + self->arenaUsed + align - 1) & ~(align - 1);
  if (at + bytes > base + self->arena.size())
    return nullptr;
  self->arenaUsed = at + bytes - base;
  ++self->live;
  return reinterpret_cast<void *>(at);
}

void Explorer::releaseHook(void *user, void *, size_t, size_t) {
  --static_cast<Explorer *>(user)->live;
}

// -- threads -----------------------------------------------------------------

void Explorer::taskMain(void *argument) {
  auto *task = static_cast<Task *>(argument);
  task->entry(task->argument);
  Explorer &explorer = current();
  task->state = Task::State::Done;
  explorer.unblock(Task::State::OnJoin, task, UINT32_MAX);
  task->fiber.suspend();
}

Task *Explorer::spawn(void (*entry)(void *), void *argument) {
  if (used == tasks.size())
    tasks.push_back(std::make_unique<Task>());
  Task *task = tasks[used++].get();
  task->entry = entry;
  task->argument = argument;
  task->state = Task::State::Ready;
  task->running = nullptr;
  task->priority = static_cast<uint32_t>(random() >> 40) + 1000;
  task->fiber.start(taskMain, task);
  return task;
}

void Explorer::join(Task *task) {
  step();
  while (task->state != Task::State::Done)
    block(Task::State::OnJoin, task);
}

void Explorer::block(Task::State state, const void *object) {
  Task *task = running;
  task->state = state;
  task->object = object;
  waitOrder.push_back(task);
  task->fiber.suspend();
}

void Explorer::unblock(Task::State state, const void *object, uint32_t count) {
  for (size_t i = 0; i < waitOrder.size() && count > 0;) {
    Task *task = waitOrder[i];
    if (task->state != state || task->object != object) {
      ++i;
      continue;
    }
    task->state = Task::State::Ready;
    waitOrder.erase(waitOrder.begin() + static_cast<ptrdiff_t>(i));
    --count;
  }
}

void Explorer::step() {
  // A step of the one who explores, outside any execution, is none.
  if (!running)
    return;
  if (failure.empty()) {
    chosen = choose();
    if (chosen == running && steps < stepLimit) {
      ++steps;
      chosen = nullptr;
      return; // goes on without a switch
    }
  }
  running->fiber.suspend();
}

void Explorer::fail(const std::string &why) {
  if (failure.empty())
    failure = why;
}

// -- choosing ----------------------------------------------------------------

size_t Explorer::chooseExhaustive(const std::vector<Task *> &ready,
                                  size_t mine) {
  // Option 0 is to go on with the same thread, if it can; any other costs a
  // preemption then. A thread that cannot go on is replaced for free.
  bool canGoOn = mine < ready.size();
  size_t options = canGoOn && preemptionsLeft == 0 ? 1 : ready.size();
  if (options == 1)
    return canGoOn ? mine : 0;
  if (depth == choices.size())
    choices.push_back({0, static_cast<uint16_t>(options), canGoOn});
  size_t taken = choices[depth++].taken;
  if (!canGoOn)
    return taken;
  if (taken == 0)
    return mine;
  --preemptionsLeft;
  return taken <= mine ? taken - 1 : taken;
}

Task *Explorer::choose() {
  static std::vector<Task *> ready;
  ready.clear();
  size_t mine = SIZE_MAX;
  for (size_t i = 0; i < used; ++i) {
    if (tasks[i]->state != Task::State::Ready)
      continue;
    if (tasks[i].get() == running)
      mine = ready.size();
    ready.push_back(tasks[i].get());
  }
  if (ready.empty())
    return nullptr;
  if (strategy.kind == Strategy::Kind::Exhaustive)
    return ready[chooseExhaustive(ready, mine)];
  // PCT: always the highest priority, which at a few random steps falls below
  // all others.
  for (size_t i = 0; i < changePoints.size(); ++i)
    if (changePoints[i] == steps && running)
      running->priority = static_cast<uint32_t>(i);
  return *std::max_element(
      ready.begin(), ready.end(),
      [](Task *a, Task *b) { return a->priority < b->priority; });
}

/// The next schedule in depth-first order; false if all were run.
bool Explorer::nextSchedule() {
  while (!choices.empty()) {
    Choice &last = choices.back();
    if (++last.taken < last.options)
      return true;
    choices.pop_back();
  }
  return false;
}

// -- executions --------------------------------------------------------------

void Explorer::runOnce(const std::function<void()> &body) {
  used = 0;
  waitOrder.clear();
  depth = 0;
  steps = 0;
  preemptionsLeft = strategy.preemptions;
  arenaUsed = 0;
  live = 0;
  program = &body;
  running = chosen = nullptr;
  spawn([](void *self) { (*static_cast<Explorer *>(self)->program)(); }, this);
  while (failure.empty()) {
    Task *next = std::exchange(chosen, nullptr);
    if (!next)
      next = choose();
    if (!next) {
      for (size_t i = 0; i < used; ++i)
        if (tasks[i]->state != Task::State::Done)
          fail("deadlock: nobody can go on");
      break;
    }
    if (++steps > stepLimit) {
      fail("no end after " + std::to_string(stepLimit) + " steps");
      break;
    }
    running = next;
    next->fiber.resume();
  }
  running = nullptr;
  if (failure.empty() && live != 0)
    fail(std::to_string(live) + " allocations leaked");
}

Report Explorer::explore(const Strategy &wanted,
                         const std::function<void()> &body) {
  strategy = wanted;
  choices.clear();
  failure.clear();
  longest = 64;
  Report report;
  for (uint64_t seed = strategy.seed;; ++seed) {
    random.seed(seed);
    changePoints.clear();
    if (strategy.kind == Strategy::Kind::Pct)
      for (int i = 0; i < strategy.changes; ++i)
        changePoints.push_back(random() % longest);
    runOnce(body);
    ++report.schedules;
    report.steps += steps;
    longest = std::max(longest, steps);
    if (!failure.empty()) {
      report.failure = failure + " (schedule " +
                       std::to_string(report.schedules) + ")";
      break;
    }
    if (strategy.kind == Strategy::Kind::Exhaustive && !nextSchedule()) {
      report.complete = true;
      break;
    }
    if (report.schedules >= strategy.limit)
      break;
  }
  failure.clear();
  return report;
}

} // namespace mxrt::test
