// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exported graphs: called by other programs, so no call in this one fixes their types.
#include "IRGen/Emitter.h"

namespace mx::irgen {
using namespace ast;

namespace {

/// Why C cannot call it, and what to write instead; empty if it can.
struct Obstacle {
  std::string what, help;
};

Obstacle obstacleOf(const FunctionInfo &f) {
  const sema::Generics &generics = f.generics;
  if (!f.isGraph())
    return {"it is not a graph", "write `export graph fn " + f.name + "(…)`"};
  if (!generics.elems.empty())
    return {"its element type is open", "write out the element type, as in `x: f32[N]`"};
  if (!generics.packs.empty())
    return {"its rank is open", "name the sizes one by one, as in `x: f32[N, D]`"};
  if (!generics.types.empty())
    return {"a type of its parameters is open", "write out the type"};
  for (const sema::ParamInfo &param : f.params)
    if (Emitter::isDropped(param))
      return {"the value of `" + param.name + "` decides what code it has",
              "export a `graph fn` without this parameter that calls `" + f.name +
                  "` with a value for it"};
    else if (param.type->is(sema::Kind::Fn))
      return {"`" + param.name + "` is a function",
              "export a `graph fn` without this parameter that calls `" + f.name + "`"};
  if (f.effects & sema::kPrint)
    return {"it prints", "give back what it prints, and leave the printing to the caller"};
  return {};
}

} // namespace

void queueExports(Shared &shared, const sema::ModuleInfo &module, std::vector<Exported> &out) {
  for (Stmt *stmt : module.syntax->items) {
    auto *func = as<Func>(stmt);
    if (!func || !func->isExport || !func->info)
      continue;
    FunctionInfo &f = *func->info;
    shared.sema.checkBody(f); // effects are known after it
    if (Obstacle found = obstacleOf(f); !found.what.empty()) {
      shared.sema.diags
          .report(Code::E1003, func->name.span,
                  "`" + f.name + "` cannot be called from C: " + found.what)
          .help(found.help);
      shared.failed = true;
      continue;
    }
    const SourceFile &file = shared.sema.sources.file(func->name.span);
    StringRef header(file.text().data() + func->name.span.begin,
                     func->headerSpan.end - func->name.span.begin);
    out.push_back({f.name, header.trim().str(), shared.instances.of(f, {}, /*asGraph=*/true).symbol,
                   func->name.span});
  }
}

} // namespace mx::irgen
