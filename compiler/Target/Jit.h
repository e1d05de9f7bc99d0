// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects to running code, in this process.
#pragma once
#include "Target/Fault.h"
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mx::target {

/// A function or variable of this process that generated code may refer to.
struct HostSymbol {
  std::string name;
  const void *address;
};

struct JitOptions {
  /// Tells gdb about the code. LLVM cannot take that back: gdb goes on showing dropped units, and
  /// what describes them stays in memory until the Jit goes.
  bool gdb = false;
  /// Writes names for `perf` into perfMapFolder/perf-PID.map; perf looks in /tmp.
  bool perfMap = false;
  std::string perfMapFolder = "/tmp";
};

/// Code that was loaded together and is unloaded together: when this goes. Nobody may run it then,
/// nor any code of later units that refers to it. Movable; may outlive its Jit object.
class JitUnit {
public:
  JitUnit() = default;
  JitUnit(JitUnit &&) = default;
  JitUnit &operator=(JitUnit &&) = default;
  ~JitUnit() = default;

  /// Null if the unit defines no such function. Any thread.
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

/// A place for generated code. There may be several in a process; they share nothing. Copies are
/// handles to the same one. All calls may come from any thread; loading is done one at a time.
class Jit {
public:
  /// Code may refer to `symbols` (which win over functions of the same name below), to a fixed
  /// list of functions of libc and libm, and to what other units define; nothing else of the
  /// process is searched.
  static Result<Jit> create(const std::vector<HostSymbol> &symbols, const JitOptions &options = {});

  /// Loads and links objects, which may refer to each other and to units added before. A name
  /// that nobody defines, or that is defined twice, is a fault that says which; then nothing
  /// is loaded.
  Result<JitUnit> add(const std::vector<std::string_view> &objects);

  /// The function of this name in any unit that is loaded, or null.
  void *lookup(std::string_view name) const;

private:
  friend class JitUnit;
  struct State;
  std::shared_ptr<State> state;
};

} // namespace mx::target
