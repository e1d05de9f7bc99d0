// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory passes: `mxrt` in, `mxrt` out. One file, one entry, one test each, with the same words.
#ifndef MX_MEMORY_PASSES_TD
#define MX_MEMORY_PASSES_TD
include "mlir/Pass/PassBase.td"

def PrintLiveness : Pass<"print-liveness", "::mlir::ModuleOp"> {
  let summary = "prints the live ranges of each buffer";
  let description = [{
    In and out: any program. Ops are numbered in order, an op with regions before those in it. `3w-7r`
    says that what op 3 writes is last read by op 7. A buffer that a loop reads before it writes it is
    live from the start of the loop to its end; one that each iteration writes first is not.
  }];
}

def Schedule : Pass<"schedule", "::mlir::ModuleOp"> {
  let summary = "list scheduling: reorders ops to lower peak memory";
  let description = [{
    In: programs in which each buffer has a slice of its own. Out: the same programs with ops in an order
    of lower peak memory, without sharing taken into account, or in the source order. Reads and writes of
    a buffer keep their order with its other writes; ops that can end a program keep their order, so
    that the first error stays the first.
  }];
}

def Recompute : Pass<"recompute", "::mlir::ModuleOp"> {
  let summary = "rematerialisation: recomputes values to lower peak memory";
  let description = [{
    In: programs in which each buffer has a slice of its own. Out: the same programs in which at most
    `budget` bytes are live at once, before packing: some values are dropped after a use, and their calls
    are repeated, marked `mxrt.recomputed`, before the next use. Values with the lowest cost for the bytes
    and the time that they free are dropped first. If no schedule fits, or the program uses several
    devices, it stays as it is, with a remark.

    With `percent`, peak memory is minimised under a limit on the cost of repeated calls, in percent of the
    program's estimated time: its operations, plus its bytes moved at the cost of a byte in operations.
    Compute-bound calls are not repeated then. If that frees less than a twentieth, the program stays as
    it is.
  }];
  let options = [
    Option<"budget", "budget", "int64_t", "0", "max bytes live at once">,
    Option<"percent", "percent", "double", "0", "max cost of rematerialisation, of the program's time">,
  ];
}

def ReuseInPlace : Pass<"reuse-in-place", "::mlir::ModuleOp"> {
  let summary = "in-place reuse: calls overwrite operands that they are the last to read";
  let description = [{
    In: programs in which each buffer has a slice of its own. Out: where a kernel is elementwise, an
    output has the type of an input, and that input's slice is dead afterwards, both slices have one
    offset, and the call is of a copy of the kernel whose `mx.over` says so. The code of such a
    kernel has one address for both. So a matmul may overwrite the tensor that
    is added to it. Reductions, and kernels that read the input at another index than that of the element
    they write, stay as they are. An input that the caller donates for an output (`mxrt.given`), and that
    is dead once the output is written, shares its memory too: `mxrt.over` of the program lists these.
  }];
}

def PackArena : Pass<"pack-arena", "::mlir::ModuleOp"> {
  let summary = "arena packing: buffers with disjoint live ranges share memory";
  let description = [{
    In: programs with slices at any offsets. Out: the same programs with new offsets, and arenas of the
    exact size; unused slices are removed. Slices that share memory since `reuse-in-place` stay at one
    offset. Offsets are chosen by several greedy orders and by
    searches for shorter packings, which end with a proof if they have the time; all limits count steps,
    so a program has one plan.

    With `share=false` every slice has memory of its own.
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

def VerifyReady : Pass<"verify-ready", "::mlir::ModuleOp"> {
  let summary = "verifies that outputs are reported when they are complete";
  let description = [{
    In and out: any program. A program that is marked `mxrt.announces` has one `mxrt.ready` for each output
    that other ops follow, in its own block, and accesses neither the output nor the input whose memory
    it takes behind that. Other programs have none. Runs after `announce-outputs`, and shares no
    analysis with it.
  }];
}

def VerifyPlan : Pass<"verify-plan", "::mlir::ModuleOp"> {
  let summary = "verifies a memory plan: every read sees the bytes that were written for it";
  let description = [{
    In and out: any program. Follows the program on all paths and tracks, for each slice, whether its
    memory still holds the last value written through it. A read through a slice whose memory was
    written through another one since is an error, and so is a call whose buffers overlap, unless its
    kernel writes over that input. Runs after every planning, and shares no analysis with it.
  }];
}

def ReportPlan : Pass<"report-plan", "::mlir::ModuleOp"> {
  let summary = "prints the memory report of a plan";
  let description = [{
    In and out: any program. For each device the bytes of its arena, what they would be without sharing,
    the live tensors at the peak with their source locations, and a chart of the bytes in use from the
    first op to the last.
  }];
}

#endif // MX_MEMORY_PASSES_TD
