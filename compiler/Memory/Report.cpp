// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory/Report.h"
#include "Memory/Accesses.h"
#include "Memory/Groups.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>
#include <utility>

using namespace mlir;

namespace mx::memory {
namespace {

constexpr size_t kColumns = 64, kRows = 8, kMostTensors = 12;

std::string placeOf(Location loc) {
  FileLineColLoc found;
  loc->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file || file.getLine() == 0)
      return WalkResult::advance();
    found = file;
    return WalkResult::interrupt();
  });
  if (!found)
    return "";
  return found.getFilename().str() + ":" + std::to_string(found.getLine()) + ":" +
         std::to_string(found.getColumn());
}

std::string typeOf(ir::TensorType type) {
  std::string text(elementInfo(ir::elementFromMlir(type.getElement())).name);
  text += "[";
  for (auto [i, size] : llvm::enumerate(type.getSizes()))
    text += (i ? ", " : "") + size.getText().str();
  return text + "]";
}

/// The ops of a kernel in short: `matmul add max`.
std::string opsOf(rt::CallOp call) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<rt::KernelOp>(call, call.getKernelAttr());
  if (!kernel || !kernel.kernel())
    return call.getKernel().str();
  std::string text;
  size_t more = 0, shown = 0;
  for (Operation &op : kernel.kernel().getBody().front().without_terminator()) {
    if (isa<ir::ConstantOp, ir::BroadcastOp, ir::SizeOp>(op))
      continue;
    if (shown++ < 4)
      text += (text.empty() ? "" : " ") + op.getName().stripDialect().str();
    else
      ++more;
  }
  return text + (more ? " and " + std::to_string(more) + " more" : "");
}

/// Of each slice: who fills it first.
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
  out.place = placeOf(slice.getLoc());
  if (auto call = dyn_cast_or_null<rt::CallOp>(writer)) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<rt::KernelOp>(call, call.getKernelAttr());
    bool isWorkspace = kernel && kernel.kernel() && kernel.kernel().getWorkspace() > 0 &&
                       call.getWrites().back() == slice.getResult();
    out.what = (isWorkspace ? "workspace of " : "") + opsOf(call);
  } else {
    out.what = isa_and_nonnull<rt::CopyOp>(writer) ? "carried value" : "number";
  }
  return out;
}

int64_t callerBytes(rt::ProgramOp program, ArrayRef<BlockArgument> arguments, StringRef device) {
  int64_t sum = 0;
  rt::SizeBounds bounds = program.bounds();
  for (BlockArgument argument : arguments)
    if (auto buffer = dyn_cast<rt::BufferType>(argument.getType());
        buffer && !buffer.isHost() && buffer.getDevice() == device)
      sum += rt::largestBytes(buffer.getTensor(), bounds).value_or(0);
  return sum;
}

/// Bytes in use over the program as a picture; each column is the most of its ops.
std::string picture(const std::vector<int64_t> &inUse) {
  if (inUse.empty())
    return "";
  size_t columns = std::min(kColumns, inUse.size());
  std::vector<int64_t> most(columns, 0);
  for (size_t i = 0; i < inUse.size(); ++i) {
    int64_t &column = most[i * columns / inUse.size()];
    column = std::max(column, inUse[i]);
  }
  int64_t top = std::max<int64_t>(1, *std::max_element(most.begin(), most.end()));
  std::string text;
  for (size_t row = kRows; row-- > 0;) {
    std::string line = "  |";
    for (int64_t bytes : most) {
      double height = static_cast<double>(bytes) / static_cast<double>(top) * kRows;
      double above = height - static_cast<double>(row);
      line += above >= 0.75 ? '#' : above > 0 ? (above >= 0.4 ? '+' : '.') : ' ';
    }
    text += llvm::StringRef(line).rtrim().str() +
            (row + 1 == kRows ? "   " + withCommas(top) + " bytes" : "") + "\n";
  }
  return text + "  +" + std::string(columns, '-') + "> " + std::to_string(inUse.size()) + " ops\n";
}

} // namespace

std::string withCommas(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3 && text[at - 4] != '-';)
    text.insert(at -= 3, ",");
  return text;
}

std::vector<DeviceReport> describePlan(rt::ProgramOp program) {
  Liveness liveness(program);
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
    report.inputs = callerBytes(program, program.inputArguments(), device);
    report.outputs = callerBytes(program, program.outputArguments(), device);
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
    std::vector<int64_t> turns; // of each op: its place in `inUse`, or that of the next there
    for (size_t i = 0; i + 1 < changes.size(); ++i) {
      now += changes[i];
      turns.push_back(static_cast<int64_t>(report.inUse.size()));
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
                                   static_cast<int64_t>(member.getOffset()), turns[own.first],
                                   turns[own.last]});
      }
    if (report.bound > 0)
      report.peakPlace = placeOf(liveness.ops()[peak]->getLoc());
    for (size_t i = 0; i < groups.size() && report.bound > 0; ++i) {
      Span span = groups[i].span();
      if (span.first > peak || span.last < peak || groups[i].device() != device)
        continue;
      // Of slices that are one memory, the one that is in use there.
      rt::SliceOp shown = groups[i].slices.front();
      for (rt::SliceOp member : groups[i].slices) {
        Span own = liveness.span(*liveness.indexOf(member.getResult()));
        if (own.first <= peak && peak <= own.last)
          shown = member;
      }
      report.peak.push_back(describe(shown, writers.lookup(shown.getResult())));
    }
    // Largest first; equals in the order they were made.
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

std::string showPlan(const std::vector<DeviceReport> &devices, const Work &work,
                     const std::string &name) {
  std::string text = "plan of " + name + "\n";
  text += (work.isExact ? "a call does " : "a call does about ") + withCommas(work.operations) +
          " operations and moves " + withCommas(work.bytes) + " bytes\n";
  auto row = [&](const char *what, int64_t bytes, const std::string &more) {
    text += llvm::formatv("  {0,-12} {1,16} bytes{2}{3}\n", what, withCommas(bytes),
                          more.empty() ? "" : "   ", more)
                .str();
  };
  for (const DeviceReport &d : devices) {
    text += "\n" + (d.device.empty() ? std::string("device cpu:0") : "device " + d.device) + "\n";
    row("arena", d.arena, "leased by each call");
    row("unshared", d.alone, "with memory of its own for each buffer");
    row("bound", d.bound, "in use at once; no plan of this order needs less");
    row("arguments", d.inputs, "of the caller");
    row("results", d.outputs, "made for the caller");
    if (d.peak.empty())
      continue;
    text += "\nin use at the peak" + (d.peakPlace.empty() ? "" : ", " + d.peakPlace) + "\n";
    for (size_t i = 0; i < d.peak.size() && i < kMostTensors; ++i)
      text += llvm::formatv("  {0,16}  {1}  {2}{3}\n", withCommas(d.peak[i].bytes), d.peak[i].type,
                            d.peak[i].what, d.peak[i].place.empty() ? "" : "  " + d.peak[i].place)
                  .str();
    if (d.peak.size() > kMostTensors)
      text += "  and " + std::to_string(d.peak.size() - kMostTensors) + " more\n";
    text += "\nbytes in use over time\n" + picture(d.inUse);
  }
  return text;
}

} // namespace mx::memory
