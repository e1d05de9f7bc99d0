// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache of kernels by key, and the construction of keys.

#include "eager/Kernels.h"
#include "eager/Issue.h"

#include <cstdio>
#include <cstring>

namespace mxrt::eager {

KernelTable::~KernelTable() {
  for (Row &row : rows)
    releaseBytes(rows.allocator(), row.key, row.size, 1);
}

static uint64_t hashOf(std::string_view text) {
  uint64_t hash = 14695981039346656037u; // FNV-1a
  for (char c : text)
    hash = (hash ^ uint8_t(c)) * 1099511628211u;
  return hash;
}

Result<mxrt_compiled_kernel> KernelTable::find(KernelSource *source, std::string_view key) {
  uint64_t hash = hashOf(key);
  for (const Row &row : rows)
    if (row.hash == hash && std::string_view(row.key, row.size) == key)
      return row.kernel;
  const mxrt_allocator *alloc = rows.allocator();
  Row row = {nullptr, key.size(), hash, nullptr};
  MXRT_CHECK(source ? source->find(key, row.kernel)
                    : error(alloc, MXRT_UNSUPPORTED, noLocation, "there are no kernels"));
  if (!row.kernel)
    return error(alloc, MXRT_UNSUPPORTED, noLocation, "no kernel for '%.*s'", int(key.size()),
                 key.data());
  row.key = static_cast<char *>(allocateBytes(alloc, key.size(), 1));
  if (!row.key || !rows.push(row)) {
    releaseBytes(alloc, row.key, key.size(), 1);
    return outOfMemory(alloc);
  }
  std::memcpy(row.key, key.data(), key.size());
  return row.kernel;
}

void KeyText::add(std::string_view more) {
  size_t length = more.size();
  if (length > sizeof(text) - used) // no key is that long
    length = sizeof(text) - used;
  std::memcpy(text + used, more.data(), length);
  used += length;
}

void KeyText::add(int64_t number) {
  char digits[24];
  std::snprintf(digits, sizeof(digits), "%lld", static_cast<long long>(number));
  add(std::string_view(digits));
}

void KeyText::operand(mxrt_dtype type, int32_t rank, Layout layout) {
  add(mxrt_dtype_name(type));
  add(":");
  add(int64_t(rank));
  if (rank > 0)
    add(layout == Layout::Dense ? "c" : "s");
}

void KeyText::writeElementwise(const char *op, int32_t rank, std::span<const KeyOperand> operands,
                               mxrt_dtype result) {
  add(op);
  const char *separator = " ";
  for (const KeyOperand &each : operands) {
    add(separator);
    operand(each.type, each.layout == Layout::Single ? 0 : rank, each.layout);
    separator = ",";
  }
  add(" -> ");
  operand(result, rank, Layout::Dense);
}

void KeyText::addOperands(const Signature &signature, int32_t spatial,
                          std::span<const KeyOperand> operands, mxrt_dtype result) {
  auto rank = [&](int32_t i) {
    return signature.ranks[i] - signature.spatial[i] * (kernelSpatial - spatial);
  };
  for (int32_t i = 0; i < signature.operands; ++i) {
    add(i == 0 ? " " : ",");
    operand(operands[size_t(i)].type, rank(i), operands[size_t(i)].layout);
  }
  add(" -> ");
  operand(result, rank(signature.operands), Layout::Dense);
}

void KeyText::write(const Signature &signature, std::initializer_list<KeyOperand> operands,
                    mxrt_dtype result, const char *op) {
  add(op ? op : signature.op);
  addOperands(signature, kernelSpatial, operands, result);
}

void KeyText::writeSized(const Signature &signature, std::span<const int64_t> sizes,
                         int32_t spatial, std::initializer_list<KeyOperand> operands,
                         mxrt_dtype result) {
  std::string_view op = signature.op;
  bool hasAttributes = op.back() == ')';
  add(hasAttributes ? op.substr(0, op.size() - 1) : op);
  add(hasAttributes ? ",sizes=" : "(sizes=");
  for (size_t i = 0; i < sizes.size(); ++i) {
    add(i == 0 ? "" : "/");
    add(sizes[i]);
  }
  add(")");
  addOperands(signature, spatial, operands, result);
}

} // namespace mxrt::eager
