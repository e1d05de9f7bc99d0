// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/Machine.h"

#include <chrono>
#include <cstdlib>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace mxemu {

Machine &machine() {
  // Never destroyed: other threads and late destructors may still call.
  static Machine *instance = new Machine;
  return *instance;
}
std::vector<CUcontext> &contextStack() {
  static thread_local std::vector<CUcontext> stack;
  return stack;
}
bool &insideHostFunction() {
  static thread_local bool inside = false;
  return inside;
}

static uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

Machine::Machine() { reset(); }

void Machine::reset() {
  devices.clear();
  for (auto &[base, range] : pinned)
    if (range.owned)
      munmap(reinterpret_cast<void *>(base), range.bytes);
  pinned.clear();
  handles.clear();
  forWorker.clear();
  initialized = false;
  lastFinding.clear();
  findings = 0;
  threadInstructions = nanoseconds = 0;
  seed = setting("MXEMU_SEED", 0);
  random.seed(seed);
  checkInit = setting("MXEMU_CHECK_INIT", 1) != 0;
  checkRaces = setting("MXEMU_CHECK_RACES", 1) != 0;
  stepLimit = setting("MXEMU_STEPS", 400'000'000);
  uint64_t count = std::min<uint64_t>(setting("MXEMU_DEVICES", 2), 16);
  for (uint64_t i = 0; i < count; ++i) {
    auto device = std::make_unique<Device>();
    device->index = int(i);
    device->context = makeContext(int(i));
    for (auto *stream : {&device->legacy, &device->perThread}) {
      *stream = std::make_shared<Stream>();
      (*stream)->device = device.get();
      device->streams.push_back(*stream);
    }
    device->legacy->legacy = true;
    devices.push_back(std::move(device));
  }
}

HostRange *Machine::pinnedRange(uint64_t address, uint64_t bytes) {
  auto above = pinned.upper_bound(address);
  if (above == pinned.begin())
    return nullptr;
  auto &[base, range] = *std::prev(above);
  return address - base < range.bytes && range.bytes - (address - base) >= bytes ? &range : nullptr;
}

bool Machine::isMapped(uint64_t address) {
  long page = sysconf(_SC_PAGESIZE);
  unsigned char state;
  return mincore(reinterpret_cast<void *>(address / uint64_t(page) * uint64_t(page)), 1, &state) ==
         0;
}

Ticket Machine::issue(const std::shared_ptr<Stream> &stream, Task task) {
  Device &device = *stream->device;
  // The legacy stream waits for all blocking streams, and they wait for it.
  if (stream->legacy) {
    for (auto &other : device.streams)
      if (other->blocking && other != stream && other->issued > other->completed)
        task.after.push_back({other, other->issued});
  } else if (stream->blocking && device.legacy->issued > device.legacy->completed) {
    task.after.push_back({device.legacy, device.legacy->issued});
  }
  stream->tasks.push_back(std::move(task));
  return {stream, ++stream->issued};
}

bool Machine::isReady(const Stream &stream) const {
  if (stream.tasks.empty() || stream.running)
    return false;
  for (auto &ticket : stream.tasks.front().after)
    if (!isDone(ticket))
      return false;
  return true;
}

/// Runs the first task of a stream if everything before it is done.
bool Machine::runFront(Stream &stream) {
  if (!isReady(stream))
    return false;
  stream.running = true;
  Task task = std::move(stream.tasks.front());
  stream.tasks.pop_front();
  Device &device = *stream.device;
  // After an error the device does nothing more; host functions still run.
  if (task.host) {
    size_t depth = 0;
    auto function = std::move(task.run);
    // The lock may be held several times by this thread.
    lock.unlock(), ++depth;
    insideHostFunction() = true;
    function();
    insideHostFunction() = false;
    while (depth--)
      lock.lock();
  } else if (!device.error) {
    try {
      task.run();
    } catch (const Finding &finding) {
      report(&device, finding);
    }
  }
  stream.running = false;
  ++stream.completed;
  changed.notify_all();
  return true;
}

std::vector<std::shared_ptr<Stream>> Machine::allStreams() {
  std::vector<std::shared_ptr<Stream>> result;
  for (auto &device : devices)
    for (auto &stream : device->streams)
      result.push_back(stream);
  return result;
}

void Machine::runNeeded(const Ticket &ticket) {
  Stream &stream = *ticket.stream;
  while (stream.completed < ticket.count) {
    if (stream.running) {
      changed.wait(lock);
      continue;
    }
    std::vector<Ticket> before = stream.tasks.front().after;
    for (auto &other : before)
      if (!isDone(other))
        runNeeded(other);
    if (stream.completed < ticket.count)
      runFront(stream);
  }
}

void Machine::drive(const Ticket &ticket) {
  if (isDone(ticket))
    return;
  if (seed == 0) // nothing but what is needed
    return runNeeded(ticket);
  auto streams = allStreams();
  if (seed == 1) { // everything else first
    for (bool any = true; any;) {
      any = false;
      for (auto &stream : streams)
        if (stream != ticket.stream)
          any |= runFront(*stream);
    }
    runNeeded(ticket);
    return;
  }
  while (!isDone(ticket)) {
    auto &stream = streams[random() % streams.size()];
    bool any = runFront(*stream);
    for (size_t i = 0; i < streams.size() && !any && !isDone(ticket); ++i)
      any = runFront(*streams[i]);
    if (!any && !isDone(ticket))
      changed.wait(lock);
  }
}

void Machine::poll(const Ticket &ticket) {
  if (isDone(ticket) || (seed && random() % 2))
    return;
  Stream *stream = ticket.stream.get();
  // One task of the chain that the ticket waits for.
  while (!isReady(*stream)) {
    Stream *blocker = nullptr;
    if (stream->running || stream->tasks.empty())
      return;
    for (auto &other : stream->tasks.front().after)
      if (!isDone(other))
        blocker = other.stream.get();
    if (!blocker)
      return;
    stream = blocker;
  }
  runFront(*stream);
}

void Machine::driveDevice(Device &device) {
  auto streams = device.streams;
  if (seed == 1)
    std::reverse(streams.begin(), streams.end());
  else if (seed > 1)
    std::shuffle(streams.begin(), streams.end(), random);
  for (auto &stream : streams)
    drive({stream, stream->issued});
}

void Machine::report(Device *device, const Finding &finding) {
  lastFinding = finding.what();
  ++findings;
  if (device && !device->error)
    device->error = finding.code;
}

/// Host functions must run even if nobody waits for them.
void Machine::wakeWorker(const Ticket &ticket) {
  forWorker.push_back(ticket);
  if (!workerStarted) {
    workerStarted = true;
    std::thread([this] {
      std::unique_lock<std::recursive_mutex> guard(lock);
      for (;;) {
        while (forWorker.empty())
          changed.wait(lock);
        Ticket next = forWorker.front();
        forWorker.pop_front();
        if (!isDone(next))
          runNeeded(next);
      }
    }).detach();
  }
  changed.notify_all();
}

Device *currentDevice() {
  auto &stack = contextStack();
  if (stack.empty() || !stack.back())
    return nullptr;
  int index = deviceOf(stack.back());
  return index < 0 ? nullptr : machine().devices[size_t(index)].get();
}

void refuse(CUresult code, const std::string &text) {
  machine().report(nullptr, Finding(code, text));
  throw Refused{code};
}
void refuse(CUresult code) { throw Refused{code}; }

CUresult enter(Need need, const std::function<void()> &body) {
  std::unique_lock<std::recursive_mutex> guard(machine().lock);
  try {
    if (insideHostFunction())
      refuse(CUDA_ERROR_NOT_PERMITTED, "a host function called the driver");
    if (need != Need::Nothing && !machine().initialized)
      return CUDA_ERROR_NOT_INITIALIZED;
    Device *device = nullptr;
    if (need == Need::Context) {
      device = currentDevice();
      if (!device || !device->retained)
        refuse(CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
      if (device->error)
        return device->error;
    }
    body();
    return device ? device->error : CUDA_SUCCESS;
  } catch (const Refused &refused) {
    return refused.code;
  } catch (const Finding &finding) {
    machine().report(currentDevice(), finding);
    return finding.code;
  } catch (const std::bad_alloc &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception &error) {
    machine().report(nullptr, Finding(CUDA_ERROR_UNKNOWN, error.what()));
    return CUDA_ERROR_UNKNOWN;
  }
}

} // namespace mxemu
