// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory report of a planned program: peak, arena use and rematerialised work.
#include "Memory/Report.h"
#include "Memory/Accesses.h"
#include "Memory/Donation.h"
#include "Memory/Groups.h"
#include "Memory/Recompute.h"
#include "dialects/mxrt/Marks.h"
#include "dialects/mx/Locations.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

using namespace mlir;

namespace mx::memory {
namespace {

std::string typeOf(ir::TensorType type) {
  std::string text(elementInfo(ir::elementFromMlir(type.getElement())).name);
  text += "[";
  for (auto [i, size] : llvm::enumerate(type.getSizes()))
    text += (i ? ", " : "") + size.getText().str();
  return text + "]";
}

/// Names of the ops of a kernel: `matmul add max`.
std::string opsOf(rt::CallOp call) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<rt::KernelOp>(call, call.getKernelAttr());
  if (!kernel || !kernel.kernel())
    return call.getKernel().str();
  std::string text;
  size_t more = 0, shown = 0;
  for (Operation &op : kernel.kernel().getBody().front().without_terminator()) {
    if (isa<ir::ConstantOp, ir::BroadcastOp, ir::SizeOp>(op))
      continue;
    auto routine = dyn_cast<ir::RoutineOp>(op);
    if (shown++ < 4)
      text += (text.empty() ? "" : " ") +
              (routine ? routine.getKind() : op.getName().stripDialect()).str();
    else
      ++more;
  }
  return text + (more ? " and " + std::to_string(more) + " more" : "");
}

/// The op that writes each slice first.
llvm::DenseMap<Value, Operation *> firstWriters(const Liveness &liveness) {
  llvm::DenseMap<Value, Operation *> out;
  for (Operation *op : liveness.ops())
    for (Value buffer : accessesOf(op).writes)
      out.try_emplace(buffer, op);
  return out;
}

Tensor describe(rt::SliceOp slice, Operation *writer) {
  Tensor out;
  out.type = typeOf(slice.getType().getTensor());
  out.bytes = static_cast<int64_t>(llvm::alignTo(slice.getBytes(), rt::kAlignment));
  out.location = ir::locationText(slice.getLoc());
  if (auto call = dyn_cast_or_null<rt::CallOp>(writer)) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<rt::KernelOp>(call, call.getKernelAttr());
    bool isWorkspace = kernel && kernel.kernel() && kernel.kernel().getWorkspace() > 0 &&
                       call.getWrites().back() == slice.getResult();
    out.what = (isWorkspace ? "workspace of " : "") + opsOf(call);
  } else {
    out.what = isa_and_nonnull<rt::CopyOp>(writer) ? "carried value" : "number";
  }
  if (llvm::StringRef(out.what).starts_with("workspace"))
    out.use = Use::Workspace;
  return out;
}

Use useOf(rt::ProgramOp program, unsigned input) {
  auto kinds = program->getAttrOfType<ArrayAttr>(rt::kUses);
  StringRef kind = kinds && input < kinds.size() ? cast<StringAttr>(kinds[input]).getValue() : "";
  for (Use use : {Use::Parameter, Use::State, Use::Gradient})
    if (kind == useName(use))
      return use;
  return Use::Data;
}

void countArguments(rt::ProgramOp program, StringAttr device, DeviceReport &report) {
  rt::SizeBounds bounds = program.bounds();
  auto bytesOf = [&](BlockArgument argument) -> int64_t {
    auto buffer = dyn_cast<rt::BufferType>(argument.getType());
    return buffer && !buffer.isHost() && buffer.getDevice() == device
               ? rt::largestBytes(buffer.getTensor(), bounds).value_or(0)
               : 0;
  };
  for (auto [i, argument] : llvm::enumerate(program.inputArguments())) {
    report.inputs += bytesOf(argument);
    report.arguments[useOf(program, static_cast<unsigned>(i))] += bytesOf(argument);
  }
  std::vector<int64_t> over = outputsOver(program);
  for (auto [i, argument] : llvm::enumerate(program.outputArguments()))
    (over[i] < 0 ? report.outputs : report.inPlace) += bytesOf(argument);
}

/// Slices with the shape of a parameter or of state that an update of such an argument reads.
llvm::DenseSet<Value> gradientsOf(rt::ProgramOp program) {
  llvm::DenseSet<Type> shapes;
  for (auto [i, argument] : llvm::enumerate(program.inputArguments()))
    if (Use use = useOf(program, static_cast<unsigned>(i));
        use == Use::Parameter || use == Use::State)
      shapes.insert(argument.getType());
  auto given = program->getAttrOfType<DenseI64ArrayAttr>(rt::kGiven);
  llvm::DenseSet<Value> updated, out;
  for (auto [i, argument] : llvm::enumerate(program.outputArguments()))
    if (given && given[static_cast<int64_t>(i)] >= 0)
      updated.insert(argument);
  program.walk([&](rt::CallOp call) {
    if (llvm::any_of(call.getWrites(), [&](Value to) { return updated.contains(to); }))
      for (Value read : call.getReads())
        if (shapes.contains(read.getType()) && read.getDefiningOp<rt::SliceOp>())
          out.insert(read);
  });
  return out;
}

} // namespace

const char *useName(Use use) {
  static constexpr const char *kNames[] = {"parameter", "state",      "gradient",
                                           "data",      "activation", "workspace"};
  return kNames[static_cast<size_t>(use)];
}

static std::vector<DeviceReport> describeDevices(rt::ProgramOp program) {
  Liveness liveness(program);
  llvm::DenseSet<Value> gradients = gradientsOf(program);
  Groups groups(program, liveness);
  llvm::DenseMap<Value, Operation *> writers = firstWriters(liveness);
  std::vector<DeviceReport> out;
  llvm::MapVector<StringAttr, int64_t> arenas;
  for (auto arena : program.getArenas().getAsRange<rt::ArenaAttr>())
    arenas[arena.getDevice()] = arena.getBytes();
  for (BlockArgument argument : program.getBody().getArguments())
    if (auto buffer = dyn_cast<rt::BufferType>(argument.getType()); buffer && !buffer.isHost())
      arenas.try_emplace(buffer.getDevice(), 0);

  for (auto [device, bytes] : arenas) {
    DeviceReport report;
    report.device = device.str();
    report.arena = bytes;
    countArguments(program, device, report);
    std::vector<int64_t> changes(liveness.ops().size() + 1, 0);
    for (size_t i = 0; i < groups.size(); ++i) {
      Span span = groups[i].span();
      if (groups[i].device() != device)
        continue;
      for (rt::SliceOp member : groups[i].slices)
        report.alone += static_cast<int64_t>(llvm::alignTo(member.getBytes(), rt::kAlignment));
      if (span.last < span.first)
        continue;
      auto length = static_cast<int64_t>(llvm::alignTo(groups[i].bytes(), rt::kAlignment));
      changes[span.first] += length;
      changes[span.last + 1] -= length;
    }
    int64_t now = 0, peak = 0;
    std::vector<int64_t> indices; // of each op: its index in `inUse`, or that of the next op there
    for (size_t i = 0; i + 1 < changes.size(); ++i) {
      now += changes[i];
      indices.push_back(static_cast<int64_t>(report.inUse.size()));
      if (isa<rt::SliceOp, rt::SlotOp, rt::SizeOp>(liveness.ops()[i]))
        continue; // they only name memory
      report.inUse.push_back(now);
      if (now > report.bound) {
        report.bound = now;
        peak = static_cast<int64_t>(i);
      }
    }
    for (size_t i = 0; i < groups.size(); ++i)
      for (rt::SliceOp member : groups[i].slices) {
        Span own = liveness.span(*liveness.indexOf(member.getResult()));
        if (groups[i].device() == device && own.first <= own.last)
          report.slices.push_back({describe(member, writers.lookup(member.getResult())),
                                   static_cast<int64_t>(member.getOffset()), indices[own.first],
                                   indices[own.last]});
      }
    if (report.bound > 0)
      report.peakLocation = ir::locationText(liveness.ops()[peak]->getLoc());
    for (size_t i = 0; i < groups.size() && report.bound > 0; ++i) {
      Span span = groups[i].span();
      if (span.first > peak || span.last < peak || groups[i].device() != device)
        continue;
      // Of slices that share memory, the one that is live there.
      rt::SliceOp shown = groups[i].slices.front();
      for (rt::SliceOp member : groups[i].slices) {
        Span own = liveness.span(*liveness.indexOf(member.getResult()));
        if (own.first <= peak && peak <= own.last)
          shown = member;
      }
      report.peak.push_back(describe(shown, writers.lookup(shown.getResult())));
      Tensor &tensor = report.peak.back();
      if (llvm::any_of(groups[i].slices,
                       [&](rt::SliceOp s) { return gradients.contains(s.getResult()); }))
        tensor.use = Use::Gradient;
      report.atPeak[tensor.use] +=
          static_cast<int64_t>(llvm::alignTo(groups[i].bytes(), rt::kAlignment));
    }
    // Largest first; ties in the order of creation.
    std::vector<size_t> order(report.peak.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return report.peak[a].bytes != report.peak[b].bytes
                 ? report.peak[a].bytes > report.peak[b].bytes
                 : a < b;
    });
    auto unsorted = std::exchange(report.peak, {});
    for (size_t i : order)
      report.peak.push_back(std::move(unsorted[i]));
    out.push_back(std::move(report));
  }
  return out;
}

int64_t boundOf(rt::ProgramOp program) {
  Liveness liveness(program);
  Groups groups(program, liveness);
  std::vector<int64_t> changes(liveness.ops().size() + 1, 0);
  for (size_t i = 0; i < groups.size(); ++i)
    if (Span span = groups[i].span(); span.first <= span.last) {
      auto length = static_cast<int64_t>(llvm::alignTo(groups[i].bytes(), rt::kAlignment));
      changes[span.first] += length;
      changes[span.last + 1] -= length;
    }
  int64_t now = 0, peak = 0;
  for (int64_t change : changes)
    peak = std::max(peak, now += change);
  return peak;
}

PlanReport describePlan(rt::ProgramOp program, const std::string &name) {
  PlanReport out;
  out.name = name;
  out.work = workOf(program);
  out.recomputed = recomputedWork(program);
  out.devices = describeDevices(program);
  auto plain = program->getAttrOfType<IntegerAttr>(rt::kPlainBytes);
  out.plain = plain ? plain.getInt() : out.devices.empty() ? 0 : out.devices.front().arena;
  if (auto bound = program->getAttrOfType<IntegerAttr>(rt::kSourceBound))
    out.sourceBound = bound.getInt();
  if (auto limit = program->getAttrOfType<IntegerAttr>(rt::kLimit))
    out.limit = limit.getInt();
  std::map<std::pair<std::string, std::string>, RecomputedAt> locations;
  OpWork each(program);
  program.walk([&](Operation *op) {
    if (!op->hasAttr(rt::kRecomputed))
      return;
    auto call = dyn_cast<rt::CallOp>(op);
    std::string location = ir::locationText(op->getLoc()), what = call ? opsOf(call) : "copy";
    RecomputedAt &at = locations[{location, what}];
    at.location = location;
    at.what = what;
    ++at.calls;
    at.operations += call ? static_cast<int64_t>(each.operations(call)) : 0;
  });
  for (auto &[key, at] : locations)
    out.locations.push_back(at);
  std::sort(out.locations.begin(), out.locations.end(),
            [](const RecomputedAt &a, const RecomputedAt &b) {
              return std::tuple(-a.operations, a.location, a.what) <
                     std::tuple(-b.operations, b.location, b.what);
            });
  return out;
}

} // namespace mx::memory
