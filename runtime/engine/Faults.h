// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mistakes that can be switched on, one at a time, to show that the tests
// would notice them. Only a Sync made for tests answers true; in the product
// `Sync::fault(...)` is a constant and no code is left of it.

#ifndef MXRT_ENGINE_FAULTS_H
#define MXRT_ENGINE_FAULTS_H

namespace mxrt::engine {

enum class Fault {
  None,
  ReaderReleasedEarly,      // a reader gives its variable back before it ran
  WriterIgnoresReaders,     // a writer starts while readers are active
  ReaderJoinsWriter,        // a reader starts while the writer is active
  ReaderOvertakesWriter,    // a read is granted past a waiting write
  VariablesLockedOneByOne,  // a push is not atomic over its variables
  WaitCountTooLow,          // an op starts one variable too early
  WakesOnlyOneReader,       // after a write only the first reader is granted
  LostWakeUpOfWorker,       // a worker sleeps without a second look
  LostWakeUpOfWaiter,       // a wait's signal is not sent
  PusherSkipsWake,          // a push does not wake a sleeping worker
  LastSearcherForgets,      // the last searching worker wakes nobody
  SurplusForgotten,         // a worker leaves ops in the queue, wakes nobody
  PoisonNotPropagated,      // a skipped op leaves its outputs clean
  PoisonIgnored,            // an op runs although its input is poisoned
  PoisonOnReads,            // a failed op poisons what it only read
  VersionNotCounted,        // a skipped write does not count
  DeleteBeforeReads,        // a deletion does not wait for pending reads
  DeletedHandleAccepted,    // a push on a deleted variable is let through
  PriorityReversed,         // the least important op runs first
  PriorityStarves,          // old ops of low priority wait without limit
  ThrottleCountsLate,       // back-pressure lets one more in
  ThrottleForgetsFailed,    // a refused push keeps its place in flight
  ThrottleSignalLost,       // nobody wakes the push that waits for room
  ThrottleInsideOp,         // a push from inside an op waits for room
  BatchHeldWhileThrottled,  // push_many sleeps on ops it has not handed over
  IdleSeenEarly,            // wait_all ignores the op a worker just took
  CancelIgnoredAtStart,     // a cancelled op that has not begun is run
  CancelSkipsAlwaysRun,     // cancellation skips an op that must run
  PayloadNotDropped,        // a skipped op leaks its payload
  DuplicateAccepted,        // read and write of one variable by one op
  InboxReordered,           // a lane hands out its newest op first
  ErrorRaisedTwice,         // wait_all repeats what a wait has returned
  DeferredFinishedAtReturn, // a deferred op ends when its function returns
  Count
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_FAULTS_H
