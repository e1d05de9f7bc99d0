// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph passes: `mx` in, `mx` out. One file, one entry, one test each, with the same words.
#ifndef MX_GRAPH_PASSES_TD
#define MX_GRAPH_PASSES_TD
include "mlir/Pass/PassBase.td"

def Summarize : Pass<"summarize", "::mlir::ModuleOp"> {
  let summary = "fills in the output shapes and FLOPs of the model summary";
  let description = [{
    In: branches marked `mx.summary`, which call a model and never run, each before the native call that
    prints a table. Out: no such branches; the native calls have three arguments more for each sub-model
    that was called: its path, the shapes of its latest output, and its FLOPs, or -1 where they depend on
    what only the run knows. It follows calls, so it comes before they are changed.
  }];
}

def InlineCalls : Pass<"inline-calls", "::mlir::ModuleOp"> {
  let summary = "inlines called functions into graphs";
  let description = [{
    In: graphs that call functions and other graphs by name, or function values made in the graph.
    Out: graphs without calls. Sizes of the callee become those that the call gives; names that the
    callee binds itself are renamed where they collide. Locations become call sites (CallSiteLoc).

    A callee that needs the host (`mx.try`, variables, the runtime) is refused, and so is recursion.
    Printing, asserting and raising may stay. `mx.read` of a condition goes: a graph decides on the
    device; other reads stay, since the checker has refused those that wait. Functions that are no longer called are left for symbol-dce.
  }];
  let options = [Option<"limit", "limit", "int64_t", "1000000",
                        "refuse graphs that grow beyond this number of ops">];
}

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "derives gradients (reverse-mode and forward-mode autodiff)";
  let description = [{
    In: functions and graphs with `mx.grad`. Out: calls of derived functions, `@body$grad`, and no
    `mx.stop`. A derived function is a copy of the body with all it calls inside, followed by adjoint
    code in reverse order; it is ordinary code, so a `grad` around another differentiates it again.
    Innermost ones come first.

    Adjoints are added up in the reverse order of the program, so a run gives the same bits as the next.
    - Integers, bools and numbers that do not depend on the arguments are constants.
    - Where operands of `maximum` and `minimum` are equal, or several elements are the largest or
      smallest of `max` and `min`, they share the gradient equally. abs has 0 at 0.
    - `prod` is exact in the presence of zeros, and so is its second derivative; a third is not.
    - `floor`, `ceil`, `round`, `sign`, `floordiv` and comparisons have the gradient 0.
    - The blocks of `mx.if` and the bodies of loops run again in the reverse pass, on their saved
      inputs: a loop keeps those carried values that its adjoint needs, one stack each. The bodies of
      functions marked `mx.remat` are rematerialised too, in a loop of one iteration marked
      `mx.recomputed`.
    An op without a rule is refused where it stands, if a gradient would have to pass through it.
  }];
  let options = [Option<"limit", "limit", "int64_t", "1000000",
                        "refuse gradients of more than this number of ops">,
                 Option<"wrongRule", "wrong-rule", "std::string", "\"\"",
                        "the gradient rule that is made wrong (Graph/Mistakes.h)">];
}

def DropRematBarriers : Pass<"drop-remat-barriers", "::mx::ir::GraphOp"> {
  let summary = "removes the barriers that keep rematerialised code apart from the original";
  let description = [{
    In: loops of one iteration marked `mx.recomputed`, which carry their inputs so that CSE does not merge
    their ops with those of the forward pass. Out: they use these inputs directly, without a copy. No CSE
    may follow.
  }];
}

def Specialize : Pass<"specialize", "::mlir::ModuleOp"> {
  let summary = "replaces symbolic sizes by constants";
  let description = [{
    In: graphs with named sizes. Out: the same graphs with numbers; names in a graph's `mx.dyn` stay
    open. Then what is known now folds: `mx.size`, arithmetic on it, conditions, and names bound to
    numbers. With `suffix`, the graph stays and a copy gets the numbers. Bodies of functions that the
    graph calls are not touched: their sizes follow when they are inlined.
  }];
  let options = [
    ListOption<"sizes", "sizes", "std::string", "values of size names: N=128,H=4">,
    Option<"graph", "graph", "std::string", "", "only the graph of this name">,
    Option<"suffix", "suffix", "std::string", "", "specialise a copy whose name ends so">,
  ];
}

def FlattenAggregates : Pass<"flatten-aggregates", "::mx::ir::GraphOp"> {
  let summary = "replaces tuples, structs, models and arrays by their leaves";
  let description = [{
    In: a graph without calls. Out: a graph whose arguments, results and carried values are the leaves
    of what they were, depth first; `mx.make`, `mx.get`, `mx.set`, `mx.at` and `mx.set_at` are gone
    (an aggregate that is printed is rebuilt just before). Attributes of an argument or result are
    copied to its leaves, and `mx.name` grows to the path of each: "net.blocks.3.w".

    A loop that indexes an array with a number that depends on the iteration is unrolled. That needs a
    constant trip count; an index that stays unknown is refused.
  }];
  let options = [Option<"limit", "limit", "int64_t", "100000",
                        "refuse values of more leaves, and unrolled loops of more ops">];
}

def AssignDevices : Pass<"assign-devices", "::mlir::ModuleOp"> {
  let summary = "assigns a device to every tensor and op";
  let description = [{
    In: ops and calls inside of `on d { }` have the attribute `mx.on`; all tensors are on the default
    device. Out: no such attribute; types say where tensors are, and `mx.to` copies what is needed
    elsewhere, once a block. Functions are copied for the devices they are called with.
  }];
}

def Amp : Pass<"amp", "::mlir::ModuleOp"> {
  let summary = "mixed precision: matmuls of functions marked `@amp` take 16-bit operands";
  let description = [{
    In: functions and graphs marked `mx.amp` with bf16, f16 or f32, before they are differentiated. Out:
    no such mark. In a function marked with a type of 16 bits, the operands of f32 matmuls and convolutions
    are rounded to it, and the result is widened to f32; sums accumulate in f32, as in all 16-bit matmuls.
    A value that several matmuls read is rounded once, where it is defined. Functions that it calls,
    differentiates or uses as values are copied for it if they reach a matmul; those with a mark of their
    own stay. All other ops, such as reductions and elementwise ops, stay f32, and so do matmuls of other
    types.
  }];
}

def Segment : Pass<"segment", "::mlir::ModuleOp"> {
  let summary = "splits graphs that use several devices, or exchange with other workers, into segments";
  let description = [{
    In: graphs with assigned devices, without `mx.grad`. Out: every `mx.graph` is on one device and
    exchanges nothing with other workers. The others have become host functions: inlined callees, copies
    between devices, exchanges, and calls of graphs made of the ops in between, one segment per device and
    step. The host does not wait for the segments, so devices overlap wherever data dependences allow.
    A graph between exchanges is marked `mx.announces`: each of its results may be sent before the
    others are computed. Calls marked `mx.exchanges` are not inlined.
  }];
  let options = [Option<"limit", "limit", "int64_t", "100000", "refuse functions of more ops">];
}

def DropResults : Pass<"drop-results", "::mlir::ModuleOp"> {
  let summary = "removes results of graphs that no caller uses";
  let description = [{
    In and out: any module. Where a call of a graph uses only some parts of a tuple, it calls a copy of
    the graph with only those results; calls that use the same parts share it. The code of the other
    results is dead in the copy. Graphs that run both eagerly and compiled for a comparison stay as they are.
  }];
}

def Simplify : Pass<"simplify", "::mx::ir::GraphOp"> {
  let summary = "algebraic simplification that keeps every bit";
  let description = [{
    In and out: any graph. Nothing here changes a rounding, a NaN or the sign of a zero:
    - x*1, x/1 (floats), x//1 (integers), x+0 and x-0 (integers), x + -0.0, x - 0.0, x and true,
      x or false, x | 0, x ^ 0, shifts by 0
    - -(-x), not not x, ~~x
    - a cast of a cast whose first step loses nothing
    - select with two equal sides
    - a host number that is copied to a device only to be converted, or combined with a tensor
    - a reduction whose axes are put back with size 1
    - transpose of transpose, broadcast of broadcast, copies there and back, a slice that takes all
    - an entry of a tensor with an entry changed, where both numbers are known
    - a slice of an updated tensor, next to the updated region, if both regions are constant; a slice of a
      tensor filled with one number
    - updates of constant regions that together replace a whole tensor: `mx.concat`
    - a scatter of a few rows into a scatter of a few rows into zeros: one scatter of both, in the same order
    - reads, in a loop, of a tensor filled with one number before it, if no other iteration wrote there
    - `mx.if`: two equal blocks; results that are equal in both blocks (`mx.undef` equals
      anything), or unused
    - `mx.for` and `mx.while`: carried values that never change, or that only feed themselves

    x + 0.0 stays (it turns -0.0 into 0.0), and so do x*0 and x - x (NaN). Reshape of reshape is a
    fold of the dialect; merging of equal ops is MLIR's CSE.
  }];
}

def Hoist : Pass<"hoist", "::mx::ir::GraphOp"> {
  let summary = "loop-invariant code motion";
  let description = [{
    In and out: a flat graph. Ops of `mx.for` and `mx.while` move before the loop if they have no effect,
    cannot fail and do not depend on the iteration. Free ops whose result would occupy a whole tensor stay:
    scalar constants, broadcasts, transposes, and cheap ops on them that are larger than all they read.
    An op that moves takes copies of these along.
  }];
}

def TileChains : Pass<"tile-chains", "::mx::ir::GraphOp"> {
  let summary = "tiles chains of matmul, row-wise ops and matmul (attention) into blocks of rows that fit in the cache";
  let description = [{
    In and out: a flat graph, before `Prepack` and `Fuse`. A chain is a matmul (q @ k.T), ops on its rows
    (elementwise ops and reductions along the last axis: softmax, masks, scales), and matmuls that consume
    the result (@ v). If the matrices in between are large and have no other readers, the chain is
    computed in loops over the first batch axes and over blocks of rows: slices of operands, the ops
    of the chain, updates of the results. A matmul that sums over rows carries its accumulator from block
    to block, so the order of every sum stays. The backward pass rematerialises what it needs of the
    forward pass, as in FlashAttention; per-row results are kept.

    Does not apply to open sizes, to matrices that are not much larger than the operands they are computed
    from, and where each block would read more of other operands than is saved. 16-bit sums cannot be
    carried on, so matmuls that sum 16-bit floats over rows are not split.
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", "0", "leave smaller matrices alone; 0: the target's">,
    Option<"tileBytes", "tile-bytes", "int64_t", "0", "bytes of a matrix in one iteration; 0: the target's">,
    Option<"minRows", "min-rows", "int64_t", "32", "min rows of a block, if the matrix has as many">,
  ];
}

def Prepack : Pass<"prepack", "::mx::ir::GraphOp"> {
  let summary = "packs the right operand of matmuls in a loop into panels once, before the loop";
  let description = [{
    In and out: a flat graph, before `Fuse`. The right operand of an `mx.matmul` in a loop, or the
    matrix it is the transpose of, is loop-invariant, of f32 or f64, with a multiple of 64 columns. Then
    the operand is replaced by its panels. A matmul of few rows reads the columns unpacked, so it stays,
    except with a transposed operand. The order of every sum stays.
  }];
}

def Fuse : Pass<"fuse", "::mx::ir::GraphOp"> {
  let summary = "operator fusion: groups tensor ops into kernels";
  let description = [{
    In: a flat graph. Out: every tensor op of a device is inside an `mx.kernel`; numbers of the host
    (`on host`), control flow, copies between devices (`mx.to`) and printing stay outside. A kernel is
    - elementwise ops over one iteration space; or
    - elementwise ops, reductions of them over the same axes, and elementwise ops on the reduced shape;
      where these axes are the last ones, rows: further reductions, whole rows computed from them, and
      a reduction of the values of all rows to one number; or
    - one matmul and elementwise ops on its result (its epilogue), if that result has one use; or
    - any other op alone.

    A value that is also needed outside becomes a further output. Free ops are copied into each kernel
    that uses them: scalar constants (also those of the host), full, iota, broadcast, axes of size
    1, and transposes of values that the kernel reads from memory. A matmul
    fuses transposes that swap the last two dims.

    With `repeats`, so are chains of a few cheap elementwise ops on values that are in memory anyway, if
    that moves fewer bytes and does not extend live ranges by more than it saves. Nothing else is
    computed twice.

    Groups grow along values. Two chains that share no value stay two kernels even if their spaces are
    equal: they may then run at once, their results can die apart, and equal layers stay equal kernels
    whatever stands next to them. Ops are joined only if nothing has to run in between; an op that
    may fail does not move across a print, an assertion or another effect, and no op leaves its block.
    With `explain`, each join that was refused is a remark with the reason.
  }];
  let options = [
    Option<"explain", "explain", "bool", "false", "say why ops were not fused">,
    Option<"repeats", "repeats", "bool", "true", "kernels recompute cheap values">,
    Option<"maxOps", "max-ops", "unsigned", "128", "the largest number of ops that are joined">,
  ];
}

def VerifyLocations : Pass<"verify-locations"> {
  let summary = "checks that every op has a source location";
  let description = [{
    Runs between phases: diagnostics and profiles need the file and line of every op. Constants are
    exempt: MLIR drops the locations of those it merges, and they cannot fail.
  }];
}

#endif // MX_GRAPH_PASSES_TD
