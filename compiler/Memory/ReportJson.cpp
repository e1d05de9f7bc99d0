// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan for other programs.
#include "Memory/Report.h"
#include "llvm/Support/JSON.h"

namespace mx::memory {

static void write(llvm::json::OStream &out, const Tensor &tensor) {
  out.attribute("what", tensor.what);
  out.attribute("type", tensor.type);
  out.attribute("place", tensor.place);
  out.attribute("bytes", tensor.bytes);
}

std::string planAsJson(const std::vector<DeviceReport> &devices, const Work &work,
                       const std::string &name) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream, 1);
  out.object([&] {
    out.attribute("graph", name);
    out.attribute("operations", work.operations);
    out.attribute("moved_bytes", work.bytes);
    out.attribute("work_is_exact", work.isExact);
    out.attributeArray("devices", [&] {
      for (const DeviceReport &device : devices)
        out.object([&] {
          out.attribute("device", device.device.empty() ? "cpu:0" : device.device);
          out.attribute("arena_bytes", device.arena);
          out.attribute("unshared_bytes", device.alone);
          out.attribute("bound_bytes", device.bound);
          out.attribute("argument_bytes", device.inputs);
          out.attribute("result_bytes", device.outputs);
          out.attribute("peak_place", device.peakPlace);
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
