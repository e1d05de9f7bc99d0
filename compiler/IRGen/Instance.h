// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instances (monomorphisation): a function with its generic names resolved, except sizes.
#pragma once
#include "IRGen/IRGen.h"
#include <deque>
#include <map>

namespace mx::irgen {

using sema::Bindings;
using sema::FunctionInfo;
using sema::NominalInfo;
using sema::Symbol;

/// A size that callers pass to the function: the checker's symbol and its name in the IR. Sizes of
/// a pack are symbols created for the instance.
struct SizeParam {
  AtomId atom = 0;
  std::string name;
  PackId pack = 0; ///< the pack it is entry `index` of, or 0
  size_t index = 0;
  /// It belongs to the caller: a model type that the function is instantiated for mentions it.
  bool isCallers = false;
};

/// The name of a size in the IR: its name in the program as one identifier. (The size `len(text)`
/// is named by an expression.)
std::string sizeName(const sema::CheckedProgram &sema, AtomId atom);

struct Instance {
  FunctionInfo *function = nullptr;
  NominalInfo *construct = nullptr; ///< if set, constructs a value of this type
  std::string symbol;               ///< in the module
  /// Concrete element types, model types and static values; packs as symbols of `sizes`; static
  /// sizes that are constants.
  Bindings bindings;
  std::vector<SizeParam> sizes;
  const sema::Type *self = nullptr; ///< of a method or constructor
  bool isGraph = false;
  /// Nesting depth of instances of this function on the path here.
  int nested = 0;
  /// The instance whose body requested this one first; null for those of the top level.
  const Instance *askedBy = nullptr;
  const Instance *kept = nullptr; ///< this one, or the original if this is a copy for a block
};

class Instances {
public:
  explicit Instances(sema::CheckedProgram &sema) : sema(sema) {}

  /// The instance of `function` for a call with `bindings` (already in terms of concrete elements
  /// and types). New ones are queued in `pending`.
  Instance &of(FunctionInfo &function, const Bindings &bindings, bool asGraph,
               const Instance *askedBy = nullptr);
  /// A function with static arguments may call itself with others. More than this many on one path,
  /// or in total, are rejected as endless.
  static constexpr int kMaxNested = 256, kMaxOfOne = 4096;
  bool isEndless(const Instance &instance) const;
  /// The same function as host code.
  Instance &eagerTwin(const Instance &graph);
  Instance &ofConstructor(const sema::Type *type);
  /// The key that distinguishes the instance of a call.
  std::string key(const sema::CallInfo &call) const;
  /// The instance's sizes at one use, from the caller's bindings.
  std::vector<Dim> sizesAt(const Instance &instance, const Bindings &bindings) const;

  /// The size names that a type mentions, each once.
  void symbolsIn(const sema::Type *type, std::vector<AtomId> &out) const;

  std::deque<Instance *> pending;

private:
  sema::CheckedProgram &sema;
  std::deque<Instance> all;
  std::map<std::string, Instance *> byKey;
  std::map<std::string, int> names{{"main", 1}}; ///< top-level statements are `main`
  std::map<const FunctionInfo *, int> nestedCounts;

  std::string uniqueName(const std::string &name);
  void settle(Instance &instance, const std::vector<AtomId> &dims, const std::vector<PackId> &packs,
              const Bindings &bindings);
  std::string keyOf(const void *what, const std::vector<AtomId> &dims,
                    const std::vector<PackId> &packs, const Bindings &bindings) const;
  void genericsOf(const NominalInfo &nominal, std::vector<AtomId> &dims,
                  std::vector<PackId> &packs) const;
  void genericsOf(const FunctionInfo &function, std::vector<AtomId> &dims,
                  std::vector<PackId> &packs) const;
};

} // namespace mx::irgen
