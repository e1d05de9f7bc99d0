// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys that are not dense: announced numbers of rows, and the exchange of what each rank has.

#include "kvstore/Exchange.h"

#include <algorithm>
#include <cstring>

namespace mxrt::kvstore {
namespace {

size_t roundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

} // namespace

// -- numbers of rows ----------------------------------------------------------

bool Call::announce(std::span<const uint64_t> given) {
  if (!announcement.resize(sizeof(Announcement) + table.counted * sizeof(uint64_t)))
    return false;
  size_t count = std::min(given.size(), size_t(table.counted));
  if (count > 0)
    std::memcpy(announcement.data() + sizeof(Announcement), given.data(), count * sizeof(uint64_t));
  return true;
}

bool Call::prepareAnnouncement(int rank, size_t ranks) {
  if ((announcement.empty() && !announce({})) || !counts.resize(ranks * table.counted))
    return false;
  Announcement head = {table.hash, weight};
  std::memcpy(announcement.data(), &head, sizeof head);
  return readCounts(rank, {announcement.data(), announcement.size(), nullptr});
}

bool Call::readCounts(int rank, net::View view) {
  size_t bytes = table.counted * sizeof(uint64_t);
  if (view.bytes != sizeof(Announcement) + bytes)
    return false;
  const char *from = static_cast<const char *>(view.data) + sizeof(Announcement);
  for (size_t key = 0; key < table.counted; ++key)
    std::memcpy(&counts[key * peers.size() + size_t(rank)], from + key * sizeof(uint64_t),
                sizeof(uint64_t));
  return true;
}

/// A rank without weight contributes zeros, whatever its gradient holds: it sends no rows.
void Call::dropWeightless() {
  for (size_t i = 0; i < counts.size(); ++i)
    if (weightOf(int(i % peers.size())) == 0)
      counts[i] = 0;
}

std::span<const uint64_t> Call::countsOf(const Key &key) const {
  return {counts.data() + key.counted * peers.size(), peers.size()};
}

Form Call::travels(uint32_t bucket) const {
  const Key &key = table.keys[table.buckets[bucket].first];
  return key.form == Form::Dense ? Form::Dense : table.travels(key, countsOf(key));
}

uint64_t Call::sentBytes(uint32_t bucket) const {
  const Key &key = table.keys[table.buckets[bucket].first];
  if (travels(bucket) == Form::Dense)
    return table.plans[bucket].sentBytes();
  return countsOf(key)[size_t(table.plans[bucket].rank)] * table.entryBytes(key) *
         (peers.size() - 1);
}

// -- parts --------------------------------------------------------------------

Status Call::factorParts(uint32_t bucket, Vec<Part> &parts, size_t &bytes) const {
  const Key &key = table.keys[table.buckets[bucket].first];
  bytes = 0;
  for (size_t rank = 0; rank < peers.size(); ++rank)
    for (int64_t columns : table.shapeOf(key)) {
      size_t part = 0;
      size_t row = size_t(columns) * size_t(mxrt_dtype_size(key.dtype));
      bool fits = !__builtin_mul_overflow(countsOf(key)[rank], row, &part) && part < SIZE_MAX / 4;
      if (!fits || bytes > SIZE_MAX / 4)
        return error(parts.allocator(), MXRT_SIZE_OVERFLOW, noLocation,
                     "rank %zu has too many rows", rank);
      if (!parts.push({int(rank), {bytes, part}}))
        return outOfMemory(parts.allocator());
      bytes = roundUp(bytes + part, factorAlignment);
    }
  return success();
}

Status Exchange::startParts(Call::Flight &flight, Form form) {
  Call &call = *flight.call;
  const mxrt_allocator *alloc = transport.allocator();
  auto number = uint32_t(&flight - call.flights.data());
  const Key &key = call.table.keys[call.table.buckets[number].first];
  auto own = size_t(transport.rank());
  flight.parts = MXRT_TRY(makeBox<Call::PartsMemory>(alloc, alloc));
  Call::PartsMemory &parts = *flight.parts;
  size_t bytes = 0;
  void *memory = flight.memory;
  if (form == Form::Factors) {
    MXRT_CHECK(call.factorParts(number, parts.parts, bytes));
  } else {
    // They take at most half the bytes of the table.
    TableShape table = call.table.tableOf(key);
    for (uint64_t count : call.countsOf(key)) {
      size_t part = size_t(count) * table.entryBytes();
      if (!parts.parts.push({int(parts.parts.size()), {bytes, part}}))
        return outOfMemory(alloc);
      bytes = roundUp(bytes + part, sizeof(double));
    }
    if (!parts.bytes.resize(bytes / sizeof(double)))
      return outOfMemory(alloc);
    memory = parts.bytes.data();
    if (flight.own.count == allElements) // of weight 0
      std::memset(flight.memory, 0, table.rows * table.rowBytes());
    else if (call.countsOf(key)[own] > 0)
      packRows(table, flight.own, static_cast<char *>(memory) + parts.parts[own].range.begin);
  }
  MXRT_CHECK(parts.plan.makeParts(transport.rank(), transport.size(), bytes,
                                  {parts.parts.data(), parts.parts.size()}, size_t(1) << 20));
  Reduction reduction;
  reduction.tag = {0, call.number, number, 0};
  reduction.dtype = MXRT_U8;
  reduction.data = memory;
  run(flight, parts.plan, reduction);
  return success();
}

/// All rows are there. What happens to factors is not decided here.
Status Exchange::finishRows(Call::Flight &flight) {
  Call &call = *flight.call;
  const mxrt_allocator *alloc = transport.allocator();
  auto number = uint32_t(&flight - call.flights.data());
  const Key &key = call.table.keys[call.table.buckets[number].first];
  // The collective still refers to the plan.
  Vec<double> bytes = std::move(flight.parts->bytes);
  if (key.form != Form::Rows)
    return success();
  Vec<PackedRows> ranks(alloc);
  if (!ranks.resize(call.peers.size()))
    return outOfMemory(alloc);
  const char *memory = reinterpret_cast<const char *>(bytes.data());
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    ranks[rank] = {memory + flight.parts->parts[rank].range.begin, size_t(call.countsOf(key)[rank]),
                   call.weightOf(int(rank))};
  Status status = averageRows(alloc, call.table.layout, call.table.tableOf(key),
                              {ranks.data(), ranks.size()}, call.totalWeight, flight.memory);
  if (status.failed())
    fail(status.share());
  return status;
}

} // namespace mxrt::kvstore
