// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dynamic loading of LAPACK from the system's OpenBLAS.

#include "routines/Lapack.h"
#include "base/Sync.h"
#include "routines/OpenBlas.h"

#include <cstring>

namespace mxrt {

namespace {

/// The user may name another library with the same functions.
constexpr const char *libraryVariable = "MX_LAPACK";
constexpr const char *libraryName = "libopenblas.so.0";

/// State of the process: the library is loaded once. Both tables are filled once, under the
/// lock.
struct Loaded {
  Mutex lock;
  bool tried = false;
  char missing[256] = ""; // name of what was not found
  Lapack<float> single;
  Lapack<double> twice;
};
Loaded loaded;

void noteMissing(const char *name) { strncpy(loaded.missing, name, sizeof(loaded.missing) - 1); }

template <typename Function> void find(void *library, const char *name, Function &function) {
  void *symbol = os::librarySymbol(library, name);
  if (!symbol && !loaded.missing[0])
    noteMissing(name);
  memcpy(&function, &symbol, sizeof(function));
}

void load() {
  const char *given = os::environment(libraryVariable);
  const char *name = given && given[0] ? given : libraryName;
  void *library = os::openLibrary(name, openBlasVariable, openBlasCoreType());
  if (!library)
    return noteMissing(name);
#define FIND(name)                                                                                 \
  find(library, "s" #name "_", loaded.single.name);                                                \
  find(library, "d" #name "_", loaded.twice.name)
  FIND(potrf);
  FIND(getrf);
  FIND(getrs);
  FIND(trsm);
  FIND(geqrf);
  FIND(orgqr);
  FIND(gesdd);
  FIND(syevd);
#undef FIND
  // One thread: the result must not depend on the number of threads, and the runtime manages the
  // threads.
  void (*setThreads)(int) = nullptr;
  if (void *symbol = os::librarySymbol(library, "openblas_set_num_threads"))
    memcpy(&setThreads, &symbol, sizeof(setThreads));
  if (setThreads)
    setThreads(1);
}

Status ready(const mxrt_context *context) {
  Lock lock(loaded.lock);
  if (!loaded.tried)
    load();
  loaded.tried = true;
  if (!loaded.missing[0])
    return success();
  return error(context->allocator, MXRT_NO_LIBRARY, context->location,
               "linear algebra needs OpenBLAS, but %s was not found; install it (on Debian: "
               "apt install libopenblas0-pthread), or name another library in %s",
               static_cast<const char *>(loaded.missing), libraryVariable);
}

} // namespace

Result<const Lapack<float> *> lapackF32(const mxrt_context *context) {
  MXRT_CHECK(ready(context));
  return &loaded.single;
}
Result<const Lapack<double> *> lapackF64(const mxrt_context *context) {
  MXRT_CHECK(ready(context));
  return &loaded.twice;
}

} // namespace mxrt
