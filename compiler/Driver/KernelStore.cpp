// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel cache: prebuilt objects, the cache on disk, and JIT compilation.
#include "Driver/KernelStore.h"
#include "Driver/Installed.h"
#include "Driver/Prebuilt.h"
#include "Target/Hasher.h"
#include "base/Status.h"
#include "mxrt/abi.h"
#include <algorithm>
#include <sys/stat.h>

extern "C" const char mx_prebuilt_begin[], mx_prebuilt_end[]; // PrebuiltData.S

namespace mx::driver {

std::string buildId() {
  // Identifies the program or library file: another build is another file.
  struct stat info {};
  if (stat(codeFile().c_str(), &info) != 0)
    return std::string("mxc ") + MX_VERSION;
  target::Hasher hasher;
  hasher.add(MX_VERSION)
      .add(static_cast<uint64_t>(info.st_size))
      .add(static_cast<uint64_t>(info.st_ino))
      .add(static_cast<uint64_t>(info.st_mtim.tv_sec))
      .add(static_cast<uint64_t>(info.st_mtim.tv_nsec));
  return hasher.hex();
}

KernelStore::KernelStore(mlir::MLIRContext &context, const pipeline::Options &options,
                         const std::string &cacheFolder, const std::string &cpu,
                         const mxrt_allocator *allocator)
    : context(&context), compileOptions(options), allocator(allocator), cpuName(cpu) {
  auto known = target::TargetCpu::parse(cpu);
  if (!known) {
    trouble = known.message();
    return;
  }
  machine = known.take();
  target::CacheOptions cacheOptions;
  cacheOptions.folder = cacheFolder;
  cacheOptions.buildId = buildId();
  cacheOptions.abiVersion = MXRT_ABI_VERSION;
  disk = std::make_unique<target::ObjectCache>(cacheOptions);
  auto made = newJit();
  if (!made) {
    trouble = made.message();
    return;
  }
  jit = made.take();
}

target::Result<target::Jit> KernelStore::newJit() const {
  size_t count = 0;
  const mxrt_abi_function *rows = mxrt_abi_functions(&count);
  std::vector<target::HostSymbol> symbols;
  for (size_t i = 0; i < count; ++i)
    symbols.push_back({rows[i].name, reinterpret_cast<const void *>(rows[i].address)});
  target::JitOptions jitOptions;
  jitOptions.perfMap = compileOptions.perfMap;
  return target::Jit::create(symbols, jitOptions);
}

/// Unpacked when the first kernel is requested: a program without tensors never does that.
const std::map<std::string_view, std::string_view> &KernelStore::prebuilt() {
  if (unpacked)
    return *unpacked;
  unpacked.emplace();
  std::vector<std::string> levels = prebuiltLevels();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    if (auto known = target::TargetCpu::parse(*level);
        known && (cpuName == "native" ? known->runsHere() : *level == cpuName)) {
      *unpacked = unpackPrebuilt(
          {mx_prebuilt_begin, static_cast<size_t>(mx_prebuilt_end - mx_prebuilt_begin)}, *level);
      break;
    }
  return *unpacked;
}

mxrt::Status KernelStore::find(std::string_view key, mxrt_compiled_kernel &out) {
  Timing::Span span(compileOptions.timing, "kernels of single ops");
  std::unique_lock gate = enterGate();
  std::string entry = kernelSymbol(key), error;
  std::optional<std::string> object;
  // Prebuilt kernels are compiled with the default options.
  pipeline::Options options = compileOptions.ofEagerKernels();
  if (options.key().empty())
    if (auto found = prebuilt().find(key); found != prebuilt().end())
      object = std::string(found->second);
  if (!object)
    object = pipeline::compileEagerKernel(*context, llvm::StringRef(key.data(), key.size()), entry,
                                          *machine, *disk, options, error);
  if (object) {
    auto unit = jit->add({std::string_view(*object)});
    if (unit) {
      out = reinterpret_cast<mxrt_compiled_kernel>(unit->address(entry));
      units.push_back(unit.take());
      if (out)
        return {};
      error = "no such symbol";
    } else {
      error = unit.message();
    }
  }
  if (options.stopped())
    return mxrt::Status(mxrt_status_make(allocator, MXRT_CANCELLED, {}, "op `%.*s` was cancelled",
                                         static_cast<int>(key.size()), key.data()));
  return mxrt::Status(mxrt_status_make(allocator, MXRT_INTERNAL, {}, "no kernel for `%.*s`: %s",
                                       static_cast<int>(key.size()), key.data(), error.c_str()));
}

void *KernelStore::load(const pipeline::Variant &variant, std::vector<Code> &held,
                        std::string &error) {
  Timing::Span span(compileOptions.timing, "linking");
  std::vector<std::string_view> objects;
  std::vector<std::string> missing;
  for (auto &[name, object] : variant.objects) {
    auto known = loaded.find(name);
    if (Code code = known == loaded.end() ? nullptr : known->second.lock()) {
      if (std::find(held.begin(), held.end(), code) == held.end())
        held.push_back(std::move(code));
      continue;
    }
    objects.push_back(object);
    missing.push_back(name);
  }
  if (!objects.empty()) {
    auto unit = jit->add(objects);
    if (!unit) {
      error = unit.message();
      return nullptr;
    }
    auto code = std::make_shared<target::JitUnit>(unit.take());
    for (const std::string &name : missing)
      loaded[name] = code;
    held.push_back(std::move(code));
    std::erase_if(loaded, [](auto &entry) { return entry.second.expired(); });
  }
  void *address = jit->lookup(variant.entry);
  if (!address)
    error = "`" + variant.entry + "` is not defined";
  return address;
}

} // namespace mx::driver
