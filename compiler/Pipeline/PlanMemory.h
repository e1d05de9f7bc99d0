// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory planning phase of the pipeline: scheduling, rematerialisation, arena packing.
#pragma once
#include "Memory/Report.h"
#include "Pipeline/Pipeline.h"

namespace mx::pipeline {

/// Marks each argument of a graph with its use, by its type: the type is lost once models are
/// flattened to tensors. `source` is the module that IRGen made.
void markArguments(ir::GraphOp graph, mlir::ModuleOp source);
/// Copies these marks to the program of the graph, and which arguments are donated to results.
void tellArguments(ir::GraphOp graph, rt::ProgramOp program);

/// Sets on the program of a graph the max bytes of its arena, from the graph's own limit
/// (`@max_bytes`) and the options. Plans, figures and reports read it there.
void tellLimit(ir::GraphOp graph, const Options &options, rt::ProgramOp program);

/// Schedules ops, rematerialises values if the program's limit requires it, and packs the arena. If
/// no plan is below the limit, the result is the smallest that was found.
mlir::LogicalResult planMemory(mlir::OwningOpRef<mlir::ModuleOp> &plan, const TargetInfo &target,
                               const Options &options);

/// Merges the plans of the graphs that a function calls: Segment made them from a graph on several
/// devices. A device's arena is the max over the graphs. Nullopt after an error.
std::optional<memory::PlanReport>
planSegments(ir::FuncOp function, llvm::ArrayRef<std::pair<std::string, int64_t>> sizes,
             const std::string &name, const TargetInfo &target, const Options &options);

/// The memory figures of a plan that users see; `name` is that of the graph.
Figures figuresOf(mlir::ModuleOp plan, const std::string &name);

} // namespace mx::pipeline
