// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the checker knows about its programs, for later stages. The checker itself is in
// Internals.h, which only this folder includes; Checker.h is how it is started.
#pragma once
#include "Sema/Checker.h"
#include "Sema/Rules.h"

namespace mx::sema {

/// Programs whose tree has been checked: the values in the slots of the tree refer to the types and
/// sizes here. Bodies of library functions are checked when a later stage asks for them.
class CheckedProgram {
public:
  SourceManager &sources;
  Diagnostics &diags;
  DimContext dims;
  TypeContext types;
  std::deque<Symbol> symbols;
  std::map<std::string, std::unique_ptr<ModuleInfo>> modules;
  ModuleInfo *prelude = nullptr, *session = nullptr;

  // What the checker found out about parts of the tree, beyond the values in its slots.
  std::map<SessionName, uint32_t> definedBy; ///< the file of the input that defines each name
  std::map<const ast::Expr *, int64_t> givenNumbers; ///< options that are not sizes: i32, u8
  std::map<FunctionInfo *, std::vector<DimCondition>> dynBounds;
  std::map<const ast::Expr *, std::vector<bool>> leafMutability; ///< of `leaves(mut a, b)`
  std::map<const ast::Expr *, const CallInfo *> summaryCalls;    ///< net(x) of `summary(net, x)`
  std::map<const ast::For *, const Type *> loopElements;         ///< element type of an iteration
  std::map<const Symbol *, Dim> runSizes; ///< of variables, set on their first use as a size
  std::map<std::pair<Symbol *, std::string>, Dim> hostFields; ///< `kv.size` as a size
  /// Optimizers that workers or servers apply. The index is the rule's number in the program.
  std::vector<NominalInfo *> rules;
  virtual size_t ruleNumber(NominalInfo &rule) = 0;
  virtual RuleForm ruleForm(NominalInfo &rule) = 0;

  // Checks what has not been checked yet; errors are reported.
  virtual void checkBody(FunctionInfo &f) = 0;
  virtual void checkNominalBodies(NominalInfo &n) = 0;
  virtual void resolveFields(NominalInfo &n) = 0;
  virtual void resolveField(NominalInfo &n, FieldInfo &f) = 0;
  /// Checks a default in the scope of its function.
  virtual const Value *checkDefault(const ParamInfo &p, Scope *scope, ModuleInfo *module) = 0;
  virtual Bindings bindingsOf(const Type *nominal) = 0;
  /// The library's `data.Queue`.
  static bool isQueue(const Type *type);

  // Texts for messages and names.
  std::string show(const Type *t) const { return types.print(t); }
  std::string show(const Value &v) const { return types.print(v.type); }
  std::string textOf(Span span) const { return std::string(sources.text(span)); }
  std::string textOf(const ast::Expr *e) const { return textOf(e->outerSpan); }
  virtual std::string pathOf(const ast::Expr *e) const = 0;
  static std::string effectsText(uint8_t effects); ///< "file print", or "none"

protected:
  CheckedProgram(SourceManager &sources, Diagnostics &diags)
      : sources(sources), diags(diags), types(dims) {}
  ~CheckedProgram() = default;
};

} // namespace mx::sema
