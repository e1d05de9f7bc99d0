// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of the host VM share: an allocator that counts and fails on
// demand, a host that remembers what was printed, programs from text.

#ifndef MX_TEST_VMTESTSUPPORT_H
#define MX_TEST_VMTESTSUPPORT_H

#include "host/text/Assembler.h"
#include "host/Program.h"
#include "host/Vm.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace mxrt::host {

/// Fails allocation number `failAt` (from 1), once or from then on.
struct CountingAllocator {
  mxrt_allocator interface{this, allocate, release, nullptr};
  long calls = 0;
  long failAt = 0;
  bool failOn = false; // all later ones too
  long live = 0;
  long liveBytes = 0;

  static void *allocate(void *user, size_t bytes, size_t align) {
    auto *self = static_cast<CountingAllocator *>(user);
    ++self->calls;
    if (self->failAt && (self->failOn ? self->calls >= self->failAt
                                      : self->calls == self->failAt))
      return nullptr;
    void *memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
    if (memory) {
      ++self->live;
      self->liveBytes += long(bytes);
    }
    return memory;
  }
  static void release(void *user, void *memory, size_t bytes, size_t) {
    auto *self = static_cast<CountingAllocator *>(user);
    --self->live;
    self->liveBytes -= long(bytes);
    std::free(memory);
  }
};

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

  CountingAllocator allocator;
  TestHost host;
  Vm *vm = nullptr;
  std::vector<Program *> programs;
};

/// "line:column function" of each place, innermost first, "; " between.
std::string placesOf(const Vm &vm);

} // namespace mxrt::host

#endif // MX_TEST_VMTESTSUPPORT_H
