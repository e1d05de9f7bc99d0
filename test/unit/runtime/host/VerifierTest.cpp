// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule of Rules.def refuses what breaks it, and names the location.

#include "VmTestSupport.h"

#include "host/text/ModuleBuilder.h"

#include <algorithm>
#include <set>

namespace mxrt::host {
namespace {

class VerifierTest : public VmFixture {
protected:
  /// The finding for a module that must be refused.
  Finding refused(const std::vector<uint8_t> &bytes) {
    Finding finding;
    Result<Program *> loaded = vm->load(bytes, &finding);
    if (loaded.ok()) {
      ADD_FAILURE() << "accepted";
      vm->unload(loaded.take());
      return finding;
    }
    Status status = loaded.takeStatus();
    message = status.message();
    EXPECT_EQ(status.code(), MXRT_HOST_BYTECODE);
    EXPECT_NE(message.find(ruleName(finding.rule)), std::string::npos) << message;
    return finding;
  }
  /// One function `f` with these registers and this code, then `retu`.
  std::vector<uint8_t> code(std::vector<Kind> registers, std::vector<Instr> instructions,
                            std::vector<std::vector<uint16_t>> lists = {}) {
    ModuleBuilder module;
    module.constant(int64_t(5));       // row 0
    module.constant("no format {}");   // row 1
    module.globals = globals;
    FunctionBuilder &fn = module.functions.emplace_back();
    fn.name = "f";
    fn.registers = std::move(registers);
    fn.lists = std::move(lists);
    fn.code = std::move(instructions);
    fn.emit(Opcode::RetUnit);
    return module.finish();
  }
  Rule ruleOf(const std::vector<uint8_t> &bytes) { return refused(bytes).rule; }
  Rule ruleOfText(std::string_view text) { return refused(bytesOf(text)).rule; }

  static Instr make(Opcode op, uint16_t a = 0, uint16_t b = 0, uint16_t c = 0) {
    return {uint16_t(op), a, b, c};
  }
  std::vector<GlobalDecl> globals;
  std::string message;
};

constexpr Kind I = Kind::Int, S = Kind::Str;

TEST_F(VerifierTest, TheMessageNamesFunctionInstructionAndRule) {
  Finding finding = refused(code({I, I}, {make(Opcode::Nop), make(Opcode::AddInt, 0, 1, 2)}));
  EXPECT_EQ(finding.rule, Rule::RegisterRange);
  EXPECT_EQ(finding.function, 0u);
  EXPECT_EQ(finding.instruction, 1u);
  EXPECT_EQ(message, "bytecode refused in function 'f' at instruction 1 (add.i): register-range: "
                     "operand c is register 2 of 2\nrule: a register is below the function's count");
}

TEST_F(VerifierTest, Instructions) {
  EXPECT_EQ(ruleOf(code({}, {Instr{uint16_t(opcodeCount), 0, 0, 0}})), Rule::OpcodeRange);
  EXPECT_EQ(ruleOf(code({I, S}, {make(Opcode::AddInt, 0, 0, 1)})), Rule::RegisterKind);
  EXPECT_EQ(ruleOf(code({I, S}, {make(Opcode::UnitImm, 0)})), Rule::RegisterKind);
  EXPECT_EQ(ruleOf(code({I, Kind::F64}, {make(Opcode::Mov, 0, 1)})), Rule::KindsDiffer);
  EXPECT_EQ(ruleOf(code({I, S}, {make(Opcode::Copy, 0, 1)})), Rule::KindsDiffer);
  EXPECT_EQ(ruleOf(code({Kind::Any, I}, {make(Opcode::Move, 0, 1)})), Rule::KindsDiffer);
  EXPECT_EQ(ruleOf(code({I, S}, {make(Opcode::Cast, 0, 1)})), Rule::KindsDiffer);
  EXPECT_EQ(ruleOf(code({I}, {make(Opcode::Drop, 0)})), Rule::RegisterKind);
  EXPECT_EQ(ruleOf(code({I}, {make(Opcode::Nop, 1)})), Rule::UnusedOperand);
  EXPECT_EQ(ruleOf(code({Kind::Bool}, {make(Opcode::BoolImm, 0, 2)})), Rule::ImmediateRange);
  EXPECT_EQ(ruleOf(code({Kind::DType}, {make(Opcode::DTypeImm, 0, MXRT_DTYPE_COUNT)})),
            Rule::ImmediateRange);
  for (uint16_t code_ : {uint16_t(0), uint16_t(9999), uint16_t(MXRT_CANCELLED), uint16_t(MXRT_INTERNAL)})
    EXPECT_EQ(ruleOf(code({Kind::Error, S}, {make(Opcode::MakeError, 0, 1, code_)})),
              Rule::ImmediateRange);
}

TEST_F(VerifierTest, JumpsAndEnds) {
  EXPECT_EQ(ruleOf(code({}, {make(Opcode::Jump, 1)})), Rule::JumpTarget);
  EXPECT_EQ(ruleOf(code({}, {make(Opcode::Jump, 0xfffe, 0xffff)})), Rule::JumpTarget);
  EXPECT_EQ(ruleOf(code({I}, {make(Opcode::JumpLtInt, 0, 0, 0x7fff)})), Rule::JumpTarget);
  EXPECT_EQ(ruleOf(code({Kind::Bool}, {make(Opcode::JumpTrue, 0, 0, 0x8000)})), Rule::JumpTarget);
  ModuleBuilder module;
  FunctionBuilder &fn = module.functions.emplace_back();
  EXPECT_EQ(ruleOf(module.finish()), Rule::FallsOff);
  fn.emit(Opcode::Nop);
  EXPECT_EQ(ruleOf(module.finish()), Rule::FallsOff);
}

TEST_F(VerifierTest, Rows) {
  EXPECT_EQ(ruleOf(code({I}, {make(Opcode::Const, 0, 2)})), Rule::ConstantIndex);
  EXPECT_EQ(ruleOf(code({I}, {make(Opcode::Const, 0, 0, 1)})), Rule::ConstantIndex);
  EXPECT_EQ(ruleOf(code({S}, {make(Opcode::Const, 0, 0)})), Rule::ConstantIndex);
  EXPECT_EQ(ruleOf(code({S}, {make(Opcode::Format, 0, 0, 0)})), Rule::FormatText);
  EXPECT_EQ(ruleOf(code({S}, {make(Opcode::Format, 0, 0, 1)})), Rule::FormatText);
  EXPECT_EQ(ruleOf(code({}, {make(Opcode::Print, 0)})), Rule::ListIndex);
  EXPECT_EQ(ruleOf(code({}, {make(Opcode::Call, noRegister, 1, 0)}, {{}})), Rule::FunctionIndex);
  EXPECT_EQ(ruleOf(code({}, {make(Opcode::CallNative, noRegister, 0, 0)}, {{}})), Rule::ImportIndex);
  EXPECT_EQ(ruleOf(code({Kind::Struct}, {make(Opcode::MakeStruct, 0, 0, 0)}, {{}})), Rule::TypeIndex);
  EXPECT_EQ(ruleOf(code({I}, {make(Opcode::GetGlobal, 0, 0)})), Rule::GlobalIndex);
  EXPECT_EQ(ruleOfText("native f()\nfunc g() {\n tensor _, f, []\n retu\n}\n"), Rule::ImportIndex);
  EXPECT_EQ(ruleOfText("global x: str\nfunc g() {\n reg i64\n gget r0, x\n retu\n}\n"), Rule::KindsDiffer);
  EXPECT_EQ(ruleOfText("global x: str\nfunc g() {\n reg any\n gset x, r0\n retu\n}\n"), Rule::KindsDiffer);
}

TEST_F(VerifierTest, Lists) {
  EXPECT_EQ(ruleOf(code({I}, {}, {{1}})), Rule::RegisterRange);
  EXPECT_EQ(ruleOf(code({I}, {}, {{mutBit, 0}})), Rule::ListMut);
  EXPECT_EQ(ruleOf(code({I}, {make(Opcode::Print, 0)}, {{mutBit}})), Rule::ListMut);
  EXPECT_EQ(ruleOf(code({I, S}, {make(Opcode::Join, 1, 0)}, {{0}})), Rule::ArgumentKind);
  EXPECT_EQ(ruleOfText("type P(x)\nfunc f() {\n reg struct\n struct r0, P, []\n retu\n}\n"), Rule::Arity);
  EXPECT_EQ(ruleOfText("func f(mut i64) {\n reg fn\n closure r1, f, [r0]\n retu\n}\n"), Rule::ListMut);
  EXPECT_EQ(ruleOfText("func f(i64) {\n reg fn\n closure r1, f, [r0, r0]\n retu\n}\n"), Rule::Arity);
  EXPECT_EQ(ruleOfText("func f(i64) {\n reg fn, str\n closure r1, f, [r2]\n retu\n}\n"), Rule::ArgumentKind);
}

TEST_F(VerifierTest, Calls) {
  auto call = [](std::string_view list, std::string_view to) {
    return "func g(i64, mut str) -> i64 {\n ret r0\n}\nfunc f() {\n reg i64, str, any\n call " +
           std::string(to) + ", g, " + std::string(list) + "\n retu\n}\n";
  };
  EXPECT_EQ(ruleOfText(call("[r0]", "_")), Rule::Arity);
  EXPECT_EQ(ruleOfText(call("[r0, r1]", "_")), Rule::ArgumentKind);
  EXPECT_EQ(ruleOfText(call("[mut r0, mut r1]", "_")), Rule::ArgumentKind);
  EXPECT_EQ(ruleOfText(call("[r0, mut r2]", "_")), Rule::ArgumentKind);
  EXPECT_EQ(ruleOfText(call("[r2, mut r1]", "_")), Rule::ArgumentKind);
  EXPECT_EQ(ruleOfText(call("[r0, mut r1]", "r1")), Rule::ResultKind);
  EXPECT_TRUE(load(call("[r0, mut r1]", "r2")));
  EXPECT_EQ(ruleOfText("func f() -> i64 {\n reg str\n ret r0\n}\n"), Rule::ResultKind);
  EXPECT_EQ(ruleOfText("func f() -> i64 {\n retu\n}\n"), Rule::ResultKind);
  EXPECT_EQ(ruleOfText("func f() {\n reg str\n ret r0\n}\n"), Rule::ResultKind);
}

TEST_F(VerifierTest, TablesOfAFunction) {
  ModuleBuilder module;
  FunctionBuilder &fn = module.functions.emplace_back();
  fn.registers = {I};
  fn.emit(Opcode::Nop);
  fn.emit(Opcode::RetUnit);
  auto ruleOfHandler = [&](HandlerData handler) {
    fn.handlers = {handler};
    Rule rule = ruleOf(module.finish());
    fn.handlers.clear();
    return rule;
  };
  EXPECT_EQ(ruleOfHandler({0, 0, 0, noRegister}), Rule::HandlerRange);
  EXPECT_EQ(ruleOfHandler({0, 3, 0, noRegister}), Rule::HandlerRange);
  EXPECT_EQ(ruleOfHandler({0, 1, 2, noRegister}), Rule::HandlerRange);
  EXPECT_EQ(ruleOfHandler({0, 1, 0, 1}), Rule::RegisterRange);
  EXPECT_EQ(ruleOfHandler({0, 1, 0, 0}), Rule::RegisterKind);
  fn.locations = {{2, 1, 1, 0}};
  EXPECT_EQ(ruleOf(module.finish()), Rule::LocationOrder);
  fn.locations = {{1, 1, 1, 0}, {1, 2, 1, 0}};
  EXPECT_EQ(ruleOf(module.finish()), Rule::LocationOrder);
  fn.locations.clear();
  fn.params = {{S, false}};
  EXPECT_EQ(ruleOf(module.finish()), Rule::Parameters);
  fn.params = {{I, false}, {I, false}};
  EXPECT_EQ(ruleOf(module.finish()), Rule::Parameters);
  fn.params = {{I, false}};
  module.entry = 0;
  EXPECT_EQ(ruleOf(module.finish()), Rule::EntryPoint);
  module.entry = 7;
  EXPECT_EQ(ruleOf(module.finish()), Rule::EntryPoint);
}

TEST_F(VerifierTest, EveryOpcodeChecksEveryRegister) {
  // For each instruction, each register operand in turn out of range.
  globals = {{"g", Kind::Any}};
  unsigned tried = 0;
  for (unsigned op = 0; op < opcodeCount; ++op) {
    const OpcodeInfo &info = opcodeInfo(Opcode(op));
    for (unsigned i = 0; i < 3; ++i) {
      if (!isRegister(info.roles[i]))
        continue;
      Instr instr = {uint16_t(op), 0, 0, 0};
      (i == 0 ? instr.a : i == 1 ? instr.b : instr.c) = 40;
      Finding finding = refused(code(std::vector<Kind>(40, Kind::Any), {instr}));
      EXPECT_TRUE(finding.rule == Rule::RegisterRange || finding.rule == Rule::RegisterKind)
          << info.mnemonic;
      ++tried;
    }
  }
  EXPECT_GT(tried, 150u);
}

//===-- Decoding -----------------------------------------------------------===//

std::string sample() {
  return "type P(x, y)\nnative n(i64, ...) -> str\nglobal g: any\nentry m\n"
         "func m() in \"s.mx\" {\n reg i64, str, error\n line 1:2 stmt\na:\n const r1, \"é\"\nb:\n retu\n"
         "c:\n raise r2\n try a, b, c, r2\n}\n";
}

TEST_F(VerifierTest, EveryTruncationIsRefused) {
  std::vector<uint8_t> bytes = bytesOf(sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + long(size));
    Finding finding = refused(cut);
    EXPECT_EQ(finding.rule, size < moduleHeaderBytes ? Rule::Header : Rule::Size) << size;
    // With a header that fits, the tables themselves must notice.
    sealModule(cut);
    if (size >= moduleHeaderBytes)
      EXPECT_EQ(refused(cut).rule, Rule::Truncated) << size;
  }
  bytes.push_back(0);
  sealModule(bytes);
  EXPECT_EQ(ruleOf(bytes), Rule::Trailing);
}

TEST_F(VerifierTest, EveryBitOfTheFileIsProtected) {
  std::vector<uint8_t> bytes = bytesOf(sample());
  const Rule headerRules[] = {Rule::Header, Rule::Version, Rule::FlagBits, Rule::Size, Rule::Checksum};
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= uint8_t(1 << bit % 8);
    Rule rule = ruleOf(bytes);
    EXPECT_TRUE(std::find(std::begin(headerRules), std::end(headerRules), rule) != std::end(headerRules));
    bytes[bit / 8] ^= uint8_t(1 << bit % 8);
  }
}

TEST_F(VerifierTest, DecodingRules) {
  auto with = [&](auto change) {
    ModuleBuilder module;
    FunctionBuilder &fn = module.functions.emplace_back();
    fn.name = "f";
    fn.emit(Opcode::RetUnit);
    change(module, fn);
    return ruleOf(module.finish());
  };
  using M = ModuleBuilder;
  using F = FunctionBuilder;
  EXPECT_EQ(with([](M &, F &fn) { fn.name = "\xff"; }), Rule::Utf8);
  EXPECT_EQ(with([](M &, F &fn) { fn.registers = {Kind::Unset}; }), Rule::KindCode);
  EXPECT_EQ(with([](M &, F &fn) { fn.registers = {Kind::Unit}; }), Rule::KindCode);
  EXPECT_EQ(with([](M &, F &fn) { fn.result = Kind(200); }), Rule::KindCode);
  EXPECT_EQ(with([](M &m, F &) { m.imports.push_back({ImportKind(3), "x", false, I, {}}); }), Rule::KindCode);
  EXPECT_EQ(with([](M &, F &fn) { fn.locations = {{0, 1, 1, 2}}; }), Rule::FlagBits);
  EXPECT_EQ(with([](M &, F &fn) { fn.registers.resize(maxRegisters + 1, I); }), Rule::TableLimit);
  EXPECT_EQ(with([](M &m, F &) { m.globals.resize(maxTableRows + 1); }), Rule::TableLimit);
  // A name beyond the string table: the last string is the function's file.
  std::vector<uint8_t> bytes = bytesOf("global g: i64\n");
  bytes[bytes.size() - 4 - 4 - 5] = 9;
  sealModule(bytes);
  EXPECT_EQ(ruleOf(bytes), Rule::StringIndex);
}

} // namespace
} // namespace mxrt::host
