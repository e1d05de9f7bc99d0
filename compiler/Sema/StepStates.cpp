// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A KVStore keeps the state of its optimizer by the name of the model at `kv.step`. If that is a
// parameter, several variables may come there under one name, and would share one state without
// notice. Here each step is followed through the calls of its function, back to the variables.
#include "Sema/StepStates.h"
#include "Sema/Internals.h"
#include <set>

namespace mx::sema {
using namespace ast;

namespace {

/// `net`, `gan.critic`, `nets[1]`: its variable, and whether it is one model in all iterations.
struct Origin {
  Symbol *root = nullptr;
  bool isSeveral = false;
  explicit Origin(const Expr *e) {
    while (e && !root) {
      if (auto *name = as<Name>(e)) {
        root = name->symbol;
        break;
      }
      if (auto *member = as<Member>(e)) {
        root = member->symbol;
        e = member->object;
      } else if (auto *index = as<Index>(e)) {
        for (const IndexArg &arg : index->args) {
          const Value *at = arg.value ? arg.value->checked : nullptr;
          isSeveral |= !at || !at->dim || !at->dim.constant();
        }
        e = index->object;
      } else {
        break;
      }
    }
    isSeveral |= root && root->isLoopVariable;
  }
};

/// What comes to a step: the names of a KVStore and of a model somewhere on the way there.
struct Arrival {
  const Expr *store, *model;
  const CallInfo *step;
};

class StepStates {
public:
  explicit StepStates(Sema &sema) : sema(sema) {}

  void check() {
    for (const CallInfo &call : sema.calls)
      if (isStep(call))
        follow({call.receiver, call.arguments[0], &call});
  }

private:
  static bool isStep(const CallInfo &call) {
    const FunctionInfo *f = call.function;
    return f && f->name == "step" && f->owner && f->owner->isHandle &&
           f->owner->name == "KVStore" && call.receiver && !call.arguments.empty() &&
           call.arguments[0];
  }

  /// The parameter of the callee that the symbol is; -1 if it is none.
  static int parameterOf(const CallInfo &call, const Symbol *symbol) {
    for (size_t p = 0; call.function && p < call.function->params.size(); ++p)
      if (symbol && call.function->params[p].symbol == symbol)
        return static_cast<int>(p);
    return -1;
  }

  void follow(const Arrival &arrival) {
    Symbol *model = Origin(arrival.model).root, *store = Origin(arrival.store).root;
    if (!model || !store || !seen.insert({arrival.model, arrival.store, arrival.step}).second)
      return;
    // A KVStore of the function itself is another one in each call.
    bool mayFollow = store->isParam || (store->isModuleLevel && model->isParam);
    bool wasFollowed = false;
    for (const CallInfo &call : sema.calls) {
      int atModel = parameterOf(call, model), atStore = parameterOf(call, store);
      if (!mayFollow || (atModel < 0 && atStore < 0))
        continue;
      auto given = [&](int p, const Expr *own) {
        return p < 0 ? own : call.arguments[static_cast<size_t>(p)];
      };
      const Expr *net = given(atModel, arrival.model), *kv = given(atStore, arrival.store);
      wasFollowed = true;
      if (net && kv && net->checked && !net->checked->type->isError())
        follow({kv, net, arrival.step});
    }
    if (!wasFollowed && !model->isParam)
      arrive(arrival, Origin(arrival.model), store);
  }

  void arrive(const Arrival &arrival, const Origin &origin, const Symbol *store) {
    const Type *type = arrival.model->checked->type->plain;
    auto key = std::tuple(store, sema.textOf(arrival.step->arguments[0]), type->nominal);
    auto [first, isNew] = found.emplace(key, arrival.model);
    std::string name = sema.textOf(arrival.model), before = sema.textOf(first->second);
    bool isOther = Origin(first->second).root != origin.root || name != before;
    if (origin.isSeveral ? !isNew && !isOther : !isOther)
      return;
    std::string what = origin.isSeveral
                           ? "the models that `" + name + "` stands for"
                           : "`" + before + "` and `" + name + "`";
    if (!reported.insert(arrival.model).second)
      return;
    Diagnostic &d = sema.diags.report(Code::E0701, arrival.model->span,
                                      what + " would share one state of the optimizer");
    if (!origin.isSeveral)
      d.label(first->second->span, "`" + before + "` is given here");
    const Expr *at = arrival.step->arguments[0];
    d.note("a KVStore keeps the state by the name at its `step`, which is `" + sema.textOf(at) +
           "` at " + sema.sources.location(at->span));
    d.help("connect a KVStore for each model, or write a `step` for each");
  }

  Sema &sema;
  std::set<std::tuple<const Expr *, const Expr *, const CallInfo *>> seen;
  std::map<std::tuple<const Symbol *, std::string, const NominalInfo *>, const Expr *> found;
  std::set<const Expr *> reported;
};

} // namespace

void checkStepStates(Sema &sema) { StepStates(sema).check(); }

} // namespace mx::sema
