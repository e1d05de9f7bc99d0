// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The eager executor: resolution and dispatch of tensor operations, and synchronous reads of
// tensors.

#include "eager/Executor.h"
#include "eager/Issue.h"
#include "host/Text.h"

#include <algorithm>
#include <cstring>

namespace mxrt::eager {

using host::ImportKind;
using host::Kind;
using host::Value;

EagerHost::EagerHost(const EagerOptions &options)
    : owner(options.runtime), source(options.kernels), printer(options.print),
      printContext(options.printContext), checkNan(options.checkNan),
      checkMemory(options.checkMemory), kernels(mxrt_runtime_allocator(options.runtime)),
      operations(mxrt_runtime_allocator(options.runtime)) {}

EagerHost::~EagerHost() {
  mxrt_engine *engine = nullptr;
  if (issued && Status(mxrt_runtime_engine(owner, nullptr, &engine)).ok())
    mxrt_status_release(mxrt_engine_wait_all(engine, noLocation));
  for (Operation *operation : operations) {
    releaseBytes(operations.allocator(), operation->text, operation->textSize, 1);
    deleteObject(operations.allocator(), operation);
  }
}

Status EagerHost::print(std::string_view text) {
  if (printer)
    return printer(printContext, text);
  return error(operations.allocator(), MXRT_UNSUPPORTED, noLocation, "this host has no output");
}

//===-- Operations ----------------------------------------------------------===//

Status EagerHost::resolve(ImportKind sort, std::string_view name, const host::Signature &signature,
                          void *&target) {
  if (sort == ImportKind::Graph)
    return resolveGraph(name, signature, target);
  const mxrt_allocator *alloc = operations.allocator();
  bool firstIsMut = !signature.params.empty() && signature.params[0].isMut;
  for (Operation *known : operations)
    if (std::string_view(known->text, known->textSize) == name &&
        known->resultKind == signature.result && known->firstIsMut == firstIsMut) {
      target = known;
      return success();
    }

  Box<Operation> operation = MXRT_TRY(makeBox<Operation>(alloc, alloc));
  MXRT_CHECK(parseOpName(alloc, name, *operation));
  operation->resultKind = signature.result;
  operation->firstIsMut = firstIsMut;
  if (!host::fits(Kind::Tensor, signature.result) && signature.result != Kind::Unit)
    return error(
        alloc, MXRT_HOST_BYTECODE, noLocation, "tensor operation '%.*s' gives a tensor, not %s",
        int(std::min<size_t>(name.size(), 200)), name.data(), host::kindName(signature.result));
  auto *text = static_cast<char *>(allocateBytes(alloc, name.size(), 1));
  if (!text || !operations.push(operation.get())) {
    releaseBytes(alloc, text, name.size(), 1);
    return outOfMemory(alloc);
  }
  std::memcpy(text, name.data(), name.size());
  operation->text = text;
  operation->textSize = name.size();
  target = operation.release();
  return success();
}

static Status dispatch(OpCall &call) {
  switch (call.op.info->family) {
  case Family::Elementwise:
  case Family::Select:
  case Family::Cast:
    return runElementwise(call);
  case Family::Reduce:
    return runReduce(call);
  case Family::Matmul:
    return runMatmul(call);
  case Family::Conv:
    return runConv(call);
  case Family::Windows:
    return runWindows(call);
  case Family::Fold:
    return runFold(call);
  case Family::Along:
  case Family::Top:
  case Family::Scatter:
  case Family::Matrix:
    return runRoutine(call);
  case Family::Reshape:
    return runReshape(call);
  case Family::Broadcast:
    return runBroadcast(call);
  case Family::Transpose:
    return runTranspose(call);
  case Family::Concat:
    return runConcat(call);
  case Family::Index:
    return runIndex(call);
  case Family::Update:
    return runUpdate(call);
  case Family::ScatterAdd:
    return runScatterAdd(call);
  case Family::Copy:
    return runCopy(call);
  case Family::To:
    return runTo(call);
  case Family::Wait:
    return runWait(call);
  case Family::Full:
    return runFull(call);
  case Family::Iota:
    return runIota(call);
  case Family::Literal:
    return runLiteral(call);
  case Family::Uniform:
  case Family::Normal:
  case Family::Bernoulli:
  case Family::RandInt:
  case Family::Permutation:
  case Family::Fork:
    return runRandom(call);
  case Family::Categorical:
    return runCategorical(call);
  }
  return Status(mxrt_status_constant(MXRT_INTERNAL));
}

Status EagerHost::invoke(ImportKind sort, void *target, host::Invocation &call) {
  if (sort == ImportKind::Graph)
    return invokeGraph(target, call);
  OpCall operation(*this, *static_cast<Operation *>(target), call);
  return dispatch(operation);
}

Status EagerHost::resolveGraph(std::string_view name, const host::Signature &, void *&) {
  return error(operations.allocator(), MXRT_UNSUPPORTED, noLocation, "this host has no graph '%.*s'",
               int(std::min<size_t>(name.size(), 200)), name.data());
}
Status EagerHost::invokeGraph(void *, host::Invocation &) {
  return error(operations.allocator(), MXRT_UNSUPPORTED, noLocation, "this host runs no graphs");
}

//===-- Reading -------------------------------------------------------------===//

Status EagerHost::readScalar(const Value &value, Kind wanted, Value &out) {
  const mxrt_allocator *alloc = operations.allocator();
  const mxrt_tensor *tensor = tensorOf(value);
  if (!tensor)
    return error(alloc, MXRT_HOST_TYPE, noLocation, "%s is not a tensor", host::kindName(value.kind));
  if (tensor->rank != 0)
    return error(alloc, MXRT_SHAPE, noLocation, "%s is not a single value, as is needed here",
                 shapeText(tensor->shape()).text);
  // The VM adds the location of notice.
  MXRT_CHECK(Status(mxrt_tensor_wait(owner, tensor, nullptr)));
  if (!convertNumber(fromElement(tensor->type, tensor->data()), wanted, out))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "the value of %s does not fit %s",
                 shapeText(tensor->shape()).text, host::kindName(wanted));
  return success();
}

Status EagerHost::show(const Value &foreign, std::string_view spec, host::Text &out) {
  const mxrt_tensor *tensor = tensorOf(foreign);
  if (!tensor)
    return HostInterface::show(foreign, spec, out);
  MXRT_CHECK(Status(mxrt_tensor_wait(owner, tensor, nullptr)));
  if (const char *wrong = showTensor(tensor, spec, out))
    return error(operations.allocator(), MXRT_INVALID_ARGUMENT, noLocation, "format '%.*s' for %s: %s",
                 int(std::min<size_t>(spec.size(), 100)), spec.data(),
                 shapeText(tensor->shape()).text, wrong);
  return out.failed() ? out.owner().exhausted() : success();
}

} // namespace mxrt::eager
