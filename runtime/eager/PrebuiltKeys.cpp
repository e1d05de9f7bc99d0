// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumeration of the keys of prebuilt kernels: names of operations, and the forms of each.

#include "eager/PrebuiltKeys.h"
#include "eager/OpKeys.h"

#include <cstdio>

namespace mxrt::eager {

namespace {

constexpr Layout c = Layout::Dense, s = Layout::Strided, one = Layout::Single;

void unary(const OpKeys &keys) { keys.elementwise(1, {c}); }
void binary(const OpKeys &keys) {
  keys.elementwise(1, {c, c});
  keys.elementwise(1, {c, one});
  keys.elementwise(1, {one, c});
}
/// And row, column and outer broadcasts.
void broadcast(const OpKeys &keys) {
  binary(keys);
  keys.elementwise(2, {c, s});
  keys.elementwise(2, {s, c});
  keys.elementwise(2, {s, s});
}
void select(const OpKeys &keys) {
  keys.elementwise(1, {c, c, c});
  keys.elementwise(1, {c, c, one});
}
void reduce(const OpKeys &keys) {
  keys.signature(signatures::Reduce, {{keys.op.type, c}}, keys.op.result);
}
void matmul(const OpKeys &keys) {
  mxrt_dtype type = keys.op.type;
  keys.signature(signatures::Matmul, {{type, c}, {type, c}}, type);
  keys.signature(signatures::Matmul, {{type, s}, {type, c}}, type);
  keys.signature(signatures::Matmul, {{type, c}, {type, s}}, type);
}
void iota(const OpKeys &keys) { keys.signature(signatures::Iota, {}, keys.op.type); }

/// Operations of a name, each with the types in `types` and the forms of `keys`.
struct PrebuiltRow {
  const char *names;
  uint32_t types;
  void (*keys)(const OpKeys &);
};
constexpr uint32_t bit(mxrt_dtype type) { return 1u << type; }
constexpr uint32_t floats = bit(MXRT_F32) | bit(MXRT_F64),
                   numbers = floats | bit(MXRT_I32) | bit(MXRT_I64);
constexpr PrebuiltRow rows[] = {
    {"add sub mul", numbers, broadcast},
    {"maximum minimum eq ne lt le gt ge", numbers, binary},
    {"div", floats, binary},
    {"and or", bit(MXRT_BOOL), binary},
    {"neg abs", numbers, unary},
    {"exp log sqrt tanh isfinite isnan", floats, unary},
    {"not", bit(MXRT_BOOL), unary},
    {"select", numbers, select},
    {"sum max min argmax", numbers, reduce},
    {"all any", bit(MXRT_BOOL), reduce},
    {"matmul", floats, matmul},
    {"iota", bit(MXRT_F32) | bit(MXRT_I32) | bit(MXRT_I64), iota},
};
/// Of `cast`: bits of the types to convert to.
constexpr uint32_t castsFrom(mxrt_dtype from) {
  if (from == MXRT_BOOL)
    return bit(MXRT_F32) | bit(MXRT_I64);
  return numbers & bit(from) ? (numbers | bit(MXRT_BOOL)) & ~bit(from) : 0;
}

} // namespace

Status prebuiltKeys(const mxrt_allocator *alloc, void (*add)(void *, std::string_view),
                    void *context) {
  auto each = [&](const char *name, void (*keys)(const OpKeys &)) -> Status {
    Operation op(alloc);
    MXRT_CHECK(parseOpName(alloc, name, op));
    keys({op, add, context});
    return success();
  };
  char name[64];
  for (const PrebuiltRow &row : rows)
    for (std::string_view names = row.names; !names.empty();) {
      std::string_view op = names.substr(0, names.find(' '));
      names.remove_prefix(op.size() < names.size() ? op.size() + 1 : op.size());
      for (int32_t type = 0; type < MXRT_DTYPE_COUNT; ++type)
        if (row.types >> type & 1) {
          const char *attributes = row.keys == reduce ? "(axes=all)" : "";
          snprintf(name, sizeof(name), "%.*s:%s%s", int(op.size()), op.data(),
                   mxrt_dtype_name(mxrt_dtype(type)), attributes);
          MXRT_CHECK(each(name, row.keys));
        }
    }
  for (int32_t from = 0; from < MXRT_DTYPE_COUNT; ++from)
    for (int32_t to = 0; to < MXRT_DTYPE_COUNT; ++to)
      if (castsFrom(mxrt_dtype(from)) >> to & 1) {
        snprintf(name, sizeof(name), "cast:%s:%s", mxrt_dtype_name(mxrt_dtype(from)),
                 mxrt_dtype_name(mxrt_dtype(to)));
        MXRT_CHECK(each(name, unary));
      }
  return success();
}

} // namespace mxrt::eager
