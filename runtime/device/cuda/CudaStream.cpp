// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams: events as tickets.

#include "device/cuda/Stream.h"

namespace mxrt::cuda {

CUresult Stream::open() {
  Current current(driver, context);
  CUresult result = driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  // A waiting host sleeps instead of spinning: the processors have other work.
  for (uint64_t i = 0; i < ringSize && result == CUDA_SUCCESS; ++i)
    result = driver.cuEventCreate(&events[i], CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
  return result;
}

void Stream::close() {
  Current current(driver, context);
  for (CUevent &event : events)
    if (event)
      driver.cuEventDestroy_v2(event);
  if (stream)
    driver.cuStreamDestroy_v2(stream);
  for (CUevent &event : events)
    event = nullptr;
  stream = nullptr;
}

CUresult Stream::follow(Ticket ticket) {
  if (!ticket.stream || ticket.stream == this || ticket.stream->isKnownDone(ticket.number))
    return CUDA_SUCCESS;
  return driver.cuStreamWaitEvent(stream, ticket.stream->events[ticket.number % ringSize], 0);
}

CUresult Stream::record(Ticket &out) {
  Lock lock(mutex);
  uint64_t number = issued.load(std::memory_order_relaxed) + 1;
  CUresult result = driver.cuEventRecord(events[number % ringSize], stream);
  if (result != CUDA_SUCCESS)
    return result;
  issued.store(number, std::memory_order_seq_cst);
  out = {this, number};
  return CUDA_SUCCESS;
}

void Stream::noteDone(uint64_t number) {
  uint64_t known = done.load(std::memory_order_relaxed);
  while (known < number &&
         !done.compare_exchange_weak(known, number, std::memory_order_acq_rel)) {
  }
}

CUresult Stream::wait(uint64_t number) {
  if (isKnownDone(number))
    return CUDA_SUCCESS;
  Current current(driver, context);
  CUresult result = driver.cuEventSynchronize(events[number % ringSize]);
  if (result == CUDA_SUCCESS)
    noteDone(number);
  return result;
}

} // namespace mxrt::cuda
