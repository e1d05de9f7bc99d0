// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fixture of the tests of the host VM: a host that records its output, and programs
// from text.

#ifndef MX_TEST_VMTESTSUPPORT_H
#define MX_TEST_VMTESTSUPPORT_H

#include "../TestAllocator.h"
#include "host/text/Assembler.h"
#include "host/Program.h"
#include "host/Vm.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace mxrt::host {

/// A tensor of the tests is a counted number.
struct FakeTensor {
  double number;
  int refs;
  static int alive;
};
extern const ForeignType fakeTensorType;
/// Owned by the caller; unset if there is no memory.
Value makeFakeTensor(Heap &heap, double number);

class TestHost : public HostInterface {
public:
  std::string output;
  std::vector<std::string> invoked; // "tensor add", "graph step"
  Status print(std::string_view text) override;
  Status resolve(ImportKind sort, std::string_view name, const Signature &signature,
                 void *&target) override;
  Status invoke(ImportKind sort, void *target, Invocation &call) override;
  Status readScalar(const Value &tensor, Kind wanted, Value &out) override;
  Status show(const Value &foreign, std::string_view spec, Text &out) override;
};

/// A VM with everything a test needs; checks at the end that nothing leaked.
class VmFixture : public ::testing::Test {
protected:
  VmFixture();
  ~VmFixture() override;

  /// A text that must assemble.
  static std::vector<uint8_t> bytesOf(std::string_view text);
  Program *load(std::string_view text);
  /// Runs the entry of a text; the error's message or "".
  std::string run(std::string_view text);
  /// What the text printed; fails the test on an error.
  std::string output(std::string_view text);
  /// Calls `function` with numbers; the result is a number.
  int64_t callInt(Program *program, std::string_view function, std::vector<int64_t> args);

  void restart(VmOptions options);

  TestAllocator allocator;
  TestHost host;
  Vm *vm = nullptr;
  std::vector<Program *> programs;
};

/// "line:column function" of each location, innermost first, "; " between.
std::string locationsOf(const Vm &vm);

} // namespace mxrt::host

#endif // MX_TEST_VMTESTSUPPORT_H
