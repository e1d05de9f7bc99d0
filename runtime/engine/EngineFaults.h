// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fault injection: bugs that can be switched on, one at a time, to show that the tests would
// catch them. Only a Sync made for tests returns true; in the production build
// `Sync::fault(...)` is a constant and compiles to no code.

#ifndef MXRT_ENGINE_FAULTS_H
#define MXRT_ENGINE_FAULTS_H

namespace mxrt::engine {

enum class Fault {
  None,
  ReaderReleasedEarly,      // a reader gives its variable back before it runs
  WriterIgnoresReaders,     // a writer starts while readers are active
  ReaderJoinsWriter,        // a reader starts while the writer is active
  ReaderOvertakesWriter,    // a read is granted past a waiting write
  VariablesLockedOneByOne,  // a push is not atomic over its variables
  WaitCountTooLow,          // an op starts one variable too early
  WakesOnlyOneReader,       // after a write only the first reader is granted
  LostWakeUpOfWorker,       // a worker sleeps without rechecking
  LostWakeUpOfWaiter,       // a wait's signal is not sent
  PusherSkipsWake,          // a push does not wake a sleeping worker
  LastSearcherForgets,      // the last searching worker wakes no sleeper
  SurplusForgotten,         // a worker leaves ops in the queue, wakes no sleeper
  PoisonNotPropagated,      // a skipped op leaves its outputs clean
  PoisonIgnored,            // an op runs although its input is poisoned
  PoisonOnReads,            // a failed op poisons variables it only read
  VersionNotCounted,        // a skipped write does not bump the version
  DeleteBeforeReads,        // a deletion does not wait for pending reads
  DeletedHandleAccepted,    // a push on a deleted variable is accepted
  PriorityReversed,         // the op of lowest priority runs first
  PriorityStarves,          // old ops of low priority wait without limit
  ThrottleCountsLate,       // back-pressure lets one more in
  ThrottleForgetsFailed,    // a refused push keeps its slot in flight
  LimitDoesNotGrow,         // a large op blocks all pushes behind it
  LimitGrowsTooFar,         // a large op raises the limit above twice its bytes
  ThrottleSignalLost,       // no thread wakes the push that waits for room
  ThrottleInsideOp,         // a push from inside an op waits for room
  BatchHeldWhileThrottled,  // push_many sleeps on ops it has not dispatched
  IdleSeenEarly,            // wait_all misses the op a worker just took
  CancelIgnoredAtStart,     // a cancelled op that has not started is run
  CancelSkipsAlwaysRun,     // cancellation skips an op that must run
  PayloadNotDropped,        // a skipped op leaks its payload
  DuplicateAccepted,        // read and write of one variable by one op
  InboxReordered,           // a lane returns its newest op first
  ErrorRaisedTwice,         // wait_all repeats an error that a wait has returned
  DeferredFinishedAtReturn, // a deferred op ends when its function returns
  ReleasedAtStart,          // variables that an op will release are given back before it runs
  ReleaseGivesAllBack,      // a release gives back every variable that the op writes
  ReleaseOfWrongVariable,   // a release gives back another variable of the op
  ReleaseOfRead,            // a release of a variable that the op reads is accepted
  ReleaseTwice,             // a second release is accepted
  ReleaseAfterDefer,        // a release after the op may have completed is accepted
  ReleaseWakesNoOp,         // an op made ready by a release is not passed to its lane
  ReleaseWakesNoWait,       // a wait for a released variable is not signalled
  ReleaseForgetsDeletion,   // a deletion behind a released write is not performed
  ReleaseNotCounted,        // a released write does not bump the version
  ReleaseCountedTwice,      // a released write bumps the version again at the op's end
  ReleasedAgainAtEnd,       // the end of the op gives back released variables again
  ReleasedPoisonedAtEnd,    // a later failure poisons a released variable
  FailureForgottenAfterRelease, // a failure after a release poisons nothing
  ReleaseMends,             // a release clears poison that the op has inherited
  PoisonLostOnDefer,        // a deferred op loses the poison of variables it released
  ReleaseLostOnCancel,      // a cancelled op's release does nothing
  ReleaseEndsOp,            // the op counts as complete at its release
  WaitRunsReleasingOp,      // a wait runs an op that releases early
  NaiveReleaseKeepsHold,    // naive: the op keeps the variable it released
  NaiveReleaseWakesNobody,  // naive: a wait sleeps on after a release
  NaiveReleaseForgetsDeletion, // naive: as ReleaseForgetsDeletion
  Count
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_FAULTS_H
