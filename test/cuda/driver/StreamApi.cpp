// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events and host functions.
#include "driver/Machine.h"

#include <chrono>

namespace mxemu {

struct StreamObject {
  std::shared_ptr<Stream> stream;
};
struct EventObject {
  unsigned flags = 0;
  Device *device = nullptr;
  bool recorded = false;
  Ticket ticket;
  std::shared_ptr<double> time; // set when the record runs
  std::shared_ptr<Capture> capture;
  std::vector<size_t> nodes;
};

std::shared_ptr<Stream> streamOf(CUstream stream) {
  Device &device = *currentDevice();
  auto value = reinterpret_cast<uintptr_t>(stream);
  if (value <= 1)
    return device.legacy;
  if (value == 2)
    return device.perThread;
  if (!machine().handles.count(stream))
    refuse(CUDA_ERROR_INVALID_HANDLE, "a stream that does not exist (any more)");
  return stream->stream;
}

static EventObject &eventOf(CUevent event) {
  if (!event || !machine().handles.count(event))
    refuse(CUDA_ERROR_INVALID_HANDLE, "an event that does not exist (any more)");
  return *event;
}

static void needLegacyWithoutCapture(const Stream &stream) {
  if (!stream.legacy)
    return;
  for (auto &other : stream.device->streams)
    if (other->capture && other->blocking) {
      other->capture->invalid = true;
      refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
             "the legacy stream is used while a blocking stream is capturing");
    }
}

void issueOrCapture(const std::shared_ptr<Stream> &stream, Node node) {
  if (!stream->capture) {
    needLegacyWithoutCapture(*stream);
    Task task;
    task.run = std::move(node.run);
    task.host = node.host;
    Ticket ticket = machine().issue(stream, std::move(task));
    if (node.host)
      machine().wakeWorker(ticket);
    return;
  }
  Capture &capture = *stream->capture;
  if (capture.invalid)
    refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  node.after = stream->lastNodes;
  capture.nodes.push_back(std::move(node));
  stream->lastNodes.assign(1, capture.nodes.size() - 1);
}

static void createStream(CUstream *result, unsigned flags) {
  if (!result || flags > 1)
    refuse(CUDA_ERROR_INVALID_VALUE);
  auto stream = std::make_shared<Stream>();
  stream->device = currentDevice();
  stream->blocking = !(flags & CU_STREAM_NON_BLOCKING);
  stream->device->streams.push_back(stream);
  *result = new StreamObject{stream};
  machine().handles.insert(*result);
}

static void refuseCapture(const std::shared_ptr<Stream> &stream, const char *what) {
  if (!stream->capture)
    return;
  stream->capture->invalid = true;
  refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
         std::string(what) + " while the stream is capturing");
}

} // namespace mxemu

using namespace mxemu;

MXEMU_API CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  return enter(Need::Context, [&] { createStream(stream, flags); });
}
MXEMU_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int) {
  return enter(Need::Context, [&] { createStream(stream, flags); });
}
MXEMU_API CUresult cuStreamDestroy_v2(CUstream handle) {
  return enter(Need::Context, [&] {
    if (reinterpret_cast<uintptr_t>(handle) <= 2)
      refuse(CUDA_ERROR_INVALID_HANDLE, "the default streams cannot be destroyed");
    // What was issued still runs; tickets keep the stream.
    streamOf(handle)->destroyed = true;
    machine().handles.erase(handle);
    delete handle;
  });
}
MXEMU_API CUresult cuStreamSynchronize(CUstream handle) {
  return enter(Need::Context, [&] {
    auto stream = streamOf(handle);
    refuseCapture(stream, "cuStreamSynchronize");
    if (stream->legacy)
      machine().drive(machine().issue(stream, {[] {}, {}, false}));
    else
      machine().drive({stream, stream->issued});
  });
}
MXEMU_API CUresult cuStreamQuery(CUstream handle) {
  return enter(Need::Context, [&] {
    auto stream = streamOf(handle);
    refuseCapture(stream, "cuStreamQuery");
    Ticket all{stream, stream->issued};
    bool ready = machine().isDone(all);
    machine().poll(all);
    if (!ready)
      refuse(CUDA_ERROR_NOT_READY);
  });
}
MXEMU_API CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned) {
  return enter(Need::Context, [&] {
    auto stream = streamOf(handle);
    EventObject &event = eventOf(eventHandle);
    if (!event.recorded)
      return;
    if (event.capture) {
      if (stream->capture && stream->capture != event.capture)
        refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "an event of another capture");
      if (!stream->capture) {
        stream->capture = event.capture;
        stream->lastNodes.clear();
        event.capture->members.push_back(stream);
      }
      for (size_t node : event.nodes)
        if (std::find(stream->lastNodes.begin(), stream->lastNodes.end(), node) ==
            stream->lastNodes.end())
          stream->lastNodes.push_back(node);
      return;
    }
    if (stream->capture)
      refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
             "a capturing stream waits for an event that was recorded outside");
    machine().issue(stream, {[] {}, {event.ticket}, false});
  });
}
MXEMU_API CUresult cuLaunchHostFunc(CUstream handle, void (*function)(void *), void *data) {
  return enter(Need::Context, [&] {
    if (!function)
      refuse(CUDA_ERROR_INVALID_VALUE);
    Node node;
    node.type = CU_GRAPH_NODE_TYPE_HOST;
    node.host = true;
    node.run = [function, data] { function(data); };
    issueOrCapture(streamOf(handle), std::move(node));
  });
}

MXEMU_API CUresult cuEventCreate(CUevent *event, unsigned flags) {
  return enter(Need::Context, [&] {
    if (!event)
      refuse(CUDA_ERROR_INVALID_VALUE);
    *event = new EventObject;
    (*event)->flags = flags;
    (*event)->device = currentDevice();
    machine().handles.insert(*event);
  });
}
MXEMU_API CUresult cuEventDestroy_v2(CUevent event) {
  return enter(Need::Context, [&] {
    eventOf(event);
    machine().handles.erase(event);
    delete event;
  });
}
MXEMU_API CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  return enter(Need::Context, [&] {
    EventObject &event = eventOf(handle);
    auto stream = streamOf(streamHandle);
    if (stream->device != event.device)
      refuse(CUDA_ERROR_INVALID_HANDLE, "an event is recorded in a stream of another device");
    event.recorded = true;
    event.capture = stream->capture;
    if (stream->capture) {
      event.nodes = stream->lastNodes;
      return;
    }
    auto time = std::make_shared<double>(0);
    event.time = time;
    event.ticket =
        machine().issue(stream, {[time] {
                                   *time = std::chrono::duration<double, std::milli>(
                                               std::chrono::steady_clock::now().time_since_epoch())
                                               .count();
                                 },
                                 {},
                                 false});
  });
}
MXEMU_API CUresult cuEventSynchronize(CUevent handle) {
  return enter(Need::Context, [&] {
    EventObject &event = eventOf(handle);
    if (event.capture)
      refuse(CUDA_ERROR_CAPTURED_EVENT,
             "the host waits for an event that was recorded in a capture");
    machine().drive(event.ticket);
  });
}
MXEMU_API CUresult cuEventQuery(CUevent handle) {
  return enter(Need::Context, [&] {
    EventObject &event = eventOf(handle);
    if (event.capture)
      refuse(CUDA_ERROR_CAPTURED_EVENT,
             "the host asks for an event that was recorded in a capture");
    bool ready = machine().isDone(event.ticket);
    machine().poll(event.ticket);
    if (!ready)
      refuse(CUDA_ERROR_NOT_READY);
  });
}
MXEMU_API CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent startHandle,
                                         CUevent endHandle) {
  return enter(Need::Context, [&] {
    EventObject &start = eventOf(startHandle), &end = eventOf(endHandle);
    if (!milliseconds)
      refuse(CUDA_ERROR_INVALID_VALUE);
    if (!start.recorded || !end.recorded || (start.flags | end.flags) & CU_EVENT_DISABLE_TIMING)
      refuse(CUDA_ERROR_INVALID_HANDLE,
             "the time between events that were not recorded or have no timing");
    if (!machine().isDone(start.ticket) || !machine().isDone(end.ticket))
      refuse(CUDA_ERROR_NOT_READY);
    *milliseconds = float(*end.time - *start.time);
  });
}
MXEMU_API CUresult cuStreamIsCapturing(CUstream handle, Enum *status) {
  return enter(Need::Context, [&] {
    if (!status)
      refuse(CUDA_ERROR_INVALID_VALUE);
    auto stream = streamOf(handle);
    *status = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  });
}
