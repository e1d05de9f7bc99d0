// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text report of a plan, for people.
#include "Memory/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

namespace mx::memory {
namespace {

constexpr size_t kColumns = 64, kRows = 8, kMaxTensors = 12, kMaxLocations = 6;

/// Bar chart of the bytes in use over the program; each column is the max of its ops.
std::string picture(const std::vector<int64_t> &inUse) {
  if (inUse.empty())
    return "";
  size_t columns = std::min(kColumns, inUse.size());
  std::vector<int64_t> columnPeaks(columns, 0);
  for (size_t i = 0; i < inUse.size(); ++i) {
    int64_t &column = columnPeaks[i * columns / inUse.size()];
    column = std::max(column, inUse[i]);
  }
  int64_t top = std::max<int64_t>(1, *std::max_element(columnPeaks.begin(), columnPeaks.end()));
  std::string text;
  for (size_t row = kRows; row-- > 0;) {
    std::string line = "  |";
    for (int64_t bytes : columnPeaks) {
      double height = static_cast<double>(bytes) / static_cast<double>(top) * kRows;
      double above = height - static_cast<double>(row);
      line += above >= 0.75 ? '#' : above > 0 ? (above >= 0.4 ? '+' : '.') : ' ';
    }
    text += llvm::StringRef(line).rtrim().str() +
            (row + 1 == kRows ? "   " + withCommas(top) + " bytes" : "") + "\n";
  }
  return text + "  +" + std::string(columns, '-') + "> " + std::to_string(inUse.size()) + " ops\n";
}

std::string deviceName(const DeviceReport &device) {
  return device.device.empty() ? "cpu:0" : device.device;
}

/// `parameters 4,096, data 64`, without zero entries.
std::string byUse(const std::map<Use, int64_t> &bytes) {
  std::string text;
  for (auto [use, count] : bytes)
    if (count > 0)
      text += (text.empty() ? "" : ", ") + std::string(useName(use)) + " " + withCommas(count);
  return text;
}

std::string percent(int64_t part, int64_t whole) {
  return llvm::formatv("{0:F1} %", whole > 0 ? 100.0 * double(part) / double(whole) : 0.0).str();
}

} // namespace

std::string withCommas(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3 && text[at - 4] != '-';)
    text.insert(at -= 3, ",");
  return text;
}

std::string describeRecomputed(const PlanReport &plan) {
  if (plan.locations.empty())
    return "";
  int64_t calls = 0;
  for (const RecomputedAt &at : plan.locations)
    calls += at.calls;
  int64_t before = plan.work.operations - plan.recomputed.operations;
  int64_t moved = plan.work.bytes - plan.recomputed.bytes;
  std::string text = withCommas(calls) + (calls == 1 ? " call runs" : " calls run") +
                     " again: " + withCommas(plan.recomputed.operations) + " operations (" +
                     percent(plan.recomputed.operations, before) + " more) and " +
                     withCommas(plan.recomputed.bytes) + " bytes moved (" +
                     percent(plan.recomputed.bytes, moved) + " more); without that " +
                     withCommas(plan.plain) + " bytes are needed\n";
  for (size_t i = 0; i < plan.locations.size() && i < kMaxLocations; ++i) {
    const RecomputedAt &at = plan.locations[i];
    text += (at.calls == 1 ? "once " : withCommas(at.calls) + " times ") + at.what +
            (at.location.empty() ? "" : ", " + at.location) + "\n";
  }
  if (plan.locations.size() > kMaxLocations)
    text += "and at " + std::to_string(plan.locations.size() - kMaxLocations) + " more locations\n";
  return text;
}

std::string refusalOf(const PlanReport &plan, const std::string &where) {
  std::string text;
  for (const DeviceReport &device : plan.devices) {
    if (plan.limit <= 0 || device.arena <= plan.limit || !text.empty())
      continue;
    text = "a call of `" + where + "` needs at least " + withCommas(device.arena) + " bytes on " +
           deviceName(device) + ", more than the " + withCommas(plan.limit) + " allowed\n";
    if (plan.plain > device.arena)
      text += "that is with rematerialisation; without, it needs " + withCommas(plan.plain) +
              " bytes\n";
    else
      text += "rematerialisation does not help\n";
    for (size_t i = 0; i < device.peak.size() && i < 3; ++i) {
      const Tensor &tensor = device.peak[i];
      text += withCommas(tensor.bytes) + " bytes at the peak: " + tensor.type + ", " + tensor.what +
              (tensor.location.empty() ? "" : ", " + tensor.location) + "\n";
    }
  }
  return text;
}

int64_t ExchangeReport::bytes() const {
  int64_t sum = 0;
  for (const ExchangedKey &key : keys)
    sum += key.bytes;
  return sum;
}

int64_t ExchangedKey::maxWorkers() const {
  if (form == "rows") // those of all workers have at most half the bytes of the table
    return bytes > 0 ? denseBytes / 2 / bytes : INT64_MAX;
  return bytes > 0 ? (2 * denseBytes - 1) / bytes : INT64_MAX;
}

int64_t ExchangedKey::sent(const std::string &action, int64_t workers) const {
  if (action == "gather" || form == "factors" || (form == "rows" && workers <= maxWorkers()))
    return bytes * (workers - 1);
  int64_t all = form == "rows" ? denseBytes : bytes;
  return (action == "scatter" ? 1 : 2) * all * (workers - 1) / workers;
}

/// The payload that a worker sends, as formulas and for some numbers of workers.
static std::string describeExchange(const ExchangeReport &exchange) {
  int64_t dense = 0, others = 0;
  std::string text = "\nexchanged by " + exchange.action + "\n";
  for (const ExchangedKey &key : exchange.keys) {
    std::string form = key.form;
    (form == "dense" ? dense : others) += key.bytes;
    if (form != "dense") {
      form += ", " + withCommas(key.entries) + " of " + withCommas(key.entryBytes) + " bytes";
      std::string many = key.maxWorkers() == INT64_MAX ? "" : withCommas(key.maxWorkers());
      if (!many.empty())
        form += (key.form == "rows" ? "; " : "; with dist.auto() ") + withCommas(key.denseBytes) +
                " dense ones for W > " + many;
    }
    text += llvm::formatv("  {0,16} bytes   {1}  {2}  {3}\n", withCommas(key.bytes), key.name,
                          key.type, form)
                .str();
  }
  auto sent = [&](int64_t workers) {
    // All dense keys as one: each may round.
    ExchangedKey whole;
    whole.form = "dense";
    whole.bytes = dense;
    int64_t sum = whole.sent(exchange.action, workers);
    for (const ExchangedKey &key : exchange.keys)
      if (key.form != "dense")
        sum += key.sent(exchange.action, workers);
    return withCommas(sum);
  };
  std::string formula = exchange.action == "gather"    ? "N (W-1)"
                        : exchange.action == "scatter" ? "N (W-1) / W"
                                                       : "2 N (W-1) / W";
  if (others > 0) {
    text += llvm::formatv("  {0,16} bytes   F, as rows and factors\n", withCommas(others)).str();
    formula += " + F (W-1)";
  }
  text += llvm::formatv("  {0,16} bytes   N; each of W workers sends {1} bytes: {2} for W = 2, {3} "
                        "for 4, {4} for 8\n",
                        withCommas(dense), formula, sent(2), sent(4), sent(8))
              .str();
  return text;
}

std::string showPlan(const PlanReport &plan) {
  std::string text = "plan of " + plan.name + "\n";
  text += (plan.work.isExact ? "a call does " : "a call does about ") +
          withCommas(plan.work.operations) + " operations and moves " +
          withCommas(plan.work.bytes) + " bytes\n";
  auto row = [&](const char *what, int64_t bytes, const std::string &more) {
    text += llvm::formatv("  {0,-12} {1,16} bytes{2}{3}\n", what, withCommas(bytes),
                          more.empty() ? "" : "   ", more)
                .str();
  };
  if (std::string recomputed = describeRecomputed(plan); !recomputed.empty())
    text += "\nrematerialised to need less memory\n  " +
            llvm::join(llvm::split(llvm::StringRef(recomputed).rtrim(), '\n'), "\n  ") + "\n";
  for (const ExchangeReport &exchange : plan.exchanges)
    text += describeExchange(exchange);
  for (const DeviceReport &d : plan.devices) {
    text += "\ndevice " + deviceName(d) + "\n";
    row("arena", d.arena, "leased by each call");
    row("unshared", d.alone, "with memory of its own for each buffer");
    row("bound", d.bound, "in use at once; no plan of this order needs less");
    if (plan.devices.size() == 1 && plan.sourceBound > 0 && plan.sourceBound != d.bound)
      row("as written", plan.sourceBound, "in use at once in the order of the source");
    row("arguments", d.inputs, d.inputs > 0 ? "of the caller: " + byUse(d.arguments) : "");
    row("results", d.outputs, "made for the caller");
    if (d.inPlace > 0)
      row("in place", d.inPlace, "results that are written where an argument is");
    row("in all", d.arena + d.inputs + d.outputs, "at the peak, with the caller's");
    if (d.peak.empty())
      continue;
    text += "\nin use at the peak" + (d.peakLocation.empty() ? "" : ", " + d.peakLocation) + "\n";
    for (size_t i = 0; i < d.peak.size() && i < kMaxTensors; ++i)
      text +=
          llvm::formatv("  {0,16}  {1}  {2}{3}\n", withCommas(d.peak[i].bytes), d.peak[i].type,
                        d.peak[i].what, d.peak[i].location.empty() ? "" : "  " + d.peak[i].location)
              .str();
    if (d.peak.size() > kMaxTensors)
      text += "  and " + std::to_string(d.peak.size() - kMaxTensors) + " more\n";
    text += "  in all: " + byUse(d.atPeak) + "\n";
    text += "\nbytes in use over time\n" + picture(d.inUse);
  }
  return text;
}

} // namespace mx::memory
