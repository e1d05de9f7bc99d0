// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of graphs from host code: the variant for the sizes at hand is found or compiled, then
// pushed to the engine as one op.
#pragma once
#include "Build/Callables.h"
#include "Driver/Compare.h"
#include "Driver/KernelStore.h"
#include "Run/GraphCalls.h"
#include "data/DataHost.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>

namespace mx::driver {

/// A variant that can be called.
struct LoadedVariant {
  pipeline::Variant code;
  build::Callables memory; ///< of `call`
  run::Code call = {};
  std::string name;                      ///< of the graph
  std::unique_ptr<run::CallBytes> taken; ///< null: nobody counts
  std::vector<std::pair<std::string, int64_t>> sizes;
  std::vector<KernelStore::Code> held; ///< the code behind the entry
  double compileMs = 0;
  mutable run::SpareArena spare; ///< of calls that run at once
  mutable uint64_t calls = 0; ///< by host code
};

/// A variant for the sizes of a call.
struct BoundVariant : run::BoundCode {
  const LoadedVariant *variant = nullptr;
};

/// What a user is told about a graph that was compiled.
struct VariantEvent {
  std::string graph;
  mxrt_place place;      ///< of the call
  std::string suggested; ///< a parameter's type with a `dyn` size in it, or empty
  std::string loader;    ///< the data set whose last, smaller batch is an argument; or empty
  int64_t rows = 0;      ///< of that batch
  std::vector<std::pair<std::string, int64_t>> sizes, before; ///< before: of the first variant
  size_t variants = 0;
  double ms = 0;
  std::string again; ///< what is made again to need less memory, in lines; or empty
};

class GraphHost : public run::GraphCaller {
public:
  GraphHost(const mxrt::eager::EagerOptions &options, KernelStore &kernels,
            std::function<void(const VariantEvent &)> onVariant);
  ~GraphHost() override;

  /// Graphs of this module can be called by programs that are loaded from now on.
  void addModule(mlir::ModuleOp module);

  /// Forgets the graphs of a module that no program calls any more. Their compiled forms stay for a
  /// while: the next input may call the same graphs.
  void dropModule(mlir::ModuleOp module);
  /// Visits what is compiled, in the order of names and sizes.
  void visitVariants(llvm::function_ref<void(const LoadedVariant &)> visit) const;
  /// Called once, before the next tensor op or graph is issued; empty: nobody wants to know.
  void beforeNextIssue(std::function<void()> notify) { notifyIssue = std::move(notify); }
  struct Graph;
  /// The graph of this name that was added last, or null.
  Graph *find(std::string_view name) const;
  /// The variant of a graph for these sizes; compiled if it is not there yet.
  mxrt::Status bind(Graph &graph, const std::vector<int64_t> &sizes, const mxrt_place &place,
                    std::span<mxrt::host::Value> args, const BoundVariant *&out);

  /// The program that graphs' twins are called in. With a comparison, each call runs both ways.
  void setProgram(mxrt::host::Program *loaded) { program = loaded; }
  void compareInto(Comparison *found) { comparison = found; }
  /// What calls take is counted from now on, and can be written: a line for each variant.
  void countBytes() { isCounting = true; }
  void writeBytes(std::ostream &out) const;
  /// Knows which tensors are batches; outlives this.
  void explainBatches(const mxrt::data::DataHost *known) { batches = known; }

  /// Called with the seconds of each wait of host code for a tensor; empty: nobody wants to know.
  void onWait(std::function<void(double)> notify) { notifyWait = std::move(notify); }

  mxrt::Status readScalar(const mxrt::host::Value &tensor, mxrt::host::Kind wanted,
                          mxrt::host::Value &out) override;
  mxrt::Status show(const mxrt::host::Value &foreign, std::string_view spec,
                    mxrt::host::Text &out) override;
  mxrt::Status invoke(mxrt::host::ImportKind sort, void *target,
                      mxrt::host::Invocation &call) override {
    if (notifyIssue) [[unlikely]]
      std::exchange(notifyIssue, nullptr)();
    return EagerHost::invoke(sort, target, call);
  }

protected:
  mxrt::Status resolveGraph(std::string_view name, const mxrt::host::Signature &signature,
                            void *&target) override;
  mxrt::Status invokeGraph(void *target, mxrt::host::Invocation &call) override;

private:
  struct Variants;
  mxrt::Status variantFor(Graph &graph, const std::vector<int64_t> &sizes, LoadedVariant *&out,
                          const mxrt_place &place, std::span<mxrt::host::Value> args);
  using Sizes = std::vector<std::pair<std::string, int64_t>>;
  std::string dynamicType(const Graph &graph, const Sizes &now) const;

  mxrt::Status runBothWays(Graph &graph, mxrt::host::Invocation &call);
  mxrt::Status runGraph(Graph &graph, mxrt::host::Invocation &call);

  KernelStore &kernels;
  mxrt::host::Program *program = nullptr;
  Comparison *comparison = nullptr;
  bool isCounting = false;
  const mxrt::data::DataHost *batches = nullptr;
  std::function<void(const VariantEvent &)> onVariant;
  std::map<std::string, std::unique_ptr<Graph>, std::less<>> graphs;
  std::vector<std::unique_ptr<Graph>>
      retired; ///< replaced by a later input; programs may hold them
  /// By name and identity.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Variants>> compiled;
  uint64_t clock = 0; ///< counts uses of `compiled`
  std::function<void()> notifyIssue;
  std::function<void(double)> notifyWait;
};

} // namespace mx::driver
