// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Target/Compile.h"
#include "Target/CompileSteps.h"
#include "llvm/IR/Module.h"
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace mx::target {

namespace {

class Pool {
public:
  Pool(const std::vector<CompileJob> &jobs, const TargetCpu &cpu)
      : jobs(jobs), cpu(cpu), results(jobs.size()), firstFailed(jobs.size()) {
    for (const CompileJob &job : jobs)
      contextLocks.try_emplace(context(job));
  }

  Result<std::vector<Compiled>> run(unsigned threads) {
    std::vector<std::thread> helpers;
    const size_t wanted = std::min<size_t>(std::max(threads, 1u), jobs.size());
    for (size_t i = 1; i < wanted; ++i) {
      // A machine that gives no more threads gets the work done with those there are.
      try {
        helpers.emplace_back([this] { work(); });
      } catch (const std::system_error &) {
        break;
      }
    }
    work();
    for (std::thread &helper : helpers)
      helper.join();

    if (firstFailed < jobs.size())
      return results[firstFailed]->fault();
    std::vector<Compiled> all;
    all.reserve(results.size());
    for (auto &result : results)
      all.push_back(result->take());
    return all;
  }

private:
  const std::vector<CompileJob> &jobs;
  const TargetCpu &cpu;
  /// Each written by the one thread that took the job, read after all are joined.
  std::vector<std::optional<Result<Compiled>>> results;
  std::map<mlir::MLIRContext *, std::mutex> contextLocks; ///< not changed while threads run
  std::atomic<size_t> next{0};
  std::atomic<size_t> firstFailed;

  static mlir::MLIRContext *context(const CompileJob &job) {
    return mlir::ModuleOp(job.module).getContext();
  }

  void work() {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      // Jobs before a failed one are still done: one of them may fail and be the first.
      if (i > firstFailed.load())
        continue;
      results[i].emplace(compile(jobs[i]));
      if (!results[i]->ok()) {
        size_t known = firstFailed.load();
        while (i < known && !firstFailed.compare_exchange_weak(known, i)) {
        }
      }
    }
  }

  Result<Compiled> compile(const CompileJob &job) {
    if (job.options.isStopped && job.options.isStopped())
      return Fault{"compiling '" + job.options.name + "': somebody stopped it"};
    std::unique_lock lock(contextLocks.find(context(job))->second);
    Result<Translated> translated = translate(job.module, job.options);
    lock.unlock();
    if (!translated)
      return translated.fault();
    return generate(translated.take(), cpu, job.options);
  }
};

} // namespace

Result<std::vector<Compiled>> compileAll(const std::vector<CompileJob> &jobs, const TargetCpu &cpu,
                                         unsigned threads) {
  return Pool(jobs, cpu).run(threads);
}

} // namespace mx::target
