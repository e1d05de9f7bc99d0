// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "VmTestSupport.h"

namespace mxrt::host {

int FakeTensor::alive = 0;

static void dropTensor(void *payload) {
  auto *tensor = static_cast<FakeTensor *>(payload);
  if (--tensor->refs == 0) {
    --FakeTensor::alive;
    delete tensor;
  }
}
const ForeignType fakeTensorType = {"tensor", dropTensor};

Value makeFakeTensor(Heap &heap, double number) {
  auto *tensor = new FakeTensor{number, 1};
  ++FakeTensor::alive;
  ForeignObject *object = makeForeign(heap, &fakeTensorType, tensor);
  if (!object) {
    dropTensor(tensor);
    return Value();
  }
  return Value(Kind::Tensor, object);
}

static double numberOf(const Value &tensor) {
  return static_cast<FakeTensor *>(tensor.foreign()->payload)->number;
}

Status TestHost::print(std::string_view text) {
  output += text;
  return success();
}

enum class FakeOp : uintptr_t { Add = 1, Fill, Step, Broken };

Status TestHost::resolve(ImportKind sort, std::string_view name, const Signature &signature,
                         void *&target) {
  auto is = [&](ImportKind wanted, std::string_view text, FakeOp op) {
    if (sort != wanted || name != text)
      return false;
    target = reinterpret_cast<void *>(op);
    return true;
  };
  if (is(ImportKind::TensorOp, "add", FakeOp::Add) ||
      is(ImportKind::TensorOp, "fill", FakeOp::Fill) ||
      is(ImportKind::Graph, "step", FakeOp::Step) ||
      is(ImportKind::TensorOp, "broken", FakeOp::Broken))
    return success();
  return HostInterface::resolve(sort, name, signature, target);
}

Status TestHost::invoke(ImportKind sort, void *target, Invocation &call) {
  invoked.push_back((sort == ImportKind::Graph ? "graph " : "tensor ") + std::string(call.name));
  Heap &heap = call.vm.heap();
  switch (FakeOp(reinterpret_cast<uintptr_t>(target))) {
  case FakeOp::Add:
    call.result = makeFakeTensor(heap, numberOf(call.args[0]) + numberOf(call.args[1]));
    break;
  case FakeOp::Fill:
    call.result = makeFakeTensor(heap, double(call.args[0].f));
    break;
  case FakeOp::Step: { // step(mut model, x): model += x, gives the old model
    Value updated = makeFakeTensor(heap, numberOf(call.args[0]) + numberOf(call.args[1]));
    if (!updated.isSet())
      return heap.exhausted();
    call.result = call.args[0];
    call.args[0] = updated;
    break;
  }
  case FakeOp::Broken:
    return error(heap.baseAllocator(), MXRT_SHAPE, noLocation, "shapes do not fit");
  }
  return call.result.isSet() ? success() : heap.exhausted();
}

Status TestHost::readScalar(const Value &tensor, Kind wanted, Value &out) {
  double number = numberOf(tensor);
  switch (wanted) {
  case Kind::Bool:
    out = Value::boolean(number != 0);
    break;
  case Kind::Int:
    out = Value::integer(int64_t(number));
    break;
  case Kind::F32:
    out = Value::f32(float(number));
    break;
  case Kind::F64:
    out = Value::f64(number);
    break;
  default:
    return error(nullptr, MXRT_DTYPE, noLocation, "no such element");
  }
  return success();
}

Status TestHost::show(const Value &foreign, std::string_view spec, Text &out) {
  out.append("tensor(");
  out.appendInt(int64_t(numberOf(foreign)));
  out.append(spec.empty() ? "" : ":");
  out.append(spec);
  out.append(")");
  return success();
}

VmFixture::VmFixture() { restart({}); }

VmFixture::~VmFixture() {
  for (Program *program : programs)
    vm->unload(program);
  Vm::destroy(vm);
  EXPECT_EQ(allocator.liveBlocks(), 0);
  EXPECT_EQ(allocator.mistake(), "");
  EXPECT_EQ(FakeTensor::alive, 0);
}

void VmFixture::restart(VmOptions options) {
  Vm::destroy(vm);
  options.allocator = allocator.get();
  options.host = &host;
  Result<Vm *> made = Vm::create(options);
  ASSERT_TRUE(made.ok());
  vm = made.take();
}

std::vector<uint8_t> VmFixture::bytesOf(std::string_view text) {
  std::vector<uint8_t> bytes;
  std::string message;
  EXPECT_TRUE(assemble(text, bytes, message)) << message;
  return bytes;
}

Program *VmFixture::load(std::string_view text) {
  Result<Program *> loaded = vm->load(bytesOf(text));
  if (loaded.failed()) {
    ADD_FAILURE() << loaded.takeStatus().message();
    return nullptr;
  }
  programs.push_back(loaded.take());
  return programs.back();
}

std::string VmFixture::run(std::string_view text) {
  Program *program = load(text);
  if (!program)
    return "not loaded";
  return vm->run(program).message();
}

std::string VmFixture::output(std::string_view text) {
  host.output.clear();
  EXPECT_EQ(run(text), "");
  return host.output;
}

int64_t VmFixture::callInt(Program *program, std::string_view function,
                           std::vector<int64_t> args) {
  std::vector<Value> values;
  for (int64_t arg : args)
    values.push_back(Value::integer(arg));
  Value result;
  Status status = vm->call(program, function, values, result);
  EXPECT_TRUE(status.ok()) << status.message();
  return result.i;
}

std::string locationsOf(const Vm &vm) {
  std::string out;
  for (const Location &location : vm.traceback())
    out += (out.empty() ? "" : "; ") + std::to_string(location.line) + ':' +
           std::to_string(location.column) + ' ' + std::string(location.function->view());
  return out;
}

} // namespace mxrt::host
