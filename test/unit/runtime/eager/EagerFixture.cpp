// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EagerFixture.h"

#include <algorithm>
#include <cmath>

namespace mxrt::eager {

using host::Value;

//===-- Array ---------------------------------------------------------------===//

int64_t Array::elements() const {
  int64_t total = 1;
  for (int64_t size : shape)
    total *= size;
  return total;
}

Array Array::iota(mxrt_dtype type, const Shape &shape, double start) {
  Array array{type, shape, {}};
  for (int64_t i = 0; i < array.elements(); ++i)
    array.values.push_back(start + double(i));
  return array;
}

Array Array::random(mxrt_dtype type, const Shape &shape, std::mt19937 &random) {
  Array array{type, shape, {}};
  for (int64_t i = 0; i < array.elements(); ++i)
    array.values.push_back(type == MXRT_BOOL ? double(random() % 2)
                                             : double(random() % 17) - (type == MXRT_U8 ? 0 : 8));
  return array;
}

void Array::each(const std::function<void(const Shape &, int64_t)> &visit) const {
  Shape index(shape.size(), 0);
  for (int64_t n = 0, total = elements(); n < total; ++n) {
    visit(index, n);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i])
        break;
      index[i] = 0;
    }
  }
}

double Array::at(const Shape &index) const {
  int64_t position = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    position = position * shape[i] + index[i];
  return values[size_t(position)];
}

Array Array::transposed(const std::vector<int> &order) const {
  Array result{type, {}, {}};
  for (int axis : order)
    result.shape.push_back(shape[size_t(axis)]);
  result.each([&](const Shape &index, int64_t) {
    Shape source(shape.size());
    for (size_t i = 0; i < order.size(); ++i)
      source[size_t(order[i])] = index[i];
    result.values.push_back(at(source));
  });
  return result;
}

Array Array::sliced(size_t axis, int64_t from, int64_t count, int64_t step) const {
  Array result{type, shape, {}};
  result.shape[axis] = count;
  result.each([&](const Shape &index, int64_t) {
    Shape source = index;
    source[axis] = from + index[axis] * step;
    result.values.push_back(at(source));
  });
  return result;
}

Array Array::broadcast(const Shape &wanted) const {
  Array result{type, wanted, {}};
  result.each([&](const Shape &index, int64_t) {
    Shape source(index.end() - int64_t(shape.size()), index.end());
    for (size_t i = 0; i < shape.size(); ++i)
      source[i] = shape[i] == 1 ? 0 : source[i];
    result.values.push_back(at(source));
  });
  return result;
}

bool Array::operator==(const Array &other) const {
  auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  return type == other.type && shape == other.shape &&
         std::equal(values.begin(), values.end(), other.values.begin(), other.values.end(), same);
}

std::ostream &operator<<(std::ostream &out, const Array &array) {
  out << mxrt_dtype_name(array.type) << '[';
  for (int64_t size : array.shape)
    out << size << ' ';
  out << "]:";
  for (double value : array.values)
    out << ' ' << value;
  return out;
}

Shape broadcastShape(const std::vector<Shape> &shapes) {
  Shape result;
  for (const Shape &shape : shapes)
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
  for (const Shape &shape : shapes)
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &size = result[result.size() - shape.size() + i];
      size = size == 1 ? shape[i] : size;
    }
  return result;
}

Array mapped(const std::string &op, mxrt_dtype type, mxrt_dtype result,
             const std::vector<Array> &operands) {
  std::vector<Shape> shapes;
  for (const Array &operand : operands)
    shapes.push_back(operand.shape);
  Array out{result, broadcastShape(shapes), {}};
  std::vector<Array> wide;
  for (const Array &operand : operands)
    wide.push_back(operand.broadcast(out.shape));
  out.each([&](const Shape &, int64_t n) {
    double x[3] = {};
    for (size_t k = 0; k < wide.size(); ++k)
      x[k] = wide[k].values[size_t(n)];
    char element[8];
    storeElement(result, element, 0, apply(op, type, x)); // rounds
    out.values.push_back(loadElement(result, element, 0));
  });
  return out;
}

//===-- The fixture ---------------------------------------------------------===//

void EagerTest::SetUp() {
  mxrt_options options;
  mxrt_options_init(&options);
  options.allocator = alloc.get();
  options.threads = 2;
  ASSERT_EQ(mxrt_runtime_create(&options, &runtime), nullptr);
  mxrt_engine_options engineOptions = {};
  engineOptions.kind = GetParam();
  mxrt_engine *engine = nullptr;
  ASSERT_EQ(mxrt_runtime_engine(runtime, &engineOptions, &engine), nullptr);
  EagerOptions eager;
  eager.runtime = runtime;
  eager.kernels = &kernels;
  eager.print = [](void *context, std::string_view text) {
    static_cast<std::string *>(context)->append(text);
    return success();
  };
  eager.printContext = &printed;
  eager.checkMemory = checkMemory;
  host = new EagerHost(eager);
  host::VmOptions vmOptions;
  vmOptions.runtime = runtime;
  vmOptions.host = host;
  auto made = host::Vm::create(vmOptions);
  ASSERT_TRUE(made.ok());
  vm = *made;
  ASSERT_TRUE(host->registerNatives(*vm).ok());
}

void EagerTest::TearDown() {
  for (Value &value : kept)
    release(vm->heap(), value);
  EXPECT_EQ(vm->heap().liveBytes() > 0, true); // natives
  host::Vm::destroy(vm);
  delete host;
  mxrt_runtime_destroy(runtime);
  EXPECT_EQ(alloc.liveBlocks(), 0);
  EXPECT_EQ(alloc.mistake(), "");
}

Value EagerTest::keep(Value value) {
  kept.push_back(value);
  return value;
}

Value EagerTest::tensor(const Array &array, mxrt_device device) {
  mxrt_tensor *made = nullptr;
  mxrt_status status = mxrt_tensor_create(runtime, &device, array.type, int32_t(array.shape.size()),
                                          array.shape.data(), nullptr, &made);
  EXPECT_EQ(status, nullptr) << mxrt_status_message(status);
  for (size_t i = 0; i < array.values.size(); ++i)
    storeElement(array.type, made->data(), int64_t(i), array.values[i]);
  return keep(makeTensorValue(vm->heap(), made));
}

Value EagerTest::oddTensor(const Array &array, std::mt19937 &random) {
  // Stored with permuted axes, some of them backwards or with gaps.
  std::vector<int> order(array.shape.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = int(i);
  std::shuffle(order.begin(), order.end(), random);
  Array stored = array.transposed(order);
  std::string spec;
  std::vector<Value> args;
  for (size_t axis = 0; axis < order.size(); ++axis) {
    int64_t size = stored.shape[axis];
    spec += axis ? "/" : "";
    int64_t step = size > 0 && random() % 2 ? (random() % 2 ? -1 : 2) : 1;
    if (step == 1) {
      spec += ":";
      continue;
    }
    Array wide{stored.type, stored.shape, {}};
    wide.shape[axis] = step == 2 ? size * 2 : size;
    wide.each([&](const Shape &index, int64_t) {
      Shape source = index;
      source[axis] = step == 2 ? index[axis] / 2 : size - 1 - index[axis];
      wide.values.push_back(stored.at(source));
    });
    stored = wide;
    spec += "rs";
    args.push_back(num(step));
  }
  args.insert(args.begin(), tensor(stored));
  Value sliced = op("index(" + spec + ")", args);
  std::string back;
  for (size_t i = 0; i < order.size(); ++i) {
    auto where = std::find(order.begin(), order.end(), int(i)) - order.begin();
    back += (i ? "/" : "") + std::to_string(where);
  }
  return op("transpose(order=" + back + ")", {sliced});
}

Status EagerTest::tryOp(const std::string &name, std::vector<Value> args, Value &result,
                        bool firstIsMut) {
  void *target = nullptr;
  host::ParamData mut[] = {{host::Kind::Any, true}};
  host::Signature signature;
  signature.variadic = true;
  signature.result = firstIsMut ? host::Kind::Unit : host::Kind::Tensor;
  if (firstIsMut)
    signature.params = mut;
  MXRT_CHECK(host->resolve(host::ImportKind::TensorOp, name, signature, target));
  host::Invocation call = {*vm, name, args, Value::unit(), {"test.mx", 3, 7}};
  Status status = host->invoke(host::ImportKind::TensorOp, target, call);
  result = call.result;
  return status;
}

Value EagerTest::op(const std::string &name, std::vector<Value> args) {
  Value result;
  Status status = tryOp(name, std::move(args), result);
  EXPECT_TRUE(status.ok()) << name << ": " << status.message();
  EXPECT_TRUE(status.failed() || tensorOf(result));
  return keep(result);
}

std::string EagerTest::refusal(const std::string &name, std::vector<Value> args) {
  Value result;
  Status status = tryOp(name, std::move(args), result);
  if (status.ok()) {
    keep(result);
    return "no error";
  }
  char code[16];
  snprintf(code, sizeof(code), "R%04d ", int(status.code()));
  return code + std::string(status.message());
}

void EagerTest::update(const std::string &name, Value &x, std::vector<Value> rest) {
  rest.insert(rest.begin(), x);
  void *target = nullptr;
  host::ParamData mut[] = {{host::Kind::Tensor, true}};
  ASSERT_TRUE(
      host->resolve(host::ImportKind::TensorOp, name, {mut, true, host::Kind::Unit}, target).ok());
  host::Invocation call = {*vm, name, rest, Value::unit(), {"test.mx", 3, 7}};
  Status status = host->invoke(host::ImportKind::TensorOp, target, call);
  EXPECT_TRUE(status.ok()) << status.message();
  for (Value &value : kept) // the reference moved
    if (value.kind == host::Kind::Tensor && value.object == x.object) {
      value = rest[0];
      break;
    }
  x = rest[0];
}

Array EagerTest::read(const Value &value) {
  const mxrt_tensor *tensor = tensorOf(value);
  if (!tensor)
    return {};
  Status status(mxrt_tensor_wait(runtime, tensor, nullptr));
  EXPECT_TRUE(status.ok()) << status.message();
  Array array{tensor->type, Shape(tensor->sizes(), tensor->sizes() + tensor->rank), {}};
  array.each([&](const Shape &index, int64_t) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i)
      at += index[i] * tensor->strides()[i];
    array.values.push_back(loadElement(tensor->type, tensor->data(), at));
  });
  return array;
}

std::string EagerTest::show(const Value &value, std::string_view spec) {
  host::Text text(vm->heap());
  Status status = host->show(value, spec, text);
  return status.ok() ? std::string(text.view()) : std::string("! ") + status.message();
}

std::string engineName(const ::testing::TestParamInfo<mxrt_engine_kind> &info) {
  return info.param == MXRT_ENGINE_NAIVE ? "Naive" : "Threaded";
}

} // namespace mxrt::eager
