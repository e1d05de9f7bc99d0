// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulated machine: devices, their streams and what was issued to them.
//
// Execution is lazy: work runs when a call waits for it or queries it, in an order that the seed
// chooses among those that streams and events allow. One lock guards everything; it is released
// only while a host function runs.
#pragma once

#include "driver/Cuda.h"
#include "exec/Warp.h"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace mxemu {

struct Stream;
struct Device;

/// The first `count` tasks of a stream.
struct Ticket {
  std::shared_ptr<Stream> stream;
  uint64_t count = 0;
};

struct Task {
  std::function<void()> run;
  std::vector<Ticket> after;
  bool host = false; // runs without the lock
};

struct Node {
  Enum type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::vector<size_t> after;
  std::shared_ptr<struct Launch> launch; // of a kernel
  std::function<void()> run;
  bool host = false;
};

/// A graph that is being captured.
struct Capture {
  std::vector<Node> nodes;
  Stream *origin = nullptr;
  std::vector<std::shared_ptr<Stream>> members;
  bool invalid = false;
};

struct Stream {
  Device *device = nullptr;
  bool blocking = true; // ordered with the legacy stream
  bool legacy = false;
  bool destroyed = false;
  bool running = false;
  std::deque<Task> tasks;
  uint64_t issued = 0, completed = 0;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> lastNodes; // of the capture
};

struct Device {
  int index = 0;
  std::unique_ptr<DeviceMemory> memory;
  CUcontext context = nullptr;
  int retained = 0;
  int error = 0; // sticky
  std::shared_ptr<Stream> legacy, perThread;
  std::vector<std::shared_ptr<Stream>> streams;
  std::set<int> peers; // whose memory kernels of this device may access
  CUmemoryPool defaultPool = nullptr;
};

/// A kernel launch with all of its parameters.
struct Launch {
  std::shared_ptr<Kernel> kernel;
  std::shared_ptr<struct Module> module;
  Device *device = nullptr;
  LaunchShape shape{};
  std::vector<char> params;
  CUfunction function = nullptr;
  bool cooperative = false;
};
void runLaunch(const Launch &launch);

struct HostRange {
  uint64_t bytes = 0;
  bool owned = false;
  unsigned pending = 0; // copies that have not run
};

class Machine {
public:
  Machine();
  void reset();

  std::recursive_mutex lock;
  std::vector<std::unique_ptr<Device>> devices;
  bool initialized = false;
  uint64_t seed = 0;
  bool checkInit = true, checkRaces = true;
  uint64_t stepLimit = 0;
  std::map<uint64_t, HostRange> pinned;
  std::string lastFinding;
  int findings = 0;
  uint32_t runSerial = 0;
  uint64_t threadInstructions = 0, nanoseconds = 0;
  std::mt19937_64 random;
  // Live handles of each kind; a handle that is not there is refused.
  std::set<const void *> handles;

  DeviceMemory *memoryOf(uint64_t address) {
    for (auto &device : devices)
      if (device->memory && device->memory->contains(address))
        return device->memory.get();
    return nullptr;
  }
  HostRange *pinnedRange(uint64_t address, uint64_t bytes);
  bool isPinned(uint64_t address, uint64_t bytes) { return pinnedRange(address, bytes) != nullptr; }
  static bool isMapped(uint64_t address);
  bool peerEnabled(int from, int to) { return devices[size_t(from)]->peers.count(to) != 0; }

  /// Issues a task behind everything that the stream's rules demand.
  Ticket issue(const std::shared_ptr<Stream> &stream, Task task);
  bool isDone(const Ticket &ticket) const {
    return !ticket.stream || ticket.stream->completed >= ticket.count;
  }
  /// Runs tasks until the ticket is done.
  void drive(const Ticket &ticket);
  /// Runs a few tasks that may run, for programs that ask instead of waiting.
  void poll(const Ticket &ticket);
  void driveDevice(Device &device);
  /// Notes a finding; the device's error sticks.
  void report(Device *device, const Finding &finding);
  void wakeWorker(const Ticket &ticket);

private:
  std::condition_variable_any changed;
  std::deque<Ticket> forWorker;
  bool workerStarted = false;
  bool runFront(Stream &stream);
  void runNeeded(const Ticket &ticket);
  std::vector<std::shared_ptr<Stream>> allStreams();
  bool isReady(const Stream &stream) const;
};

Machine &machine();

/// Contexts that the calling thread pushed.
std::vector<CUcontext> &contextStack();
/// Set while the thread runs a host function.
bool &insideHostFunction();
Device *currentDevice();

struct Refused {
  CUresult code;
};
/// Refuses a call; the text can be read like a finding.
[[noreturn]] void refuse(CUresult code, const std::string &text);
[[noreturn]] void refuse(CUresult code);

enum class Need { Nothing, Init, Context };
CUresult enter(Need need, const std::function<void()> &body);

/// The stream of a handle; special handles are those of the current device.
std::shared_ptr<Stream> streamOf(CUstream stream);
/// Issues a task to a stream, or records it as a node while the stream captures.
void issueOrCapture(const std::shared_ptr<Stream> &stream, Node node);
CUcontext makeContext(int device);
CUmemoryPool makePool(int device);
int deviceOf(CUcontext context);

} // namespace mxemu

#define MXEMU_API extern "C" __attribute__((visibility("default")))
