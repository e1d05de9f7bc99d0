// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls. A cache keyed by the types and sizes of the arguments finds the code of a call. A graph
// then runs without any lock, on the calling thread if its results are wanted at once.
#include "mxrt/call.h"
#include "Embed/Room.h"
#include "llvm/ADT/Hashing.h"
#include <cstring>

namespace mx::embed {
namespace {

/// The cache key of a call: kinds, element types, sizes, types of models, values of static
/// arguments. A null value has been rejected before.
void addToKey(const mxc_function &function, const mxc_argument &argument, size_t index,
              llvm::SmallVectorImpl<int64_t> &key) {
  mxc_value &value = *argument.value;
  auto addText = [&](std::string_view text) {
    key.push_back(static_cast<int64_t>(text.size()));
    for (size_t at = 0; at < text.size(); at += sizeof(int64_t)) {
      int64_t word = 0;
      std::memcpy(&word, text.data() + at, std::min(text.size() - at, sizeof word));
      key.push_back(word);
    }
  };
  bool isMut = argument.flags & MXC_MUT;
  if (TensorValue *tensor = value.tensor()) {
    int32_t rank = tensor->rank();
    int32_t device = tensor->held ? mxrt_tensor_device(tensor->held).index : 0;
    key.push_back(value.kind | isMut << 8 | (argument.name != nullptr) << 9 |
                  tensor->dtype() << 16 | rank << 24 | int64_t(device) << 32);
    key.append(tensor->shape(), tensor->shape() + rank);
  } else {
    key.push_back(value.kind | isMut << 8 | (argument.name != nullptr) << 9);
    const Parameter *param = function.paramOf(argument, index);
    bool isLiteral = !param || param->isLiteral;
    if (GroupValue *group = value.group()) {
      key.push_back(reinterpret_cast<intptr_t>(group->type.load(std::memory_order_acquire)));
    } else if (NumberValue *number = value.number(); number && isLiteral) {
      int64_t bits = number->whole;
      if (value.kind == MXC_FLOAT_NUMBER)
        std::memcpy(&bits, &number->real, sizeof bits);
      key.push_back(bits);
    } else if (TextValue *text = value.text(); text && isLiteral) {
      addText(text->content);
    }
  }
  if (argument.name)
    addText(argument.name);
}

/// Flattens a value into its leaves, in order. `isOwned`: they have no other reference.
struct FlatLeaf {
  mxc_value *value;
  bool isOwned;
};
void flatten(mxc_value &value, bool isOwned, llvm::SmallVectorImpl<FlatLeaf> &out) {
  isOwned &= value.isOwned();
  if (GroupValue *group = value.group()) {
    for (mxc_value *item : group->items)
      flatten(*item, isOwned, out);
    return;
  }
  out.push_back({&value, isOwned});
}

/// Builds a value from the next tensors; it takes over their references.
mxc_value *build(const Form &form, const LifeRef &life, const sema::Type *type,
                 llvm::ArrayRef<mxrt_tensor *> tensors, size_t &next, bool isReady) {
  if (form.kind == MXC_TENSOR)
    return makeTensorValue(tensors[next++], life, isReady);
  auto *group = new GroupValue(form.kind);
  group->life = life;
  group->layout = form.layout;
  group->type.store(type, std::memory_order_relaxed);
  group->items.reserve(form.parts.size());
  for (const Form &part : form.parts)
    group->items.push_back(build(part, life, nullptr, tensors, next, isReady));
  return group;
}

class GraphCall {
public:
  GraphCall(mxc_session &session, const ReadyCall &call, llvm::ArrayRef<mxc_room> rooms = {})
      : session(session), call(call), bound(*call.target.graph), rooms(rooms) {}
  ~GraphCall() {
    for (mxrt_tensor *tensor : temporary)
      mxrt_tensor_release(tensor);
    for (mxrt_tensor *tensor : outputs)
      mxrt_tensor_release(tensor);
  }

  mxc_error *run(mxc_argument *arguments, bool isAsync, mxc_value *&result) {
    if (mxc_error *error = open(arguments))
      return error;
    // The engine poisons the arguments that a failed call was to update, in place or not.
    bool isReady = !isAsync && call.changed.empty();
    mxc_error *error = isReady ? runHere() : issue();
    if (error)
      return error;
    return close(arguments, isAsync, isReady, result);
  }

  /// Runs the call with caller-provided memory for its results; creates no values.
  mxc_error *runInto(mxc_argument *arguments) {
    if (mxc_error *error = checkRooms())
      return error;
    if (mxc_error *error = open(arguments))
      return error;
    return runHere();
  }

private:
  mxc_error *open(mxc_argument *arguments) {
    for (const driver::OutsideTarget::Input &input : call.target.inputs)
      if (input.isMut)
        if (mxc_error *error = borrowed.before(session, *arguments[input.argument].value))
          return error;
    for (const driver::OutsideTarget::Input &input : call.target.inputs)
      flatten(*arguments[input.argument].value, input.isMut, leaves);
    if (leaves.size() != call.leaves.size())
      return wrongUse("an argument of `" + call.target.symbol + "` has the wrong parts");
    for (const FlatLeaf &leaf : leaves)
      if (TensorValue *tensor = leaf.value->tensor(); tensor && tensor->held)
        if (mxrt_device on = mxrt_tensor_device(tensor->held); on.index != bound.code->device.index)
          return makeError("R0402", "error[R0402]: " + tensorTypeText(*tensor) +
                                        " is on cpu:" + std::to_string(on.index) + ", but `" +
                                        call.target.symbol + "` runs on cpu:" +
                                        std::to_string(bound.code->device.index) + "\n");
    return nullptr;
  }

  /// Builds values from the outputs.
  mxc_error *close(mxc_argument *arguments, bool isAsync, bool isReady, mxc_value *&result) {
    mxc_error *error = nullptr;
    size_t next = 0, form = 0;
    std::vector<ValueRef> before; // keeps borrowed memory alive until it is written
    llvm::SmallVector<mxc_value **, 4> changed;
    for (const driver::OutsideTarget::Input &input : call.target.inputs)
      if (input.isMut) {
        mxc_value *&slot = arguments[input.argument].value;
        mxc_value *now =
            build(call.changed[form++], session.life, input.given, outputs, next, isReady);
        before.push_back(ValueRef(slot));
        slot = now;
        changed.push_back(&slot);
      }
    ValueRef made;
    if (call.target.resultType)
      made = ValueRef(build(call.result, session.life, call.target.result, outputs, next, isReady));
    outputs.clear(); // the values own them now
    if ((error = borrowed.after(session, changed)))
      return error;
    if (!isAsync && !isReady) {
      // One op writes all outputs: if one is ready, all are.
      mxc_value *any = made ? made.get() : nullptr;
      for (const driver::OutsideTarget::Input &input : call.target.inputs)
        if (input.isMut && !error)
          error = waitFor(*arguments[input.argument].value);
      if (any && !error)
        error = waitFor(*any);
      if (error)
        return error;
    }
    result = made.take();
    return nullptr;
  }

  mxc_error *checkRooms() {
    if (!call.changed.empty())
      return wrongUse("`" + call.target.symbol + "` changes an argument: its results are values");
    if (rooms.size() != bound.shapes.size())
      return wrongUse("the result of `" + call.target.symbol + "` has " +
                      std::to_string(bound.shapes.size()) + " tensors, but there are " +
                      std::to_string(rooms.size()) + " rooms for them");
    for (size_t i = 0; i < rooms.size(); ++i) {
      auto width = static_cast<size_t>(
          mxrt_dtype_size(static_cast<mxrt_dtype>(bound.code->outputs[i].dtype)));
      size_t bytes = width;
      for (int64_t size : bound.shapes[i])
        bytes *= static_cast<size_t>(size);
      if (rooms[i].bytes != bytes)
        return wrongUse("room " + std::to_string(i + 1) + " for the result of `" +
                        call.target.symbol + "` has " + std::to_string(rooms[i].bytes) +
                        " bytes, but its tensor " + std::to_string(bytes));
      if (reinterpret_cast<uintptr_t>(rooms[i].data) % width != 0 || (!rooms[i].data && bytes != 0))
        return wrongUse("room " + std::to_string(i + 1) + " for the result of `" +
                        call.target.symbol + "` is not aligned to " + std::to_string(width) +
                        " bytes, or NULL");
    }
    return nullptr;
  }

  /// Runs synchronously on this thread. Waits for values that are still being computed.
  mxc_error *runHere() {
    llvm::SmallVector<void *, 32> buffers;
    llvm::SmallVector<uint64_t, 8> numbers(leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) {
      mxc_value &value = *leaves[i].value;
      if (NumberValue *number = value.number()) {
        numbers[i] = bitsOf(*number, call.leaves[i].type);
        buffers.push_back(&numbers[i]);
        continue;
      }
      TensorValue *tensor = value.tensor();
      if (!tensor)
        return wrongPart(value);
      void *data = tensor->host || tensor->life == session.life ? tensor->readyData() : nullptr;
      if (!data && tensor->elements() != 0) {
        if (mxc_error *error = waitFor(value))
          return error;
        mxrt_tensor *dense = nullptr;
        if (mxc_error *error = tensorFor(session, *tensor, dense))
          return error;
        temporary.push_back(dense);
        if (mxrt_status status = mxrt_tensor_wait(session.runtime(), dense, nullptr))
          return session.render(status);
        data = mxrt_tensor_data(dense);
      }
      if (call.leaves[i].isHost) { // a host number, passed as a tensor
        std::memcpy(&numbers[i], data, static_cast<size_t>(mxrt_dtype_size(call.leaves[i].type)));
        data = &numbers[i];
      }
      buffers.push_back(data);
    }
    for (const mxc_room &room : rooms)
      buffers.push_back(room.data);
    for (size_t i = rooms.size(); i < bound.shapes.size(); ++i) {
      if (mxc_error *error = makeOutput(i))
        return error;
      buffers.push_back(mxrt_tensor_data(outputs.back()));
    }
    mxrt_status status =
        run::runGraphNow(session.runtime(), bound, buffers.data(), call.target.location);
    return status ? session.render(status) : nullptr;
  }

  /// Runs asynchronously through the engine, which tracks dependencies: it waits for values and
  /// orders reads and writes.
  mxc_error *issue() {
    llvm::SmallVector<run::GraphInput, 16> inputs;
    for (size_t i = 0; i < leaves.size(); ++i) {
      run::GraphInput input;
      if (mxc_error *error = inputFor(i, input))
        return error;
      inputs.push_back(input);
    }
    for (size_t i = 0; i < bound.shapes.size(); ++i) {
      int64_t over = bound.code->outputs[i].over;
      mxc_error *error =
          over < 0 ? makeOutput(i)
                   : takeOver(static_cast<size_t>(over), inputs[static_cast<size_t>(over)].tensor);
      if (error)
        return error;
    }
    mxrt_status status =
        run::issueGraph(session.runtime(), bound, inputs, outputs, call.target.location).release();
    return status ? session.render(status) : nullptr;
  }

  mxc_error *inputFor(size_t index, run::GraphInput &out) {
    mxc_value &value = *leaves[index].value;
    const Leaf &leaf = call.leaves[index];
    mxrt_tensor *made = nullptr;
    if (NumberValue *number = value.number()) {
      if (leaf.isHost) {
        out.number = bitsOf(*number, leaf.type);
        return nullptr;
      }
      if (mxc_error *error = tensorOfNumber(session, *number, leaf.type, made))
        return error;
    } else if (TensorValue *tensor = value.tensor()) {
      if (leaf.isHost) {
        const void *data = nullptr;
        if (mxc_error *error = mxc_tensor_data(tensor, &data))
          return error;
        std::memcpy(&out.number, data, static_cast<size_t>(mxrt_dtype_size(leaf.type)));
        return nullptr;
      }
      if (isInPlace(index, *tensor)) { // referenced by the value alone
        out.tensor = tensor->held;
        return nullptr;
      }
      if (mxc_error *error = tensorFor(session, *tensor, made))
        return error;
    } else {
      return wrongPart(value);
    }
    temporary.push_back(made);
    out.tensor = made;
    return nullptr;
  }

  /// Whether an output overwrites this leaf, which has no other reference.
  bool isInPlace(size_t index, const TensorValue &tensor) const {
    return bound.outputOf[index] >= 0 && leaves[index].isOwned && tensor.held &&
           tensor.life == session.life && mxrt_tensor_is_dense(tensor.held);
  }

  /// The tensor of an output that overwrites an input (copy on write): the input itself if it is
  /// not shared, otherwise a copy, which the graph reads as well.
  mxc_error *takeOver(size_t index, mxrt_tensor *&input) {
    mxrt_location location = call.target.location;
    TensorValue *value = leaves[index].value->tensor();
    bool isAligned = reinterpret_cast<uintptr_t>(mxrt_tensor_data(input)) % MXRT_ALIGNMENT == 0;
    if (isAligned && value && isInPlace(index, *value)) {
      mxrt_status status = mxrt_call_prepare_write(session.runtime(), &value->held, &location);
      if (status)
        return session.render(status);
      input = value->held;
      outputs.push_back(mxrt_tensor_retain(input));
      return nullptr;
    }
    // Created for this call, or host memory that may be written.
    bool isOurs = value ? value->held != input : true;
    if (isAligned && isOurs && (!value || leaves[index].isOwned) && !mxrt_tensor_is_shared(input)) {
      outputs.push_back(mxrt_tensor_retain(input));
      return nullptr;
    }
    mxrt_device device = mxrt_tensor_device(input);
    mxrt_tensor *copy = nullptr;
    mxrt_status status =
        mxrt_tensor_create(session.runtime(), &device, mxrt_tensor_dtype(input),
                           mxrt_tensor_rank(input), mxrt_tensor_shape(input), &location, &copy);
    if (!status)
      status = mxrt_call_copy(session.runtime(), input, copy, &location);
    if (status) {
      mxrt_tensor_release(copy);
      return session.render(status);
    }
    outputs.push_back(copy);
    input = copy;
    return nullptr;
  }

  mxc_error *makeOutput(size_t index) {
    mxrt_tensor *made = nullptr;
    mxrt::Status status =
        run::makeGraphOutput(session.runtime(), bound, index, call.target.location, made);
    if (!status.ok())
      return session.render(status.release());
    outputs.push_back(made);
    return nullptr;
  }

  mxc_error *wrongPart(mxc_value &value) {
    return wrongUse(std::string("a value of type ") + mxc_value_type(&value) +
                    " cannot be handed to a graph");
  }

  mxc_session &session;
  const ReadyCall &call;
  const driver::BoundVariant &bound;
  llvm::ArrayRef<mxc_room> rooms; ///< for all outputs, or empty: tensors are created
  llvm::SmallVector<FlatLeaf, 16> leaves;
  BorrowedMut borrowed;
  llvm::SmallVector<mxrt_tensor *, 8> temporary; ///< owned
  llvm::SmallVector<mxrt_tensor *, 8> outputs;   ///< owned, until values take them
};

mxc_error *callReady(mxc_session &session, const ReadyCall &call, mxc_argument *arguments,
                     bool isAsync, mxc_value *&result) {
  if (call.target.graph)
    return GraphCall(session, call).run(arguments, isAsync, result);
  ValueRef made;
  mxc_value *given = nullptr;
  if (mxc_error *error = callFunction(session, call, arguments, given))
    return error;
  made = ValueRef(given);
  if (!isAsync) {
    if (made)
      if (mxc_error *error = waitFor(*made.get()))
        return error;
    for (const driver::OutsideTarget::Input &input : call.target.inputs)
      if (input.isMut)
        if (mxc_error *error = waitFor(*arguments[input.argument].value))
          return error;
  }
  result = made.take();
  return nullptr;
}

} // namespace
} // namespace mx::embed

using namespace mx::embed;

mxc_function::~mxc_function() {
  for (auto &bucket : ready)
    for (ReadyCall *call = bucket.load(); call;) {
      ReadyCall *next = call->next;
      delete call;
      call = next;
    }
}

const Parameter *mxc_function::paramOf(const mxc_argument &argument, size_t index) const {
  if (!argument.name)
    return index < params.size() ? &params[index] : nullptr;
  for (const Parameter &param : params)
    if (param.name == argument.name)
      return &param;
  return nullptr;
}

/// The code for these arguments; found without a lock if the same types and sizes were seen before.
static mxc_error *findReady(mxc_function &function, mxc_argument *arguments, size_t count,
                            const ReadyCall *&call) {
  llvm::SmallVector<int64_t, 64> key;
  for (size_t i = 0; i < count; ++i) {
    if (!arguments[i].value)
      return wrongUse("argument " + std::to_string(i + 1) + " of `" + function.name + "` is NULL");
    addToKey(function, arguments[i], i, key);
  }
  size_t bucket =
      static_cast<size_t>(llvm::hash_combine_range(key.begin(), key.end())) % function.ready.size();
  call = function.ready[bucket].load(std::memory_order_acquire);
  while (call && llvm::ArrayRef(call->key) != llvm::ArrayRef(key))
    call = call->next;
  if (call)
    return nullptr;
  return guardedWithRoom(kRoomToCompile,
                         [&] { return resolve(function, arguments, count, key, bucket, call); });
}

extern "C" mxc_error *mxc_call(mxc_function *function, mxc_argument *arguments, size_t count,
                               uint32_t flags, mxc_value **result) {
  return guarded([&]() -> mxc_error * {
    if (result)
      *result = nullptr;
    const ReadyCall *call = nullptr;
    if (mxc_error *error = findReady(*function, arguments, count, call))
      return error;
    mxc_value *made = nullptr;
    // Host code may call graphs with new sizes, and ops for the first time, which compiles.
    mxc_error *error = guardedWithRoom(call->target.graph ? kRoomToCall : kRoomToCompile, [&] {
      return callReady(*function->module->session, *call, arguments, flags & MXC_ASYNC, made);
    });
    if (result)
      *result = made;
    else
      mxc_value_release(made);
    return error;
  });
}

extern "C" mxc_error *mxc_call_into(mxc_function *function, mxc_argument *arguments, size_t count,
                                    const mxc_room *rooms, size_t room_count) {
  return guarded([&]() -> mxc_error * {
    if (!function->isGraph)
      return wrongUse("`" + function->name + "` is not a graph: its results are values");
    const ReadyCall *call = nullptr;
    if (mxc_error *error = findReady(*function, arguments, count, call))
      return error;
    if (!call->target.graph)
      return wrongUse("`" + function->name + "` runs on several devices: its results are values");
    return guardedWithRoom(kRoomToCall, [&] {
      return GraphCall(*function->module->session, *call, {rooms, room_count}).runInto(arguments);
    });
  });
}
