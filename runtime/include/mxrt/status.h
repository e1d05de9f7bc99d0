// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Status values: the error reporting of the C ABI.
//
// A status is one pointer. NULL is success and costs nothing. Anything else is an error with a
// code, a message, the source location that issued the failing work and the one that noticed
// it. The receiver of an error owns one reference and returns it with mxrt_status_release, or
// passes it on.
//
// Errors need no memory: if the allocator fails, an error comes from the reserve of its owner
// or is one of a set of constant objects. Thus no function here can fail; at worst the message
// is shortened.
//
// Thread safety: a status may be retained and released from any thread. The functions that
// change one (marked "consumes") take the caller's reference and return the changed status; a
// shared one is copied first (copy on write), so readers on other threads never see a change.

#ifndef MXRT_STATUS_H
#define MXRT_STATUS_H

#include "mxrt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/// MXRT_OUT_OF_MEMORY == 101 is shown to users as R0101, and so on.
typedef enum mxrt_code MXRT_ENUM_INT32 {
  MXRT_OK = 0,
#define MXRT_CODE(name, number, text) MXRT_##name = number,
#include "mxrt/codes.def"
} mxrt_code;

typedef struct mxrt_status_object *mxrt_status;

/// Makes an error. `allocator` may be NULL (then the system allocator). The message is a printf
/// format: lower case, no full stop; lines after the first are notes. The error keeps
/// `allocator` itself, which must outlive it. `code` MXRT_OK is a usage error and becomes
/// MXRT_INTERNAL.
MXRT_EXPORT mxrt_status mxrt_status_make(const mxrt_allocator *allocator,
                                         mxrt_code code, mxrt_location location,
                                         const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/// As mxrt_status_make with literal text, for compiled code. No formatting.
MXRT_EXPORT mxrt_status mxrt_status_text(const mxrt_allocator *allocator,
                                         mxrt_code code,
                                         const mxrt_location *location,
                                         const char *message);

/// The constant object of `code`: never allocates, needs no release (though releasing is
/// harmless), has no source locations. The last resort.
MXRT_EXPORT mxrt_status mxrt_status_constant(mxrt_code code);

/// Adds a reference. NULL in, NULL out.
MXRT_EXPORT mxrt_status mxrt_status_retain(mxrt_status status);
/// Releases a reference. NULL is allowed.
MXRT_EXPORT void mxrt_status_release(mxrt_status status);

/// Consumes `status`; sets the location that issued the error if none is set yet (the innermost
/// location wins). NULL in, NULL out.
MXRT_EXPORT mxrt_status mxrt_status_issued(mxrt_status status,
                                           mxrt_location location);
/// Consumes `status`; sets the location that noticed the error, replacing an earlier one. NULL
/// in, NULL out.
MXRT_EXPORT mxrt_status mxrt_status_noticed(mxrt_status status,
                                            mxrt_location location);
/// Consumes `status`; adds a line of text after the message. It is shown as a
/// note unless it begins with "note: " or "help: " itself.
MXRT_EXPORT mxrt_status mxrt_status_note(mxrt_status status, const char *note);

/// MXRT_OK for NULL.
MXRT_EXPORT mxrt_code mxrt_status_code(mxrt_status status);
/// "" for NULL. Valid until the reference is released or consumed, as are the files of the two
/// locations below.
MXRT_EXPORT const char *mxrt_status_message(mxrt_status status);
/// Where the failing work was issued; all zero if unknown.
MXRT_EXPORT mxrt_location mxrt_status_location(mxrt_status status);
/// Where the error was noticed; all zero if not (yet) noticed elsewhere.
MXRT_EXPORT mxrt_location mxrt_status_noticed_location(mxrt_status status);

/// Writes "error[R0101]: message\n --> file:line:col\n ..." into `buffer` (always terminated if
/// capacity > 0) and returns the required length without the terminator, like snprintf.
MXRT_EXPORT size_t mxrt_status_format(mxrt_status status, char *buffer,
                                      size_t capacity);

/// The name in codes.def ("OUT_OF_MEMORY"), "OK" for 0, "?" if unknown. Static.
MXRT_EXPORT const char *mxrt_code_name(mxrt_code code);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_STATUS_H
