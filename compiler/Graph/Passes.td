// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph passes: `mx` in, `mx` out. One file, one entry, one test each, with the same words.
#ifndef MX_GRAPH_PASSES_TD
#define MX_GRAPH_PASSES_TD
include "mlir/Pass/PassBase.td"

def InlineCalls : Pass<"inline-calls", "::mlir::ModuleOp"> {
  let summary = "puts the bodies of called functions into graphs";
  let description = [{
    In: graphs that call functions and other graphs by name, or function values made in the graph.
    Out: graphs without calls. Sizes of the callee become those that the call gives; names that the
    callee binds itself are made fresh where they collide. Places become "there, called from here".

    A callee that needs the host (`mx.try`, variables, the runtime) is refused, and so is recursion.
    Printing, asserting and raising may stay. `mx.read` of a condition goes: a graph decides on the
    device. Functions that are no longer called are left for symbol-dce.
  }];
  let options = [Option<"limit", "limit", "int64_t", "1000000",
                        "refuse graphs that grow beyond this number of ops">];
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

#endif // MX_GRAPH_PASSES_TD
