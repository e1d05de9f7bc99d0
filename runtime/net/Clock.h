// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time source of the transports. Timeouts, retransmission and failure detection
// use a Clock, so that the simulator can run in virtual time.

#ifndef MXRT_NET_CLOCK_H
#define MXRT_NET_CLOCK_H

#include "base/Os.h"

namespace mxrt::net {

inline constexpr int64_t microsecond = 1000, millisecond = 1000000, second = 1000000000;

class Clock {
public:
  virtual ~Clock() = default;
  /// Nanoseconds since some moment; never goes back.
  virtual int64_t now() const = 0;
};

/// The system's monotonic clock, one for all processes of a machine.
class MonotonicClock final : public Clock {
public:
  int64_t now() const override { return os::monotonicNs(); }
};

} // namespace mxrt::net

#endif // MXRT_NET_CLOCK_H
