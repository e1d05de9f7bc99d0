// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call of a graph compiled ahead of time: selects the variant for this CPU and these sizes,
// lists its buffers and calls its entry.

#include "aot/Errors.h"
#include "mxrt/aot.h"

#include <alloca.h>
#include <cstdio>
#include <cstring>

namespace mxrt::aot {
namespace {

bool fits(const mxrt_aot_graph &graph, const mxrt_aot_variant &variant, const int64_t *sizes) {
  for (int32_t i = 0; i < graph.size_count; ++i)
    if (variant.fixed[i] >= 0 && variant.fixed[i] != sizes[i])
      return false;
  return true;
}

/// Text that grows up to its fixed capacity.
struct Line {
  char text[512];
  size_t used = 0;
  template <typename... Args> void add(const char *format, Args... args) {
    int more = std::snprintf(text + used, sizeof text - used, format, args...);
    if (more > 0 && used + static_cast<size_t>(more) < sizeof text)
      used += static_cast<size_t>(more);
  }
};

void addSizes(Line &line, const mxrt_aot_graph &graph, const int64_t *values, const int64_t *only,
              const char *between) {
  bool first = true;
  for (int32_t i = 0; i < graph.size_count; ++i) {
    if (only[i] < 0)
      continue;
    line.add("%s%s%s%lld", first ? "" : ", ", graph.sizes[i], between,
             static_cast<long long>(values[i]));
    first = false;
  }
}

/// No variant fits: the CPU is too old, or no variant was built for these sizes.
mxrt_status noVariant(const mxrt_aot_graph &graph, const int64_t *sizes, int32_t level) {
  Line line;
  bool tooOld = true;
  for (int64_t i = 0; i < graph.variant_count; ++i)
    tooOld &= graph.variants[i].level > level;
  if (tooOld) {
    line.add("%s: this CPU cannot run the code, which is for %s", graph.name, graph.cpus);
    return mxrt_status_text(nullptr, MXRT_UNSUPPORTED, nullptr, line.text);
  }
  const int64_t *fixed = graph.variants[0].fixed;
  line.add("%s: there is no code for ", graph.name);
  addSizes(line, graph, sizes, fixed, " = ");
  line.add("%s", "\nthere is code for ");
  bool first = true;
  for (int64_t i = 0; i < graph.variant_count; ++i) {
    const mxrt_aot_variant &variant = graph.variants[i];
    if (variant.level != graph.variants[0].level)
      break; // the others are the same for other CPUs
    line.add("%s", first ? "" : "; ");
    addSizes(line, graph, variant.fixed, fixed, " = ");
    first = false;
  }
  line.add("%s", "\nhelp: add the value when it is built: `mxc build --shapes ");
  addSizes(line, graph, sizes, fixed, "=");
  line.add("%s", "`");
  return mxrt_status_text(nullptr, MXRT_SHAPE, nullptr, line.text);
}

mxrt_status isNull(const mxrt_aot_graph &graph, const char *what) {
  Line line;
  line.add("%s: `%s` is NULL", graph.name, what);
  return mxrt_status_text(nullptr, MXRT_INVALID_ARGUMENT, nullptr, line.text);
}

int64_t bytesOf(const mxrt_aot_move &move, const int64_t *sizes) {
  int64_t bytes = move.bytes;
  for (int32_t i = 0; i < move.factor_count; ++i)
    bytes *= sizes[move.factors[i]];
  return bytes;
}

/// Addresses of the inputs, then of the outputs: their final destinations.
mxrt_status collect(const mxrt_aot_graph &graph, void *const *arguments, const int64_t *sizes,
                    void **buffers) {
  bool isEmpty = false; // then addresses may be null
  for (int32_t i = 0; i < graph.size_count; ++i)
    isEmpty |= sizes[i] == 0;
  void **next = buffers;
  int32_t given = 0;
  for (int32_t i = 0; i < graph.argument_count; ++i) {
    const mxrt_aot_argument &argument = graph.arguments[i];
    void *address =
        argument.embedded ? const_cast<mxrt_aot_value *>(argument.embedded) : arguments[given++];
    if (!address && (argument.has_parts || !isEmpty))
      return isNull(graph, argument.name);
    if (argument.has_parts) {
      auto *value = static_cast<const mxrt_aot_value *>(address);
      std::memcpy(next, value->tensors, sizeof(void *) * static_cast<size_t>(argument.count));
    } else {
      *next = address;
    }
    next += argument.count;
  }
  int32_t result = graph.argument_count;
  for (int32_t i = 0; i < graph.output_count; ++i) {
    if (graph.replaces[i] >= 0) {
      *next++ = buffers[graph.replaces[i]];
      continue;
    }
    void *address = arguments[given++];
    if (!address && !isEmpty)
      return isNull(graph, graph.arguments[result].name);
    *next++ = address;
    ++result;
  }
  return nullptr;
}

mxrt_status run(const mxrt_aot_graph &graph, void *const *arguments, const int64_t *sizes,
                void *workspace) {
  int32_t level = mxrt_aot_cpu_level();
  const mxrt_aot_variant *variant = nullptr;
  for (int64_t i = 0; i < graph.variant_count && !variant; ++i)
    if (graph.variants[i].level <= level && fits(graph, graph.variants[i], sizes))
      variant = &graph.variants[i];
  if (!variant)
    return noVariant(graph, sizes, level);
  if (variant->workspace > 0 && !workspace)
    return isNull(graph, "workspace");
  auto count = static_cast<size_t>(graph.input_count + graph.output_count);
  auto **buffers = static_cast<void **>(alloca(sizeof(void *) * (count + 1)));
  if (mxrt_status status = collect(graph, arguments, sizes, buffers))
    return status;

  auto address = reinterpret_cast<uintptr_t>(workspace);
  auto *base =
      reinterpret_cast<char *>((address + MXRT_ALIGNMENT - 1) & ~uintptr_t(MXRT_ALIGNMENT - 1));
  void **outputs = buffers + graph.input_count;
  auto **ends =
      static_cast<void **>(alloca(sizeof(void *) * static_cast<size_t>(variant->move_count + 1)));
  for (int32_t i = 0; i < variant->move_count; ++i)
    ends[i] = variant->moves[i].goes_to < 0 ? nullptr : buffers[variant->moves[i].goes_to];
  for (int32_t i = 0; i < variant->move_count; ++i) {
    const mxrt_aot_move &move = variant->moves[i];
    if (move.offset >= 0)
      outputs[move.output] = base + move.offset;
    if (move.over >= 0) {
      std::memcpy(outputs[move.output], buffers[move.over],
                  static_cast<size_t>(bytesOf(move, sizes)));
      buffers[move.over] = outputs[move.output];
    }
  }
  auto *open =
      static_cast<int64_t *>(alloca(sizeof(int64_t) * static_cast<size_t>(graph.open_count + 1)));
  for (int32_t i = 0; i < graph.open_count; ++i)
    open[i] = sizes[graph.open[i]];
  mxrt_context context;
  mxrt_context_init(&context);
  void *arena = base;
  mxrt_status status = variant->entry(&context, buffers, open, &arena);
  for (int32_t i = 0; i < variant->move_count && !status; ++i)
    if (ends[i])
      std::memcpy(ends[i], outputs[variant->moves[i].output],
                  static_cast<size_t>(bytesOf(variant->moves[i], sizes)));
  return status;
}

} // namespace
} // namespace mxrt::aot

int mxrt_aot_run(const mxrt_aot_graph *graph, void *const *arguments, const int64_t *sizes,
                 void *workspace) {
  return mxrt::aot::report(mxrt::aot::run(*graph, arguments, sizes, workspace));
}
