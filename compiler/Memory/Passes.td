// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory passes: `mxrt` in, `mxrt` out. One file, one entry, one test each, with the same words.
#ifndef MX_MEMORY_PASSES_TD
#define MX_MEMORY_PASSES_TD
include "mlir/Pass/PassBase.td"

def PrintLiveness : Pass<"print-liveness", "::mlir::ModuleOp"> {
  let summary = "prints when each buffer is in use";
  let description = [{
    In and out: any program. Ops are numbered in order, an op with regions before those in it. `3w-7r`
    says that what op 3 writes is last read by op 7. A buffer that a loop reads before it writes it is
    in use from the begin of the loop to its end; one that each turn writes first is not.
  }];
}

def Schedule : Pass<"schedule", "::mlir::ModuleOp"> {
  let summary = "ops change locations where less is in use at once then";
  let description = [{
    In: programs in which each buffer has a slice of its own. Out: the same programs with ops in an
    order in which less memory is in use at once, without sharing taken into account, or as they were.
    What reads or writes a buffer keeps its order with those who write it; ops that can end a program
    keep theirs among each other, so that the first error stays the first.
  }];
}

def Recompute : Pass<"recompute", "::mlir::ModuleOp"> {
  let summary = "values are made again so that less is in use at once";
  let description = [{
    In: programs in which each buffer has a slice of its own. Out: the same programs in which no more
    than `budget` bytes are in use at once, before anything is packed: some values are dropped after a
    use, and the calls that make them run again, marked `mxrt.recomputed`, before the next. What costs
    least for the bytes and the time that it frees is dropped first. If there is no such way, or the
    program uses several devices, it stays as it is, with a remark.

    With `percent`, as little as possible is in use at once for which calls that run again take at most
    so much of the program's time: operations, and as many for each byte that is moved as it takes the
    time of. Calls that compute for longer than they move bytes do not run again then. If that frees
    less than a twentieth, the program stays as it is.
  }];
  let options = [
    Option<"budget", "budget", "int64_t", "0", "bytes in use at once">,
    Option<"percent", "percent", "double", "0", "of the program's time for what is made again">,
  ];
}

def ReuseInPlace : Pass<"reuse-in-place", "::mlir::ModuleOp"> {
  let summary = "calls write over operands that they are the last to read";
  let description = [{
    In: programs in which each buffer has a slice of its own. Out: where a kernel is elementwise, an
    output has the type of an input, and nobody reads that input's slice afterwards, both slices have
    one offset, and the call is of a copy of the kernel whose `mx.over` says so. The code of such a
    kernel has one address for both. A product may so be written over what is added to it. Reductions,
    and kernels that read the input at any location but that of the element they write, stay as they are.
    Where the caller gives an input up for an output (`mxrt.given`) and nobody reads it any more once
    the output is written, both are one memory too: `mxrt.over` of the program lists them.
  }];
}

def PackArena : Pass<"pack-arena", "::mlir::ModuleOp"> {
  let summary = "buffers that are never in use at once share memory";
  let description = [{
    In: programs whose slices are anywhere. Out: the same programs with new offsets, and arenas that
    are just large enough; slices that nothing uses are gone. Slices that a kernel takes over
    (`reuse-in-place`) stay one piece of memory. Offsets are chosen by several greedy orders and by
    searches for shorter packings, which end with a proof if they have the time; all limits count steps,
    so a program has one plan.

    With `share=false` each piece of memory is used once.
  }];
  let options = [
    Option<"share", "share", "bool", "true", "let buffers share memory">,
    Option<"effort", "effort", "int64_t", "24000000", "steps of the search">,
    Option<"enough", "enough", "double", "0", "part of the bound above it that ends the search">,
  ];
}

def AnnounceOutputs : Pass<"announce-outputs", "::mlir::ModuleOp"> {
  let summary = "programs report each output as soon as it is complete";
  let description = [{
    In: planned programs. Out: those that are marked `mxrt.announces` have a `mxrt.ready` behind the last op
    that reads or writes an output, or the input whose memory it takes. An output of the last op of
    the program has none: it is complete when the call ends. Other programs stay as they are. Ops
    keep their order, so this comes last.
  }];
}

def VerifyPlan : Pass<"verify-plan", "::mlir::ModuleOp"> {
  let summary = "refuses plans in which a read could see the wrong bytes";
  let description = [{
    In and out: any program. Follows the program on all ways and keeps, for each slice, whether the
    memory still holds what was last written through it. A read through a slice whose memory was
    written through another one since is an error, and so is a call whose buffers overlap, unless its
    kernel writes over that input. Always runs after planning, and does not use its analyses.
  }];
}

def ReportPlan : Pass<"report-plan", "::mlir::ModuleOp"> {
  let summary = "prints what a plan needs and why";
  let description = [{
    In and out: any program. For each device the bytes of its arena, what they would be without sharing,
    what is in use at once where most is, tensor by tensor with its location in the source, and a picture of
    the bytes in use from the first op to the last.
  }];
}

#endif // MX_MEMORY_PASSES_TD
