// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mistakes that can be switched on, one at a time, to show that the simulator
// would notice them. Only sources that are compiled for tests with
// MXRT_NET_FAULTS ask; in the product `planted(...)` is a constant and no code
// is left of it.

#ifndef MXRT_NET_FAULTS_H
#define MXRT_NET_FAULTS_H

namespace mxrt::net {

enum class Fault {
  None,
  // of the session
  DuplicateAccepted,       // a packet that arrived before is taken again
  DamageAccepted,          // the checksum is not compared
  NoRetransmission,        // a lost packet is not sent again
  FragmentsInArrivalOrder, // the offset of a fragment is ignored
  CompletedAtFirstAck,     // a send completes when one of its packets arrived
  RestartUnnoticed,        // a new incarnation continues the old session
  LossNotSpread,           // a rank keeps to itself whom it lost
  SilenceIgnored,          // a silent peer is never declared lost
  // of matching
  MatchIgnoresKey,   // messages of different keys are exchanged
  MatchIgnoresChunk, // messages of different chunks are exchanged
  // of the collectives
  FoldInArrivalOrder,     // sums depend on which message came first
  OverwritesWhileSending, // a result is written where a send still reads
  OwnAddedTwice,          // a rank's own gradient counts twice in a ring
  LossIgnored,            // a collective does not listen for lost members
  ZeroWeightMultiplied,   // a rank without rows multiplies instead of clearing
  LocalWeightOnly,        // a mean is divided by this rank's weight times W
  Count
};

#ifdef MXRT_NET_FAULTS
inline Fault plantedFault = Fault::None;
inline bool planted(Fault fault) { return plantedFault == fault; }
#else
constexpr bool planted(Fault) { return false; }
#endif

} // namespace mxrt::net

#endif // MXRT_NET_FAULTS_H
