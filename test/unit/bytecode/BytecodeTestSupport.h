// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of the mx dialect as text, compiled to bytecode and run on a VM whose tensors are small
// vectors of numbers. All emitted bytecode must load: the VM verifies it.
#pragma once
#include "Bytecode/Bytecode.h"
#include "dialects/mx/Mx.h"
#include "host/Vm.h"
#include "gtest/gtest.h"
#include <deque>

namespace mx::bytecode {

namespace host = mxrt::host;

/// A tensor of the tests.
struct FakeTensor {
  std::vector<double> numbers;
  static int alive;
  static int maxLive;
};
const std::vector<double> &numbersOf(const host::Value &tensor);

class FakeHost : public host::HostInterface {
public:
  std::string output;
  std::vector<std::string> called;
  /// Copies made by updates of shared tensors (copy on write).
  int copies = 0;

  mxrt::Status print(std::string_view text) override;
  mxrt::Status resolve(host::ImportKind sort, std::string_view name,
                       const host::Signature &signature, void *&target) override;
  mxrt::Status invoke(host::ImportKind sort, void *target, host::Invocation &call) override;
  mxrt::Status readScalar(const host::Value &tensor, host::Kind wanted, host::Value &out) override;
  mxrt::Status show(const host::Value &foreign, std::string_view spec, host::Text &out) override;

private:
  mxrt::Status update(host::Invocation &call);
};

host::Value makeTensor(host::Heap &heap, std::vector<double> numbers);

/// `!i64 !i32 !f32 !f64 !bool` are numbers of the host, `!t` is f32[4], `!s` f32[] of a device.
class BytecodeFixture : public ::testing::Test {
protected:
  BytecodeFixture();
  ~BytecodeFixture() override;

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);
  host::Program *load(mlir::ModuleOp module, const std::string &entry = "");
  host::Program *load(const std::string &text, const std::string &entry = "");
  /// The result, which the fixture releases; a failed test if there is an error.
  host::Value call(host::Program *program, std::string_view function,
                   std::vector<host::Value> &args);
  int64_t callInt(host::Program *program, std::string_view function, std::vector<int64_t> args);
  double callFloat(host::Program *program, std::string_view function, std::vector<float> args);
  /// The error's message.
  std::string failure(host::Program *program, std::string_view function, std::vector<int64_t> args);
  /// "line:column function" of each location of the last error, innermost first, "; " between.
  std::string locations() const;

  mlir::MLIRContext context;
  FakeHost fake;
  host::Vm *vm = nullptr;
  std::vector<host::Program *> programs;
  std::deque<host::Value> results;
};

} // namespace mx::bytecode
