// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thread pool that compiles modules, largest first.
#include "Target/CompileQueue.h"
#include "Target/CompileSteps.h"
#include "llvm/IR/Module.h"
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace mx::target {

struct CompileQueue::State {
  struct Job {
    size_t index = 0; ///< of its result
    unsigned size = 0;
    Translated translated;
    CompileOptions options;
  };

  const TargetCpu cpu;
  const unsigned threads;
  std::vector<std::thread> helpers;

  /// Guards the members below.
  std::mutex lock;
  std::condition_variable changed;
  std::vector<Job> waiting;
  std::vector<std::optional<Result<Compiled>>> results;
  size_t firstFailed = SIZE_MAX;
  bool isClosed = false;

  State(const TargetCpu &cpu, unsigned threads) : cpu(cpu), threads(std::max(threads, 1u)) {}

  /// The largest waiting job: the last one to begin should not be the longest.
  Job take() {
    auto largest = std::max_element(waiting.begin(), waiting.end(), [](const Job &a, const Job &b) {
      return a.size < b.size;
    });
    Job job = std::move(*largest);
    waiting.erase(largest);
    return job;
  }

  void keep(size_t index, Result<Compiled> result) {
    if (!result)
      firstFailed = std::min(firstFailed, index);
    results[index].emplace(std::move(result));
  }

  using Writer = Result<std::unique_ptr<CodeWriter>>;

  /// Runs until no job waits and none will be added. The target machine is created once for each
  /// thread that has work.
  void work() {
    std::optional<Writer> writer;
    std::unique_lock guard(lock);
    for (;;) {
      changed.wait(guard, [&] { return isClosed || !waiting.empty(); });
      if (waiting.empty())
        return;
      Job job = take();
      // Jobs before a failed one still run: one of them may fail and be the first.
      if (job.index > firstFailed)
        continue;
      guard.unlock();
      if (!writer)
        writer.emplace(CodeWriter::make(cpu));
      Result<Compiled> made = compile(job, *writer, cpu);
      guard.lock();
      keep(job.index, std::move(made));
    }
  }

  static Result<Compiled> compile(Job &job, Writer &writer, const TargetCpu &cpu) {
    if (job.options.isStopped && job.options.isStopped())
      return Fault{"compiling '" + job.options.name + "': somebody stopped it"};
    if (!writer)
      return writer.fault();
    return generate(std::move(job.translated), *writer.value(), cpu, job.options);
  }

  void close() {
    {
      std::lock_guard guard(lock);
      isClosed = true;
    }
    changed.notify_all();
  }
};

CompileQueue::CompileQueue(const TargetCpu &cpu, unsigned threads)
    : state(std::make_unique<State>(cpu, threads)) {}

CompileQueue::~CompileQueue() {
  {
    std::lock_guard guard(state->lock);
    state->waiting.clear();
  }
  state->close();
  for (std::thread &helper : state->helpers)
    helper.join();
}

void CompileQueue::add(mlir::ModuleOp module, const CompileOptions &options) {
  Result<Translated> translated = translate(module, options);
  {
    std::lock_guard guard(state->lock);
    size_t index = state->results.size();
    state->results.emplace_back();
    if (!translated) {
      state->keep(index, translated.fault());
      return;
    }
    State::Job job;
    job.index = index;
    job.translated = translated.take();
    job.size = job.translated.module->getInstructionCount();
    job.options = options;
    state->waiting.push_back(std::move(job));
  }
  state->changed.notify_one();
  // The calling thread is one of them, from finish() on.
  if (state->helpers.size() + 1 < state->threads)
    // If no more threads can be created, the existing ones do the work.
    try {
      state->helpers.emplace_back([state = state.get()] { state->work(); });
    } catch (const std::system_error &) {
    }
}

Result<std::vector<Compiled>> CompileQueue::finish() {
  state->close();
  if (!state->results.empty())
    state->work();
  for (std::thread &helper : state->helpers)
    helper.join();
  state->helpers.clear();
  if (state->firstFailed < state->results.size())
    return state->results[state->firstFailed]->fault();
  std::vector<Compiled> all;
  all.reserve(state->results.size());
  for (auto &result : state->results)
    all.push_back(result->take());
  return all;
}

} // namespace mx::target
