// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BytecodeTestSupport.h"
#include "host/Math.h"
#include "mlir/Parser/Parser.h"
#include <cmath>

using namespace mxrt::host;
using mxrt::error;
using mxrt::noLocation;
using mxrt::Result;
using mxrt::Status;
using mxrt::success;

namespace mx::bytecode {

int FakeTensor::alive = 0;
int FakeTensor::maxLive = 0;

static void endTensor(void *payload) {
  --FakeTensor::alive;
  delete static_cast<FakeTensor *>(payload);
}
static const ForeignType fakeTensorType = {"tensor", endTensor};

Value makeTensor(Heap &heap, std::vector<double> numbers) {
  ForeignObject *object = makeForeign(heap, &fakeTensorType, new FakeTensor{std::move(numbers)});
  FakeTensor::maxLive = std::max(FakeTensor::maxLive, ++FakeTensor::alive);
  return Value(Kind::Tensor, object);
}

const std::vector<double> &numbersOf(const Value &tensor) {
  return static_cast<FakeTensor *>(tensor.foreign()->payload)->numbers;
}

static double numberOf(const Value &value) {
  switch (value.kind) {
  case Kind::F32:
    return value.f;
  case Kind::F64:
    return value.d;
  case Kind::Tensor:
    return numbersOf(value).front();
  default:
    return double(value.i);
  }
}

Status FakeHost::print(std::string_view text) {
  output += text;
  return success();
}

Status FakeHost::resolve(ImportKind, std::string_view, const Signature &, void *&target) {
  target = this;
  return success();
}

static Status outside(Invocation &call, int64_t index) {
  return error(call.vm.heap().baseAllocator(), MXRT_INDEX, noLocation, "index %lld is outside",
               static_cast<long long>(index));
}

/// update(i)(mut x, i, value)
Status FakeHost::update(Invocation &call) {
  std::vector<double> numbers = numbersOf(call.args[0]);
  int64_t at = call.args[1].i;
  if (at < 0 || at >= int64_t(numbers.size()))
    return outside(call, at);
  numbers[size_t(at)] = numberOf(call.args[2]);
  ForeignObject *object = call.args[0].foreign();
  if (object->refs == 1) {
    static_cast<FakeTensor *>(object->payload)->numbers = std::move(numbers);
  } else {
    ++copies;
    replace(call.vm.heap(), call.args[0], makeTensor(call.vm.heap(), std::move(numbers)));
  }
  return success();
}

Status FakeHost::invoke(ImportKind sort, void *, Invocation &call) {
  called.emplace_back(call.name);
  std::string_view name = call.name.substr(0, call.name.find_first_of(":(@"));
  std::span<Value> args = call.args;
  Heap &heap = call.vm.heap();
  auto give = [&](std::vector<double> numbers) {
    call.result = makeTensor(heap, std::move(numbers));
    return success();
  };
  auto each = [&](auto &&op) {
    auto numbers = [](const Value &v) {
      return v.kind == Kind::Tensor ? numbersOf(v) : std::vector<double>{numberOf(v)};
    };
    std::vector<double> x = numbers(args[0]), y = args.size() > 1 ? numbers(args[1]) : x, out;
    for (size_t i = 0; i < std::max(x.size(), y.size()); ++i)
      out.push_back(op(x[i % x.size()], y[i % y.size()]));
    return give(std::move(out));
  };
  if (sort == ImportKind::Graph) {
    // step(mut x, y) -> old x: x += y. double(n) -> 2 n.
    if (name == "double") {
      call.result = Value::integer(args[0].i * 2);
      return success();
    }
    std::vector<double> sum = numbersOf(args[0]);
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += numbersOf(args[1])[i];
    call.result = args[0];
    args[0] = makeTensor(heap, std::move(sum));
    return success();
  }
  if (name == "full") {
    double count = 1;
    for (const Value &size : args.subspan(1))
      count *= double(size.i);
    return give(std::vector<double>(size_t(count), numberOf(args[0])));
  }
  if (name == "literal" || name == "concat") {
    std::vector<double> all;
    for (const Value &arg : args)
      if (arg.kind == Kind::Tensor)
        all.insert(all.end(), numbersOf(arg).begin(), numbersOf(arg).end());
      else
        all.push_back(numberOf(arg));
    return give(std::move(all));
  }
  if (name == "add")
    return each([](double x, double y) { return x + y; });
  if (name == "sub")
    return each([](double x, double y) { return x - y; });
  if (name == "mul")
    return each([](double x, double y) { return x * y; });
  if (name == "lt")
    return each([](double x, double y) { return double(x < y); });
  if (name == "neg")
    return each([](double x, double) { return -x; });
  if (name == "reshape")
    return give(numbersOf(args[0]));
  if (name == "index") {
    int64_t at = int64_t(numberOf(args[1]));
    if (at < 0 || at >= int64_t(numbersOf(args[0]).size()))
      return outside(call, at);
    return give({numbersOf(args[0])[size_t(at)]});
  }
  if (name == "update")
    return update(call);
  return error(heap.baseAllocator(), MXRT_UNSUPPORTED, noLocation, "no such operation");
}

Status FakeHost::readScalar(const Value &tensor, Kind wanted, Value &out) {
  double number = numberOf(tensor);
  out = wanted == Kind::Bool  ? Value::boolean(number != 0)
        : wanted == Kind::Int ? Value::integer(int64_t(number))
        : wanted == Kind::F32 ? Value::f32(float(number))
                              : Value::f64(number);
  return success();
}

Status FakeHost::show(const Value &foreign, std::string_view, Text &out) {
  out.append('[');
  for (double number : numbersOf(foreign)) {
    out.append(' ');
    out.appendInt(int64_t(number));
  }
  out.append(" ]");
  return success();
}

// ------------------------------------------------------------------------------------------------

BytecodeFixture::BytecodeFixture() {
  context.getOrLoadDialect<ir::MxDialect>();
  VmOptions options;
  options.host = &fake;
  vm = Vm::create(options).take();
  EXPECT_TRUE(registerMath(*vm).ok());
  // Tries ask the engine what was issued. Here everything is done at once.
  auto issued = [](void *, Invocation &call) {
    call.result = Value::integer(0);
    return success();
  };
  auto caught = [](void *, Invocation &) { return success(); };
  static constexpr ParamData number[] = {{Kind::Int, false}};
  EXPECT_TRUE(vm->registerNative("mx.issued", {{}, false, Kind::Int}, issued, nullptr).ok());
  EXPECT_TRUE(vm->registerNative("mx.caught", {number, false, Kind::Unit}, caught, nullptr).ok());
  FakeTensor::maxLive = 0;
}

BytecodeFixture::~BytecodeFixture() {
  for (Value &value : results)
    release(vm->heap(), value);
  for (Program *program : programs)
    vm->unload(program);
  Vm::destroy(vm);
  EXPECT_EQ(FakeTensor::alive, 0);
}

mlir::OwningOpRef<mlir::ModuleOp> BytecodeFixture::parse(const std::string &text) {
  std::string all = "!t = !mx.tensor<f32[4]>\n!s = !mx.tensor<f32[]>\n";
  for (const char *name : {"i64", "i32", "u8", "f32", "f64", "bool"})
    all += std::string("!") + name + " = !mx.tensor<" + name + "[] on host>\n";
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(all + text, &context);
  EXPECT_TRUE(module) << text;
  return module;
}

Program *BytecodeFixture::load(mlir::ModuleOp module, const std::string &entry) {
  BytecodeOptions options;
  options.entry = entry;
  std::optional<std::vector<uint8_t>> bytes = emitBytecode(module, options);
  if (!bytes) {
    ADD_FAILURE() << "no bytecode";
    return nullptr;
  }
  Result<Program *> loaded = vm->load(*bytes);
  if (loaded.failed()) {
    ADD_FAILURE() << loaded.takeStatus().message();
    return nullptr;
  }
  programs.push_back(loaded.take());
  return programs.back();
}

Program *BytecodeFixture::load(const std::string &text, const std::string &entry) {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
  return module ? load(*module, entry) : nullptr;
}

Value BytecodeFixture::call(Program *program, std::string_view function, std::vector<Value> &args) {
  results.emplace_back();
  Status status = vm->call(program, function, args, results.back());
  EXPECT_TRUE(status.ok()) << status.message();
  return results.back();
}

int64_t BytecodeFixture::callInt(Program *program, std::string_view function,
                                 std::vector<int64_t> args) {
  std::vector<Value> values;
  for (int64_t arg : args)
    values.push_back(Value::integer(arg));
  return call(program, function, values).i;
}

double BytecodeFixture::callFloat(Program *program, std::string_view function,
                                  std::vector<float> args) {
  std::vector<Value> values;
  for (float arg : args)
    values.push_back(Value::f32(arg));
  return numberOf(call(program, function, values));
}

std::string BytecodeFixture::failure(Program *program, std::string_view function,
                                     std::vector<int64_t> args) {
  std::vector<Value> values;
  for (int64_t arg : args)
    values.push_back(Value::integer(arg));
  Value result;
  Status status = vm->call(program, function, values, result);
  EXPECT_TRUE(status.failed());
  release(vm->heap(), result);
  return status.message();
}

std::string BytecodeFixture::locations() const {
  std::string out;
  for (const Location &location : vm->traceback())
    out += (out.empty() ? "" : "; ") + std::to_string(location.line) + ':' +
           std::to_string(location.column) + ' ' + std::string(location.function->view());
  return out;
}

} // namespace mx::bytecode
