// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the road that gives buffers their memory.
#pragma once
#include "Memory/Report.h"
#include "Pipeline/Pipeline.h"

namespace mx::pipeline {

/// Notes on each argument of a graph what it is for, by its type: that is gone once models are
/// tensors.
void markArguments(ir::GraphOp graph);
/// Hands these notes to the program of the graph, and which arguments are given up for results.
void tellArguments(ir::GraphOp graph, rt::ProgramOp program);

/// Notes on the program of a graph how many bytes its arena may have, by the graph's own limit
/// (`@max_bytes`) and by the options. Plans, figures and reports read it there.
void tellLimit(ir::GraphOp graph, const Options &options, rt::ProgramOp program);

/// Orders ops, makes values again if the program's limit asks for it, and packs. The plan is the
/// smallest that was found if none is below the limit.
mlir::LogicalResult planMemory(mlir::OwningOpRef<mlir::ModuleOp> &plan, const Options &options);

/// The plans of the graphs that a function calls, as one: Segment made them of a graph on several
/// devices. A device's arena is that of the graph that needs most there. Nothing after an error.
std::optional<memory::PlanReport>
planSegments(ir::FuncOp function, llvm::ArrayRef<std::pair<std::string, int64_t>> sizes,
             const std::string &name, const Options &options);

/// What users are told about a plan; `name` is that of the graph.
Figures figuresOf(mlir::ModuleOp plan, const std::string &name);

} // namespace mx::pipeline
