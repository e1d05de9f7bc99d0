// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lane numbers and names, for the engine, its threads and its traces.

#ifndef MXRT_ENGINE_LANENAMES_H
#define MXRT_ENGINE_LANENAMES_H

#include <cstdint>
#include <cstdio>

namespace mxrt::engine {

constexpr uint32_t devicesPerKind = 16;
constexpr uint32_t deviceKinds = 2;
constexpr uint32_t computeLanes = devicesPerKind * deviceKinds;
constexpr uint32_t copyLane = computeLanes;
constexpr uint32_t communicationLane = computeLanes + 1;
constexpr uint32_t laneCount = computeLanes + 2;

/// "cpu:0", "gpu:0", "copy", "comm"; `text` has 16 bytes.
inline void laneName(uint32_t lane, char *text) {
  if (lane >= computeLanes)
    std::snprintf(text, 16, "%s", lane == copyLane ? "copy" : "comm");
  else
    std::snprintf(text, 16, "%s:%u", lane < devicesPerKind ? "cpu" : "gpu",
                  lane % devicesPerKind);
}

} // namespace mxrt::engine

#endif // MXRT_ENGINE_LANENAMES_H
