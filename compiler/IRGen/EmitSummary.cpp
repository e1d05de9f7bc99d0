// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// summary(net, x): passes the rows of the table to the runtime function that prints it, in the
// order of the fields. The call of the model is in a branch that never runs; the pass Summarize
// derives output shapes and costs from it.
#include "IRGen/Emitter.h"
#include "dialects/mx/Marks.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

/// A row is a path, whether it is trained, and a tensor; for a model, the text of its type instead.
void Emitter::summaryRows(const Type *type, mlir::Value value, const std::string &path,
                          bool isTrained, SmallVectorImpl<mlir::Value> &rows) {
  auto row = [&](mlir::Value what) { rows.append({text(path), constantBool(isTrained), what}); };
  auto inside = [&](const std::string &step) { return path.empty() ? step : path + "." + step; };
  if (type->is(Kind::Array)) {
    auto array = dyn_cast<ir::ArrayType>(value.getType());
    auto count = number(type->count);
    if (!array || !count)
      return;
    for (int64_t i = 0; i < *count; ++i)
      summaryRows(concrete(type->element),
                  create<ir::AtOp>(array.getElement(), value, constantInt(i)),
                  inside(std::to_string(i)), isTrained, rows);
    return;
  }
  if (type->is(Kind::Nominal) && type->nominal->isModel) {
    row(text(sema.types.print(type)));
    sema.resolveFields(*type->nominal);
    Bindings bindings = sema.bindingsOf(type);
    for (sema::FieldInfo &field : type->nominal->fields) {
      sema.resolveField(*type->nominal, field);
      if (field.kind == FieldKind::Param || field.kind == FieldKind::State ||
          field.kind == FieldKind::Sub)
        summaryRows(
            concrete(sema.types.substitute(field.type, bindings)),
            part(value, static_cast<int64_t>(fieldIndex(*type->nominal, StringRef(field.name)))),
            inside(field.name), field.kind != FieldKind::State, rows);
    }
    return;
  }
  if (type->isTensor())
    row(toDevice(value));
}

void Emitter::emitSummary(const PrimitiveCall &call) {
  const Expr *model = call.given[0]->value;
  if (inGraph) {
    unsupported(call.whole->span, "`summary` in a graph");
    return;
  }
  mlir::Value net = emit(model);
  if (!net)
    return;
  SmallVector<mlir::Value> rows;
  summaryRows(concrete(model->checked->type), net, "", true, rows);
  auto found = sema.summaryCalls.find(call.whole);
  bool isCalled = found != sema.summaryCalls.end() && found->second;
  if (isCalled) {
    // The inputs are computed once; the sizes that they define are bound outside of the branch.
    for (const Argument *input : call.given.drop_front())
      if (!emit(input->value))
        return;
    Variables none;
    conditional(
        constantBool(false), none, {},
        [&] { return callFunction(call.whole, model, *found->second); },
        [] { return mlir::Value(); });
    if (shared.failed)
      return;
    builder.getInsertionBlock()->back().setAttr(ir::kSummary, builder.getUnitAttr());
    at(call.whole->span);
  }
  SmallVector<mlir::Value> operands{constantBool(isCalled),
                                    constantInt(static_cast<int64_t>(rows.size() / 3))};
  operands.append(rows);
  native("mx.summary", {}, operands);
}

} // namespace mx::irgen
