// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks every row of abi.def against the function's declaration at compile time, and builds the
// JIT's symbol table from the same rows.

#include "mxrt/abi.h"
#include "mxrt/call.h"
#include "mxrt/cpu.h"
#include "mxrt/engine.h"
#include "mxrt/guard.h"
#include "mxrt/launch.h"
#include "mxrt/memory.h"
#include "mxrt/parallel.h"
#include "mxrt/random.h"
#include "mxrt/routine.h"
#include "mxrt/runtime.h"
#include "mxrt/tensor.h"

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <type_traits>

namespace {

// The type names used in rows.
constexpr uint8_t VOID = MXRT_ABI_VOID, I32 = MXRT_ABI_I32, U32 = MXRT_ABI_U32,
                  I64 = MXRT_ABI_I64, U64 = MXRT_ABI_U64, F32 = MXRT_ABI_F32,
                  F64 = MXRT_ABI_F64, PTR = MXRT_ABI_PTR,
                  STATUS = MXRT_ABI_STATUS;
constexpr uint8_t CORE = 1, FULL = 0;
constexpr uint8_t unknown = 255;

/// The name of a C type in abi.def.
template <typename T> constexpr uint8_t wordFor() {
  if constexpr (std::is_void_v<T>)
    return VOID;
  else if constexpr (std::is_same_v<T, mxrt_status>)
    return STATUS;
  else if constexpr (std::is_pointer_v<T>)
    return PTR;
  else if constexpr (std::is_enum_v<T>)
    return sizeof(T) == 4 ? I32 : unknown;
  else if constexpr (std::is_same_v<T, float>)
    return F32;
  else if constexpr (std::is_same_v<T, double>)
    return F64;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return std::is_signed_v<T> ? I32 : U32;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return std::is_signed_v<T> ? I64 : U64;
  else
    return unknown;
}

template <typename Result, typename... Parameters>
constexpr bool agrees(Result (*)(Parameters...), uint8_t result,
                      std::initializer_list<uint8_t> row) {
  if (wordFor<Result>() != result || row.size() != sizeof...(Parameters))
    return false;
  const uint8_t *word = row.begin();
  return ((wordFor<Parameters>() == *word++) && ...);
}

#define MXRT_STRUCT(name, bytes)                                               \
  static_assert(sizeof(name) >= bytes, "layout.def and the header disagree on " #name);
#define MXRT_FIELD(name, field, offset)                                        \
  static_assert(offsetof(name, field) == offset,                               \
                "layout.def and the header disagree on " #name "::" #field);
#define MXRT_CONSTANT(name, value)                                             \
  static_assert(name == value, "layout.def and the header disagree on " #name);
#include "mxrt/layout.def"

#define WORDS(...) {__VA_ARGS__}
#define MXRT_FUNCTION(library, name, result, parameters)                       \
  static_assert(agrees(&name, result, WORDS parameters),                       \
                "abi.def and the header disagree on " #name);
#include "mxrt/abi.def"

constexpr uint8_t countWords(std::initializer_list<uint8_t> words) {
  return static_cast<uint8_t>(words.size());
}

const mxrt_abi_function functions[] = {
#define MXRT_FUNCTION(library, name, result, parameters)                       \
  {#name,  reinterpret_cast<void (*)()>(&name), library,                       \
   result, countWords(WORDS parameters),        WORDS parameters},
#include "mxrt/abi.def"
};

} // namespace

extern "C" {

const mxrt_abi_function *mxrt_abi_functions(size_t *count) {
  *count = sizeof(functions) / sizeof(*functions);
  return functions;
}

const mxrt_abi_function *mxrt_abi_find(const char *name) {
  for (const mxrt_abi_function &function : functions)
    if (strcmp(function.name, name) == 0)
      return &function;
  return nullptr;
}

} // extern "C"
