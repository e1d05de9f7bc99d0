// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of graphs from host code: finds the variant for the given sizes or compiles it just in
// time, then pushes the call to the engine as one op.
#pragma once
#include "Build/Callables.h"
#include "Driver/Compare.h"
#include "Driver/KernelStore.h"
#include "Run/GraphCalls.h"
#include "data/DataHost.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>

namespace mx::driver {

/// A loaded, callable variant.
struct LoadedVariant {
  pipeline::Variant code;
  build::Callables memory; ///< of `call`
  run::Code call = {};
  std::string name;                      ///< of the graph
  std::unique_ptr<run::CallBytes> taken; ///< null: not counted
  std::vector<std::pair<std::string, int64_t>> sizes;
  std::vector<KernelStore::Code> held; ///< the code behind the entry
  double compileMs = 0;
  mutable run::SpareArena spare; ///< of synchronous calls
  mutable uint64_t calls = 0; ///< from host code
};

/// A variant bound to the sizes of a call.
struct BoundVariant : run::BoundCode {
  const LoadedVariant *variant = nullptr;
};

/// A compiled graph, as reported to the user.
struct VariantEvent {
  std::string graph;
  mxrt_location location;      ///< location of the call
  std::string suggested; ///< a parameter's type with a `dyn` size in it, or empty
  std::string loader;    ///< the data set whose last, smaller batch is an argument; or empty
  int64_t rows = 0;      ///< of that batch
  std::vector<std::pair<std::string, int64_t>> sizes, before; ///< before: of the first variant
  size_t variants = 0;
  double ms = 0;
  std::string recomputed; ///< rematerialised values, in lines; or empty
};

class GraphHost : public run::GraphCaller {
public:
  GraphHost(const mxrt::eager::EagerOptions &options, KernelStore &kernels,
            std::function<void(const VariantEvent &)> onVariant);
  ~GraphHost() override;

  /// Graphs of this module can be called by programs loaded from now on.
  void addModule(mlir::ModuleOp module);

  /// Drops the graphs of a module that no program calls any more. Their compiled variants stay
  /// cached for a while: the next input may call the same graphs.
  void dropModule(mlir::ModuleOp module);
  /// Visits compiled variants, in the order of names and sizes.
  void visitVariants(llvm::function_ref<void(const LoadedVariant &)> visit) const;
  /// Called once, before the next tensor op or graph is issued; empty: no notification.
  void beforeNextIssue(std::function<void()> notify) { notifyIssue = std::move(notify); }
  struct Graph;
  /// The graph of this name that was added last, or null.
  Graph *find(std::string_view name) const;
  /// The variant of a graph for these sizes; compiled on first use.
  mxrt::Status bind(Graph &graph, const std::vector<int64_t> &sizes, const mxrt_location &location,
                    std::span<mxrt::host::Value> args, const BoundVariant *&out);

  /// The program that holds the graphs' eager twins. With a comparison, each call runs both ways.
  void setProgram(mxrt::host::Program *loaded) { program = loaded; }
  void compareInto(Comparison *found) { comparison = found; }
  /// Counts the memory use of calls from now on; writeBytes() writes a line for each variant.
  void countBytes() { isCounting = true; }
  void writeBytes(std::ostream &out) const;
  /// Knows which tensors are batches; must outlive this object.
  void explainBatches(const mxrt::data::DataHost *known) { batches = known; }

  /// Called with the seconds of each wait of host code for a tensor; empty: no notification.
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
                          const mxrt_location &location, std::span<mxrt::host::Value> args);
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
      retired; ///< replaced by a later input; programs may still hold them
  /// By name and identity.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Variants>> compiled;
  uint64_t clock = 0; ///< counts uses of `compiled`
  std::function<void()> notifyIssue;
  std::function<void(double)> notifyWait;
};

} // namespace mx::driver
