// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers shared by the families of operations: operands, errors, results, and kernel calls.
// Internal to the executor.

#ifndef MXRT_EAGER_ISSUE_H
#define MXRT_EAGER_ISSUE_H

#include "eager/Executor.h"
#include "eager/OpNames.h"
#include "eager/Scalars.h"
#include "eager/Signatures.h"
#include "memory/Tensor.h"
#include "mxrt/call.h"

#include <cstring>
#include <span>

namespace mxrt::eager {

/// Memory layout of an operand, as in the key of a kernel.
enum class Layout : uint8_t { Single, Dense, Strided };

/// Number of multiplications with the same sizes after which a specialised kernel is compiled:
/// about as long as LLVM takes for one, at the speed of a size-generic kernel.
inline constexpr int64_t workWorthCompiling = int64_t(1) << 28;
/// Number of distinct sizes that one operation of a program counts. A program with more of them
/// uses size-generic kernels.
inline constexpr size_t maxSizedKernels = 32;
/// Those of a convolution with strides are the most.
inline constexpr int32_t maxKernelSizes =
    int32_t(sizeof(ConvSizes) / sizeof(int64_t)) + 2 + kernelSpatial;

/// A kernel's operands and sizes. Plain data: it is copied into the call.
struct KernelArguments {
  mxrt_compiled_kernel kernel;
  const char *name; // static
  uint64_t scalars[maxInputs];
  uint8_t operands = 0;
  /// Inputs, then the result: the index of a tensor or of a scalar of the call.
  uint8_t from[maxInputs + 1];
  int64_t sizes[maxKernelSizes]; // last field: truncated to the used part
};

/// Builder of a kernel call.
class KernelCall {
public:
  void input(mxrt_tensor *tensor) {
    arguments.from[arguments.operands++] = uint8_t(readCount);
    reads[readCount++] = tensor;
  }
  void scalar(uint64_t bits) {
    arguments.scalars[scalarCount] = bits;
    arguments.from[arguments.operands++] = uint8_t(scalarBit | scalarCount++);
  }
  /// The sizes of a signature: `sizes(MatmulSizes{.G = …})`.
  template <typename Sizes> void sizes(const Sizes &named) {
    static_assert(sizeof(Sizes) % sizeof(int64_t) == 0 && std::is_trivially_copyable_v<Sizes>);
    memcpy(arguments.sizes + sizeCount, &named, sizeof(Sizes));
    sizeCount += int32_t(sizeof(Sizes) / sizeof(int64_t));
  }
  /// Of an elementwise kernel, and strides.
  void sizes(const int64_t *numbers, int32_t count) {
    for (int32_t i = 0; i < count; ++i)
      size(numbers[i]);
  }
  void size(int64_t number) { arguments.sizes[sizeCount++] = number; }

  static constexpr uint8_t scalarBit = 0x80;
  KernelArguments arguments;
  mxrt_tensor *reads[maxInputs];
  int32_t readCount = 0;
  int32_t scalarCount = 0;
  int32_t sizeCount = 0;
};

/// An operand in the key of a kernel.
struct KeyOperand {
  mxrt_dtype type;
  Layout layout;
};

/// Text of a kernel key, without allocation.
class KeyText {
public:
  /// The key of a kernel of the signature. `op`: where several ops have it.
  void write(const Signature &signature, std::initializer_list<KeyOperand> operands,
             mxrt_dtype result, const char *op = nullptr);
  /// ... specialised for sizes, with so many spatial axes.
  void writeSized(const Signature &signature, std::span<const int64_t> sizes, int32_t spatial,
                  std::initializer_list<KeyOperand> operands, mxrt_dtype result);
  void writeElementwise(const char *op, int32_t rank, std::span<const KeyOperand> operands,
                        mxrt_dtype result);
  std::string_view view() const { return {text, used}; }

private:
  void add(std::string_view more);
  void add(int64_t number);
  /// Appends "f32:2s".
  void operand(mxrt_dtype type, int32_t rank, Layout layout);
  void addOperands(const Signature &signature, int32_t spatial,
                   std::span<const KeyOperand> operands, mxrt_dtype result);

  char text[800]; // the sizes of a convolution in decimal fit
  size_t used = 0;
};

/// Axes merged into one, from the outermost in.
struct AxisGroup {
  int64_t size = 1;
  int64_t stride = 0;
  /// False if no single stride covers them.
  bool add(int64_t more, int64_t step) {
    if (more == 1)
      return true;
    if (size != 1 && stride != step * more)
      return false;
    size *= more;
    stride = step;
    return true;
  }
};

/// One call of an operation.
struct OpCall {
  OpCall(EagerHost &host, Operation &op, host::Invocation &call)
      : host(host), op(op), call(call), runtime(host.owner), location(call.location) {}

  // -- errors: the operation's name, a colon, the text. The VM adds the source location, since it
  // raises them where the operation is issued.
  Status fail(mxrt_code code, const char *format, ...) const __attribute__((format(printf, 3, 4)));
  /// Prefixes an error of the tensor functions with the name.
  Status named(mxrt_status failure) const;
  Status operandCount(size_t wanted) const;
  const mxrt_allocator *alloc() const { return mxrt_runtime_allocator(runtime); }
  /// Whether a result of this type is checked for NaN.
  bool checksNan(mxrt_dtype type) const { return host.checkNan && isFloatType(type); }

  // -- operands
  size_t count() const { return call.args.size(); }
  /// Borrowed. R0803 if the operand is not a tensor.
  Result<mxrt_tensor *> tensor(size_t index) const;
  /// ... of this element type, else R0203.
  Result<mxrt_tensor *> tensor(size_t index, mxrt_dtype type) const;
  Result<int64_t> integer(size_t index) const;
  Result<double> number(size_t index) const;
  Status element(size_t index, mxrt_dtype type, uint64_t &bits) const;
  /// The operands from `first` on as sizes of a shape.
  Status shape(size_t first, int64_t *sizes, int32_t &rank) const;
  /// R0402 unless the tensor is on the operation's device.
  Status onDevice(const mxrt_tensor *tensor) const;

  // -- creation
  Result<TensorRef> create(mxrt_dtype type, int32_t rank, const int64_t *sizes,
                           mxrt_device device) const;
  Result<TensorRef> create(mxrt_dtype type, int32_t rank, const int64_t *sizes) const {
    return create(type, rank, sizes, op.device);
  }
  /// A view of `base` with the given sizes and strides.
  Result<TensorRef> view(const mxrt_tensor *base, int64_t offset, int32_t rank,
                         const int64_t *sizes, const int64_t *strides) const;
  /// A dense tensor with the elements of `from`, on the same device; issued.
  Result<TensorRef> denseCopy(mxrt_tensor *from) const;
  /// ... broadcast to a compatible shape.
  Result<TensorRef> denseCopy(mxrt_tensor *from, int32_t rank, const int64_t *sizes) const;
  /// A copy on another device; issued.
  Result<TensorRef> moved(mxrt_tensor *from, mxrt_device device) const;
  Status copyInto(mxrt_tensor *from, mxrt_tensor *to) const;
  /// Makes `tensor` (the caller's reference) writable with the same elements: itself, or a copy if
  /// another reader could observe a change (copy on write).
  Status prepareWrite(mxrt_tensor *&tensor) const;
  /// Sets every element of `to` to the one in `bits`; issued.
  Status fill(mxrt_tensor *to, uint64_t bits) const;
  /// Makes the tensor the operation's result.
  Status give(TensorRef tensor) const;

  // -- kernels
  bool carriesKernels() const { return host.source && host.source->isCarried(); }
  /// The kernel of a form, from the operation's cache; `key` writes its key.
  template <typename Key> Result<mxrt_compiled_kernel> kernel(uint32_t form, Key &&key) const {
    for (const KernelForm &known : op.kernels)
      if (known.form == form)
        return known.kernel;
    KeyText text;
    key(text);
    return newKernel(form, text.view());
  }
  /// The kernel specialised for these numbers, once the operation has done enough work with them
  /// that compiling pays; nullptr until then, and where kernels are not compiled. `key` writes its
  /// key.
  template <typename Key>
  Result<mxrt_compiled_kernel> sizedKernel(const int64_t *numbers, int32_t count, int64_t work,
                                           Key &&key) const {
    SizedKernel *known = carriesKernels() ? nullptr : countWork(numbers, count, work);
    if (!known || known->kernel || known->work < workWorthCompiling)
      return known ? known->kernel : nullptr;
    KeyText text;
    key(text);
    return known->kernel = MXRT_TRY(host.kernels.find(host.source, text.view()));
  }
  Status issue(KernelCall &kernel, mxrt_tensor *result) const;
  /// Issues a call of a built-in kernel.
  Status issue(mxrt_kernel run, mxrt_tensor *const *reads, size_t readCount,
               mxrt_tensor *const *writes, size_t writeCount, const void *arguments,
               size_t argumentBytes, mxrt_device device) const;

  EagerHost &host;
  Operation &op;
  host::Invocation &call;
  mxrt_runtime *runtime;
  mxrt_location location;

private:
  Result<mxrt_compiled_kernel> newKernel(uint32_t form, std::string_view key) const;
  /// nullptr: not counted, for lack of memory or because sizes vary too much.
  SizedKernel *countWork(const int64_t *numbers, int32_t count, int64_t work) const;
};

/// Whether the strides are those of dense [a, b, c]; axes of size 1 are ignored.
inline bool isDense3(const AxisGroup &a, const AxisGroup &b, const AxisGroup &c) {
  return (c.size == 1 || c.stride == 1) && (b.size == 1 || b.stride == c.size) &&
         (a.size == 1 || a.stride == b.size * c.size);
}
/// The strides of an operand with three axes, after all sizes.
inline void addStrides3(KernelCall &call, Layout layout, const AxisGroup &a, const AxisGroup &b,
                        const AxisGroup &c) {
  if (layout != Layout::Strided)
    return;
  call.size(a.stride);
  call.size(b.stride);
  call.size(c.stride);
}

// The families.
Status runElementwise(OpCall &call);
Status runReduce(OpCall &call);
Status runMatmul(OpCall &call);
Status runConv(OpCall &call);
Status runWindows(OpCall &call);
Status runFold(OpCall &call);
Status runRoutine(OpCall &call); // those along an axis, on rows, on matrices
Status runReshape(OpCall &call);
Status runBroadcast(OpCall &call);
Status runTranspose(OpCall &call);
Status runConcat(OpCall &call);
Status runIndex(OpCall &call);
Status runUpdate(OpCall &call);
Status runScatterAdd(OpCall &call);
Status runCopy(OpCall &call);
Status runTo(OpCall &call);
Status runWait(OpCall &call);
Status runFull(OpCall &call);
Status runIota(OpCall &call);
Status runLiteral(OpCall &call);
Status runRandom(OpCall &call); // uniform, normal, bernoulli, randint, permutation, fork
Status runCategorical(OpCall &call);

/// x converted by the kernel of `cast`; used where an operation samples in f32.
Result<TensorRef> castTensor(OpCall &call, mxrt_tensor *from, mxrt_dtype to);

/// Whether `tensor` can be broadcast to `sizes`.
bool broadcastsTo(const mxrt_tensor *tensor, int32_t rank, const int64_t *sizes);

/// Appends the printed form of a tensor whose elements are computed. Returns nullptr, or what is
/// wrong with the format.
const char *showTensor(const mxrt_tensor *tensor, std::string_view spec, host::Text &out);

} // namespace mxrt::eager

#endif // MXRT_EAGER_ISSUE_H
