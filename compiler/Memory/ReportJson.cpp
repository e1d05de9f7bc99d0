// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON report of a plan, for other programs.
#include "Memory/Report.h"
#include "llvm/Support/JSON.h"

namespace mx::memory {

static void write(llvm::json::OStream &out, const Tensor &tensor) {
  out.attribute("what", tensor.what);
  out.attribute("type", tensor.type);
  out.attribute("location", tensor.location);
  out.attribute("bytes", tensor.bytes);
  out.attribute("use", useName(tensor.use));
}
static void write(llvm::json::OStream &out, const char *name, const std::map<Use, int64_t> &bytes) {
  out.attributeObject(name, [&] {
    for (auto [use, count] : bytes)
      out.attribute(useName(use), count);
  });
}

std::string planAsJson(const PlanReport &plan) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream, 1);
  out.object([&] {
    out.attribute("graph", plan.name);
    out.attribute("operations", plan.work.operations);
    out.attribute("moved_bytes", plan.work.bytes);
    out.attribute("work_is_exact", plan.work.isExact);
    out.attribute("recomputed_operations", plan.recomputed.operations);
    out.attribute("recomputed_moved_bytes", plan.recomputed.bytes);
    out.attribute("plain_bytes", plan.plain);
    out.attribute("source_bound_bytes", plan.sourceBound);
    out.attributeArray("recomputed", [&] {
      for (const RecomputedAt &at : plan.locations)
        out.object([&] {
          out.attribute("location", at.location);
          out.attribute("what", at.what);
          out.attribute("calls", at.calls);
          out.attribute("operations", at.operations);
        });
    });
    out.attributeArray("exchanges", [&] {
      for (const ExchangeReport &exchange : plan.exchanges)
        out.object([&] {
          out.attribute("action", exchange.action);
          out.attribute("bytes", exchange.bytes());
          out.attributeArray("keys", [&] {
            for (const ExchangedKey &key : exchange.keys)
              out.object([&] {
                out.attribute("name", key.name);
                out.attribute("type", key.type);
                out.attribute("form", key.form);
                out.attribute("bytes", key.bytes);
                if (key.form != "dense") {
                  out.attribute("entries", key.entries);
                  out.attribute("entry_bytes", key.entryBytes);
                  out.attribute("dense_bytes", key.denseBytes);
                  out.attribute("max_workers", key.maxWorkers());
                }
              });
          });
        });
    });
    out.attributeArray("devices", [&] {
      for (const DeviceReport &device : plan.devices)
        out.object([&] {
          out.attribute("device", device.device.empty() ? "cpu:0" : device.device);
          out.attribute("arena_bytes", device.arena);
          out.attribute("unshared_bytes", device.alone);
          out.attribute("bound_bytes", device.bound);
          out.attribute("argument_bytes", device.inputs);
          out.attribute("result_bytes", device.outputs);
          out.attribute("in_place_bytes", device.inPlace);
          write(out, "arguments", device.arguments);
          write(out, "at_peak", device.atPeak);
          out.attribute("peak_location", device.peakLocation);
          out.attributeArray("peak", [&] {
            for (const Tensor &tensor : device.peak)
              out.object([&] { write(out, tensor); });
          });
          out.attributeArray("in_use", [&] {
            for (int64_t bytes : device.inUse)
              out.value(bytes);
          });
          out.attributeArray("slices", [&] {
            for (const Placed &slice : device.slices)
              out.object([&] {
                write(out, slice.tensor);
                out.attribute("offset", slice.offset);
                out.attribute("first", slice.first);
                out.attribute("last", slice.last);
              });
          });
        });
    });
  });
  return text + "\n";
}

} // namespace mx::memory
