// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JIT linker: loads objects as running code in this process.
#pragma once
#include "Target/Fault.h"
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mx::target {

/// A function or variable of this process that generated code may reference.
struct HostSymbol {
  std::string name;
  const void *address;
};

struct JitOptions {
  /// Registers the code with gdb. LLVM cannot unregister it: gdb keeps showing dropped units, and
  /// their debug objects stay in memory until the Jit is destroyed.
  bool gdb = false;
  /// Writes symbols for `perf` into perfMapFolder/perf-PID.map; perf looks in /tmp.
  bool perfMap = false;
  std::string perfMapFolder = "/tmp";
};

/// Code that was loaded together and is unloaded together: when this is destroyed. No thread may
/// run it then, nor any code of later units that references it. Movable; may outlive its Jit
/// object.
class JitUnit {
public:
  JitUnit() = default;
  JitUnit(JitUnit &&) = default;
  JitUnit &operator=(JitUnit &&) = default;
  ~JitUnit() = default;

  /// Null if the unit does not define the function. Any thread.
  void *address(std::string_view name) const;
  /// The same as a pointer to a function.
  template <typename Function> Function *function(std::string_view name) const {
    return reinterpret_cast<Function *>(address(name));
  }
  const std::map<std::string, void *, std::less<>> &symbols() const;

private:
  friend class Jit;
  struct State;
  std::shared_ptr<State> state;
};

/// A container of generated code. There may be several in a process; they share nothing. Copies are
/// handles to the same one. All calls may come from any thread; loading is serialised.
class Jit {
public:
  /// Code may reference `symbols` (which take precedence over functions of the same name below), a
  /// fixed list of functions of libc and libm, and symbols of other units; no other symbol of the
  /// process is searched.
  static Result<Jit> create(const std::vector<HostSymbol> &symbols, const JitOptions &options = {});

  /// Loads and links objects, which may reference each other and units added before. An undefined
  /// or duplicate symbol is a fault that names it; then nothing is loaded.
  Result<JitUnit> add(const std::vector<std::string_view> &objects);

  /// The function of this name in any loaded unit, or null.
  void *lookup(std::string_view name) const;

private:
  friend class JitUnit;
  struct State;
  std::shared_ptr<State> state;
};

} // namespace mx::target
