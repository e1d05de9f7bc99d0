// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fault injection: bugs that can be switched on, one at a time, to show that the
// simulator would catch them. Only sources compiled for tests with
// MXRT_NET_FAULTS check for them; in the production build `planted(...)` is a
// constant and compiles to no code.

#ifndef MXRT_NET_FAULTS_H
#define MXRT_NET_FAULTS_H

namespace mxrt::net {

enum class Fault {
  None,
  // of the session
  DuplicateAccepted,       // a duplicate packet is delivered again
  DamageAccepted,          // the checksum is not compared
  NoRetransmission,        // a lost packet is not retransmitted
  FragmentsInArrivalOrder, // the offset of a fragment is ignored
  CompletedAtFirstAck,     // a send completes when one of its packets arrived
  RestartUnnoticed,        // a new incarnation continues the old session
  LossNotSpread,           // a rank does not report the ranks it lost
  SilenceIgnored,          // a silent peer is never declared lost
  // of matching
  MatchIgnoresKey,   // messages of different keys are swapped
  MatchIgnoresChunk, // messages of different chunks are swapped
  // of the collectives
  FoldInArrivalOrder,     // sums depend on which message came first
  OverwritesWhileSending, // a result is written where a send still reads
  OwnAddedTwice,          // a rank's own gradient counts twice in a ring
  LossIgnored,            // a collective does not listen for lost members
  ZeroWeightMultiplied,   // a rank without rows multiplies instead of clearing
  LocalWeightOnly,        // a mean is divided by this rank's weight times W
  // of encoded exchanges
  ResidualForgotten, // what an encoding left out is not kept
  FailureCommits,    // an exchange that failed keeps its residuals
  OrderIgnored,      // exchanges of the same keys run at the same time
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
