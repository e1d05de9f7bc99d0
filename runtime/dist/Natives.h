// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native functions of the KVStore for host code. A `kv` is a handle.
//
//   mx.dist.local(workers: i64, over: str, outer: str, inner: i64) -> kv
//       `over`: "direct", "ring", "tree" or "levels"; `outer` and `inner` are those
//       of levels (else "direct" and 1). Every call makes a connection of its own.
//   mx.dist.rank(kv) -> i64
//   mx.dist.size(kv) -> i64
//   mx.dist.members(kv) -> i64
//   mx.dist.init(kv, name, value, name, value, ...) -> (value, ...)
//   mx.dist.average(kv, weight: f64, name, value, ...) -> (value, ...)
//   mx.dist.sum(kv, name, value, ...) -> (value, ...)
//   mx.dist.gather(kv, name, value, ...) -> (value, ...)
//   mx.dist.scatter(kv, name, value, ...) -> (value, ...)
//   mx.dist.barrier(kv)
//   mx.dist.stats(kv) -> (sent_bytes: i64, received_bytes: i64, sent_messages: i64,
//                         received_messages: i64, calls: i64, wait_seconds: f64)
//   mx.dist.table(kv, key: str) -> str        one row a key; all keys for ""
//   mx.dist.close(kv)
//
// A value is a tensor, or an aggregate whose leaves are tensors (a model, a gradient,
// a tuple): each leaf is a key, named by its path below `name`, as in checkpoints.
// The result has the same structure, with new tensors; nothing is written in place.
// Names come in the order of first use in the forward pass, front layers first:
// it decides about buckets and priorities. Nothing waits but barrier, stats, table and
// the numbers of init.
//
//   init      any element type; host numbers (bool, i64, f32, f64) get those of
//             rank 0 too, which waits for them
//   average   f16, bf16, f32, f64; f16 and bf16 are summed in f32 and rounded once
//   sum       the same
//   gather    any element type; f32[n, ...] becomes f32[size * n, ...]
//   scatter   as sum; f32[n, ...] becomes f32[n / size, ...], n a multiple of size
//
// average, sum, gather and scatter refuse host numbers (R0203): a number is known to
// the program, a rank-0 tensor is what travels. Units and functions stay as they are.

#ifndef MXRT_DIST_NATIVES_H
#define MXRT_DIST_NATIVES_H

#include "data/DataHost.h"

namespace mxrt::dist {

extern "C" const data::NativeGroup mxrt_natives_dist;

} // namespace mxrt::dist

#endif // MXRT_DIST_NATIVES_H
