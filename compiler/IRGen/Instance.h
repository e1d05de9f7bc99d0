// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a body is generated for: a function with its generic names settled, except sizes.
#pragma once
#include "IRGen/IRGen.h"
#include <deque>
#include <map>

namespace mx::irgen {

using sema::Bindings;
using sema::FunctionInfo;
using sema::NominalInfo;
using sema::Symbol;

/// A size that the function gets from its callers: the checker's symbol and its name in the IR.
/// Sizes of a pack are symbols made for the instance.
struct SizeParam {
  AtomId atom = 0;
  std::string name;
  PackId pack = 0; ///< the pack it is entry `index` of, or 0
  size_t index = 0;
  /// It is the caller's own: a model type that the function is made for mentions it.
  bool isCallers = false;
};

/// What the IR calls a size: its name in the program as one word. (The size `len(text)` has an
/// expression for a name.)
std::string sizeName(const sema::Sema &sema, AtomId atom);

struct Instance {
  FunctionInfo *function = nullptr;
  NominalInfo *construct = nullptr; ///< builds a value of this type instead
  std::string symbol;               ///< in the module
  /// Element types, model types and static values as they are here; packs as symbols of `sizes`;
  /// static sizes that are numbers.
  Bindings bindings;
  std::vector<SizeParam> sizes;
  const sema::Type *self = nullptr; ///< of a method or constructor
  bool isGraph = false;
};

class Instances {
public:
  explicit Instances(sema::Sema &sema) : sema(sema) {}

  /// The instance of `function` for a call with `bindings` (already in terms of concrete elements
  /// and types). New ones are queued in `pending`.
  Instance &of(FunctionInfo &function, const Bindings &bindings, bool asGraph);
  /// The same function as host code.
  Instance &eagerTwin(const Instance &graph);
  Instance &ofConstructor(const sema::Type *type);
  /// What tells the instance of a call from others.
  std::string key(const sema::CallInfo &call) const;
  /// The instance's sizes at one use, from what the caller bound.
  std::vector<Dim> sizesAt(const Instance &instance, const Bindings &bindings) const;

  std::deque<Instance *> pending;

private:
  sema::Sema &sema;
  std::deque<Instance> all;
  std::map<std::string, Instance *> byKey;
  std::map<std::string, int> names;

  std::string uniqueName(const std::string &name);
  void symbolsIn(const sema::Type *type, std::vector<AtomId> &out) const;
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
