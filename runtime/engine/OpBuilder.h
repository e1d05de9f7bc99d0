// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds an op with sorted accesses from the caller's description: all checks of a push that
// can refuse it before the engine's state changes.

#ifndef MXRT_ENGINE_OPBUILDER_H
#define MXRT_ENGINE_OPBUILDER_H

#include "engine/Engine.h"
#include "engine/OpPool.h"
#include "engine/VarTable.h"

#include <algorithm>
#include <cstring>

namespace mxrt::engine {

/// Resolves the handles into op->accesses(), sorted by variable index.
template <typename Sync>
Status listAccesses(const mxrt_allocator *alloc, const VarTable<Sync> &table,
                    const mxrt_op &desc, Op<Sync> *op) {
  using Node = Access<Sync>;
  Node *nodes = op->accesses();
  size_t count = op->accessCount;
  bool sorted = true;
  for (size_t i = 0; i < count; ++i) {
    bool write = i >= desc.read_count;
    mxrt_var handle = write ? desc.writes[i - desc.read_count] : desc.reads[i];
    Node &node = nodes[i];
    node.variable = table.find(handle);
    if (!node.variable)
      return badHandle(alloc, desc.name ? desc.name : "push", desc.location);
    node.generation = table.generationOf(handle);
    node.kind = write ? Node::Kind::Write : Node::Kind::Read;
    node.op = op;
    sorted &= i == 0 || nodes[i - 1].variable->index < node.variable->index;
  }
  if (sorted)
    return success(); // strictly increasing, so without duplicates
  std::sort(nodes, nodes + count, [](const Node &a, const Node &b) {
    return a.variable->index < b.variable->index;
  });
  for (size_t i = 1; i < count; ++i)
    if (nodes[i].variable == nodes[i - 1].variable &&
        !Sync::fault(Fault::DuplicateAccepted))
      return duplicateVar(alloc, desc.name, nodes[i].kind != nodes[i - 1].kind,
                          desc.location);
  return success();
}

/// Returns an op ready to enter the queues, without lane and sequence; or an error, in which
/// case nothing was taken.
template <typename Sync>
Result<Op<Sync> *> buildOp(const mxrt_allocator *alloc, OpPool<Sync> &pool,
                           const VarTable<Sync> &table, const mxrt_op &desc) {
  if (!desc.run)
    return badOp(alloc, "an op needs a function", desc.location);
  size_t accesses = desc.read_count + desc.write_count;
  if (desc.read_count > UINT16_MAX || accesses > UINT16_MAX)
    return badOp(alloc, "an op has at most 65535 variables", desc.location);
  if (desc.payload_bytes > UINT32_MAX)
    return badOp(alloc, "a copied payload has at most 4 GiB", desc.location);
  Op<Sync> *op = pool.acquire(accesses, desc.payload_bytes);
  if (!op)
    return outOfMemory(alloc, desc.location);
  Status status = listAccesses(alloc, table, desc, op);
  if (status.failed()) {
    pool.giveBack(op);
    return status;
  }
  op->flags = static_cast<uint8_t>(desc.flags & 0x1f);
  op->priority = desc.priority;
  op->run = desc.run;
  op->payload = desc.payload;
  if (desc.payload_bytes) {
    op->payload = pool.payloadRoom(op);
    std::memcpy(op->payload, desc.payload, desc.payload_bytes);
  }
  op->drop = desc.drop;
  op->cancel = desc.cancel ? mxrt_cancel_retain(desc.cancel) : nullptr;
  op->bytes = desc.bytes;
  op->name = desc.name;
  op->location = desc.location;
  return op;
}

/// Undoes buildOp: the push is refused, the caller keeps the payload.
template <typename Sync> void abandonOp(OpPool<Sync> &pool, Op<Sync> *op) {
  if (op->cancel)
    mxrt_cancel_release(op->cancel);
  pool.giveBack(op);
}

} // namespace mxrt::engine

#endif // MXRT_ENGINE_OPBUILDER_H
