// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linker: makes a runnable program from a verified module.

#include "host/Machine.h"

#include <algorithm>

namespace mxrt::host {

/// Whether the native accepts every call that the declaration allows, and its result is as
/// declared.
static bool fitsNative(const ImportData &data, const NativeEntry &entry) {
  size_t fixed = entry.paramCount;
  if (!fits(entry.result, data.result) || (data.variadic && !entry.variadic) ||
      (entry.variadic ? data.params.size() < fixed
                      : data.params.size() != fixed))
    return false;
  for (size_t i = 0; i < data.params.size(); ++i) {
    ParamData given = data.params[i];
    ParamData taken = i < fixed ? entry.params[i] : ParamData{Kind::Any, false};
    if (given.isMut != taken.isMut ||
        (given.isMut ? given.kind != taken.kind : !fits(given.kind, taken.kind)))
      return false;
  }
  return true;
}

namespace {

class Linker {
public:
  Linker(Machine &m, Program &program, Finding *finding)
      : m(m), program(program), module(program.module), finding(finding) {}

  Status run() {
    MXRT_CHECK(strings());
    MXRT_CHECK(constants());
    MXRT_CHECK(types());
    MXRT_CHECK(imports());
    MXRT_CHECK(globals());
    return functions();
  }

private:
  Status refuse(Rule rule, const char *what, std::string_view name) {
    if (finding)
      finding->rule = rule;
    return error(m.heap.baseAllocator(), MXRT_HOST_BYTECODE, noLocation,
                 "bytecode refused: %s: %s '%.*s'\nrule: %s", ruleName(rule),
                 what, int(name.size() < 200 ? name.size() : 200), name.data(),
                 ruleDoc(rule));
  }

  template <typename T> Status array(T *&out, size_t count) {
    out = module.arena.array<T>(count);
    return out ? success() : m.heap.exhausted();
  }

  Status strings() {
    MXRT_CHECK(array(program.strings, module.strings.size()));
    for (std::string_view text : module.strings) {
      StrObject *str = makeStr(m.heap, text);
      if (!str)
        return m.heap.exhausted();
      program.strings[program.stringCount++] = str;
    }
    return success();
  }

  Status constants() {
    MXRT_CHECK(array(program.constants, module.constants.size()));
    Value *out = program.constants;
    for (const ConstantData &data : module.constants) {
      switch (data.kind) {
      case Kind::Int:
        *out++ = Value::integer(data.i);
        break;
      case Kind::F32:
        *out++ = Value::f32(data.f);
        break;
      case Kind::F64:
        *out++ = Value::f64(data.d);
        break;
      default: // borrowed: the program owns its strings
        *out++ = Value(Kind::Str, program.strings[data.string]);
      }
    }
    return success();
  }

  Status types() {
    MXRT_CHECK(array(program.types, module.types.size()));
    for (const TypeData &data : module.types) {
      StrObject **fields = nullptr;
      MXRT_CHECK(array(fields, data.fields.size()));
      for (size_t i = 0; i < data.fields.size(); ++i)
        fields[i] = program.strings[data.fields[i]];
      StructTypeObject *type = makeStructType(
          m.heap, program.strings[data.name], {fields, data.fields.size()});
      if (!type)
        return m.heap.exhausted();
      program.types[program.typeCount++] = type;
    }
    return success();
  }

  Status imports() {
    MXRT_CHECK(array(program.imports, module.imports.size()));
    Import *out = program.imports;
    for (const ImportData &data : module.imports) {
      Import import = {&data, program.strings[data.name], nullptr, nullptr};
      std::string_view name = module.strings[data.name];
      if (data.sort == ImportKind::Native) {
        const NativeEntry *entry = m.natives.find(name);
        if (!entry)
          return refuse(Rule::UnknownImport, "native function", name);
        if (!fitsNative(data, *entry))
          return refuse(Rule::ImportType, "native function", name);
        import.native = entry;
      } else {
        if (!m.options.host)
          return refuse(Rule::UnknownImport, "without a host:", name);
        MXRT_CHECK(m.options.host->resolve(
            data.sort, name, {data.params, data.variadic, data.result},
            import.target));
      }
      *out++ = import;
    }
    return success();
  }

  Status globals() {
    for (const GlobalData &data : module.globals) {
      Global *known = m.globals.find(module.strings[data.name]);
      if (known && known->kind != data.kind)
        return refuse(Rule::GlobalKind, "variable", module.strings[data.name]);
    }
    MXRT_CHECK(array(program.globals, module.globals.size()));
    for (const GlobalData &data : module.globals) {
      Global *global = m.globals.find(module.strings[data.name]);
      if (!global)
        global = MXRT_TRY(makeGlobal(data));
      else if (global->kind != data.kind) // declared twice in this module
        return refuse(Rule::GlobalKind, "variable", module.strings[data.name]);
      ++global->refs;
      program.globals[program.globalCount++] = global;
    }
    return success();
  }

  Result<Global *> makeGlobal(const GlobalData &data) {
    auto *global = newObject<Global>(m.heap.allocator());
    if (!global)
      return m.heap.exhausted();
    *global = {1, false, data.kind, program.strings[data.name], Value()};
    retain(global->name);
    if (isInline(data.kind))
      global->value = Value(data.kind, int64_t(0));
    if (!m.globals.insert(global)) {
      dropGlobalRef(m.heap, global);
      return m.heap.exhausted();
    }
    return global;
  }

  Status functions() {
    MXRT_CHECK(array(program.functions, module.functions.size()));
    Function *out = program.functions;
    for (const FunctionData &data : module.functions) {
      size_t count = data.registers.size();
      Value *blank = nullptr;
      uint16_t *counted = nullptr;
      MXRT_CHECK(array(blank, count));
      MXRT_CHECK(array(counted, count));
      uint32_t countedSize = 0;
      for (size_t i = 0; i < count; ++i) {
        Kind kind = data.registers[i];
        blank[i] = isInline(kind) ? Value(kind, int64_t(0)) : Value();
        if (!isInline(kind))
          counted[countedSize++] = uint16_t(i);
      }
      bool hasMut = false;
      for (ParamData param : data.params)
        hasMut |= param.isMut;
      *out++ = {&program,    &data,
                data.code.data(), blank,
                counted,     countedSize,
                uint32_t(count), hasMut,
                program.strings[data.name], program.strings[data.file]};
    }
    return success();
  }

  Machine &m;
  Program &program;
  Module &module;
  Finding *finding;
};

} // namespace

void dropGlobal(Heap &heap, Global *global) {
  global->dropped = true;
  release(heap, global->value);
  dropGlobalRef(heap, global);
}

void dropGlobalRef(Heap &heap, Global *global) {
  if (--global->refs)
    return;
  release(heap, global->value);
  release(heap, global->name);
  deleteObject(heap.allocator(), global);
}

Result<Program *> linkProgram(Machine &machine, std::span<const uint8_t> bytes,
                              Finding *finding) {
  auto *program = newObject<Program>(machine.heap.allocator(), machine.heap,
                                     machine);
  if (!program)
    return machine.heap.exhausted();
  program->refs = 1;
  program->tag = ObjectTag::Program;
  Status status = decodeModule(machine.heap, bytes, program->module, finding);
  if (status.ok())
    status = verifyModule(machine.heap, program->module, finding);
  if (status.ok())
    status = Linker(machine, *program, finding).run();
  if (status.failed()) {
    release(machine.heap, static_cast<Object *>(program));
    return status;
  }
  return program;
}

void destroyProgram(Program *program) {
  Heap &heap = program->machine.heap;
  for (uint32_t i = 0; i < program->globalCount; ++i)
    dropGlobalRef(heap, program->globals[i]);
  for (uint32_t i = 0; i < program->typeCount; ++i)
    release(heap, program->types[i]);
  for (uint32_t i = 0; i < program->stringCount; ++i)
    release(heap, program->strings[i]);
  deleteObject(heap.allocator(), program);
}

} // namespace mxrt::host
