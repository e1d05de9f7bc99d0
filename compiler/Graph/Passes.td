// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph passes: `mx` in, `mx` out. One file, one entry, one test each, with the same words.
#ifndef MX_GRAPH_PASSES_TD
#define MX_GRAPH_PASSES_TD
include "mlir/Pass/PassBase.td"

def Summarize : Pass<"summarize", "::mlir::ModuleOp"> {
  let summary = "what sub-models give and cost goes into the tables that describe them";
  let description = [{
    In: branches marked `mx.summary`, which call a model and never run, each before the native call that
    prints a table. Out: no such branches; the native calls have three arguments more for each sub-model
    that was called: its path, the shapes of its latest output, and its FLOPs, or -1 where they depend on
    what only the run knows. It follows calls, so it comes before they are changed.
  }];
}

def InlineCalls : Pass<"inline-calls", "::mlir::ModuleOp"> {
  let summary = "puts the bodies of called functions into graphs";
  let description = [{
    In: graphs that call functions and other graphs by name, or function values made in the graph.
    Out: graphs without calls. Sizes of the callee become those that the call gives; names that the
    callee binds itself are made fresh where they collide. Places become "there, called from here".

    A callee that needs the host (`mx.try`, variables, the runtime) is refused, and so is recursion.
    Printing, asserting and raising may stay. `mx.read` of a condition goes: a graph decides on the
    device; other reads stay, since the checker has refused those that wait. Functions that are no longer called are left for symbol-dce.
  }];
  let options = [Option<"limit", "limit", "int64_t", "1000000",
                        "refuse graphs that grow beyond this number of ops">];
}

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "derives the code of gradients";
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
      functions marked `mx.remat` run again too, in a loop of one turn marked `mx.recomputed`.
    An op without a rule is refused where it stands, if a gradient would have to pass through it.
  }];
  let options = [Option<"limit", "limit", "int64_t", "1000000",
                        "refuse gradients of more than this number of ops">];
}

def DropRematBarriers : Pass<"drop-remat-barriers", "::mx::ir::GraphOp"> {
  let summary = "what runs again takes its inputs from outside";
  let description = [{
    In: loops of one turn marked `mx.recomputed`, which carry their inputs so that nothing finds them equal to
    what ran before. Out: they use these inputs themselves, which are not copied then. No pass that joins
    equal ops may follow.
  }];
}

def Specialize : Pass<"specialize", "::mlir::ModuleOp"> {
  let summary = "replaces size names by numbers";
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
  let summary = "takes tuples, structs, models and arrays apart";
  let description = [{
    In: a graph without calls. Out: a graph whose arguments, results and carried values are the leaves
    of what they were, depth first; `mx.make`, `mx.get`, `mx.set`, `mx.at` and `mx.set_at` are gone
    (an aggregate that is printed is made again just there). Attributes of an argument or result are
    copied to its leaves, and `mx.name` grows to the path of each: "net.blocks.3.w".

    A loop that picks array elements by a number that depends on its turn is unrolled. That needs a
    constant trip count; an index that stays unknown is refused.
  }];
  let options = [Option<"limit", "limit", "int64_t", "100000",
                        "refuse values of more leaves, and unrolled loops of more ops">];
}

def AssignDevices : Pass<"assign-devices", "::mlir::ModuleOp"> {
  let summary = "gives tensors their devices";
  let description = [{
    In: ops and calls inside of `on d { }` have the attribute `mx.on`; all tensors are on the default
    device. Out: no such attribute; types say where tensors are, and `mx.to` copies what is needed
    elsewhere, once a block. Functions are copied for the devices they are called with.
  }];
}

def Amp : Pass<"amp", "::mlir::ModuleOp"> {
  let summary = "products compute in 16 bits where `@amp` says so";
  let description = [{
    In: functions and graphs marked `mx.amp` with bf16, f16 or f32, before they are differentiated. Out:
    no such mark. In a function marked with a type of 16 bits, f32 products have operands rounded to it
    and a result widened again; they add up in f32 as all products of 16 bits do. A value that several
    products read is rounded once, where it is made. Functions that it calls, differentiates or makes
    values of are copied for it, if they reach a product; those with a mark of their own stay. All that
    is no product, reductions and elementwise ops, stays f32, and so do products of other types.
  }];
}

def Segment : Pass<"segment", "::mlir::ModuleOp"> {
  let summary = "a graph that uses several devices or other workers becomes a function that calls graphs";
  let description = [{
    In: placed, without `mx.grad`. Out: every `mx.graph` is on one device and exchanges nothing with
    other workers. Others have become functions of the host: they contain what they called, copies
    between devices, exchanges, and calls of graphs made of the ops in between, one a device for each
    step of the way. The host does not wait for them, so devices work at once wherever values allow.
    A graph between exchanges is marked `mx.announces`: each of its results may be sent before the
    others are computed. Calls marked `mx.exchanges` are not inlined.
  }];
  let options = [Option<"limit", "limit", "int64_t", "100000", "refuse functions of more ops">];
}

def DropResults : Pass<"drop-results", "::mlir::ModuleOp"> {
  let summary = "graphs do not compute what their caller does not use";
  let description = [{
    In and out: any module. Where a call of a graph uses only some parts of a tuple, it calls a copy of
    the graph that gives those only; calls that use the same parts share it. What led to the others is
    dead code in the copy. Graphs that run both ways for a comparison are left alone.
  }];
}

def Simplify : Pass<"simplify", "::mx::ir::GraphOp"> {
  let summary = "rewrites that keep every bit, beyond folding";
  let description = [{
    In and out: any graph. Nothing here changes a rounding, a NaN or the sign of a zero:
    - x*1, x/1 (floats), x//1 (integers), x+0 and x-0 (integers), x + -0.0, x - 0.0, x and true,
      x or false, x | 0, x ^ 0, shifts by 0
    - -(-x), not not x, ~~x
    - a cast of a cast whose first step loses nothing
    - select with two equal sides
    - a number of the host that is copied to a device only to be converted, or combined with a tensor
    - a reduction whose axes are put back with size 1
    - transpose of transpose, broadcast of broadcast, copies there and back, a slice that takes all
    - an entry of a tensor with an entry changed, where both numbers are known
    - a part beside one that was replaced, of known places; a part of one number everywhere
    - parts of known places that replace all of a tensor, one after the other: `mx.concat`
    - a scatter of few rows into a scatter of few rows into zeros: one scatter of both, in the same order
    - what a turn reads of a tensor that was one number everywhere, if no other turn wrote there
    - `mx.if`: two equal blocks; results that both blocks give alike (`mx.undef` is like anything), or
      that nobody uses
    - `mx.for` and `mx.while`: carried values that never change, or that only feed themselves

    x + 0.0 stays (it turns -0.0 into 0.0), and so do x*0 and x - x (NaN). Reshape of reshape is a
    fold of the dialect; merging of equal ops is MLIR's CSE.
  }];
}

def Hoist : Pass<"hoist", "::mx::ir::GraphOp"> {
  let summary = "computes what is the same in every turn of a loop once, before it";
  let description = [{
    In and out: a flat graph. Ops of `mx.for` and `mx.while` move before the loop if they have no effect,
    cannot fail and use nothing of the turn. Those stay that cost nothing and would be kept as a whole
    tensor: scalars made to tensors, stretched and transposed ones, and simple ops on them that are
    larger than all they read. An op that moves takes copies of these along.
  }];
}

def TileChains : Pass<"tile-chains", "::mx::ir::GraphOp"> {
  let summary = "computes large matrices between two products in blocks of rows that stay in the cache";
  let description = [{
    In and out: a flat graph, before `Panels` and `Fuse`. A chain is a product (q @ k.T), ops on its rows
    (elementwise ones, reductions along the last axis: a softmax, masks, scales), and products that take
    the result in (@ v). If nobody else reads the matrices in between and these are large, the chain is
    computed in loops over the first batch axes and over blocks of rows: slices of operands, the ops
    of the chain, updates of the results. A product that sums over rows goes on with its sums from block
    to block, so no order of a sum changes. Where the backward pass needs what the forward pass
    computed, it computes it again; results of whole rows are kept.

    Not where sizes are open, where the matrices are not large beside what they are made of, and where each
    block would read more of other operands than is saved. Sums of 16 bits do not go on, so rows of those stay together.
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", "4194304", "leave smaller matrices alone">,
    Option<"tileBytes", "tile-bytes", "int64_t", "262144", "of a matrix, in one turn of a loop">,
    Option<"minRows", "min-rows", "int64_t", "32", "of a block, if there are so many">,
  ];
}

def Prepack : Pass<"prepack", "::mx::ir::GraphOp"> {
  let summary = "copies a matrix that products in a loop read to panels once, before the loop";
  let description = [{
    In and out: a flat graph, before `Fuse`. The right operand of an `mx.matmul` in a loop, or what it is
    the transpose of, is from outside of the loop, of f32 or f64, with a number of columns that panels of
    64 divide. Then the operand is replaced by its panels. Few rows read the columns of a matrix where
    they are, so those stay, except for transposed ones. No order of a sum changes.
  }];
}

def Fuse : Pass<"fuse", "::mx::ir::GraphOp"> {
  let summary = "groups tensor ops into kernels";
  let description = [{
    In: a flat graph. Out: every tensor op of a device is inside an `mx.kernel`; numbers of the host
    (`on host`), control flow, copies between devices (`mx.to`) and printing stay outside. A kernel is
    - elementwise ops over one iteration space; or
    - elementwise ops, reductions of them over the same axes, and elementwise ops on the reduced shape;
      where these axes are the last ones, rows: further reductions, whole rows computed from them, and
      a reduction of what the rows give to one number; or
    - one product and elementwise ops on its result, if that result has one use; or
    - any other op alone.

    A value that is also needed outside becomes a further output. What costs nothing is copied into each
    kernel that uses it: scalar constants (also those of the host), full, iota, broadcast, axes of size
    1, and transposes of values that the kernel reads from memory. A product takes transposes that swap
    the last two dims along.

    With `repeats`, so is what a few quick elementwise ops make of values that are in memory anyway, if
    less is moved then and what it is made of is not kept for longer than that is worth. Otherwise
    nothing is computed twice.

    Groups grow along values. Two chains that share no value stay two kernels even if their spaces are
    equal: they may then run at once, their results can die apart, and equal layers stay equal kernels
    whatever stands next to them. Ops are joined only if nothing has to run in between; an op that
    may fail does not move across a print, an assertion or another effect, and no op leaves its block.
    With `explain`, each join that was refused is a remark with the reason.
  }];
  let options = [
    Option<"explain", "explain", "bool", "false", "say why ops were not fused">,
    Option<"repeats", "repeats", "bool", "true", "kernels make again what is cheap">,
    Option<"maxOps", "max-ops", "unsigned", "128", "the largest number of ops that are joined">,
  ];
}

def VerifyLocations : Pass<"verify-locations"> {
  let summary = "refuses ops without a place in the source";
  let description = [{
    Run between phases: an op whose location names no file and line cannot be explained to anyone.
    Constants are let through, since MLIR drops the places of those it merges; they cannot fail.
  }];
}

#endif // MX_GRAPH_PASSES_TD
