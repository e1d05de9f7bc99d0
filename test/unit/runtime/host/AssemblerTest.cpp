// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text to bytes to the same text; the table of instructions.

#include "VmTestSupport.h"

#include "host/text/ModuleBuilder.h"

#include <set>

namespace mxrt::host {
namespace {

class AssemblerTest : public VmFixture {
protected:
  std::string textOf(const std::vector<uint8_t> &bytes) {
    Module module(vm->heap());
    Status status = decodeModule(vm->heap(), bytes, module);
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok() ? disassemble(module) : "";
  }
  std::string messageOf(std::string_view text) {
    std::vector<uint8_t> bytes;
    std::string message;
    EXPECT_FALSE(assemble(text, bytes, message));
    return message;
  }
};

const char *const sample = R"(type Point(x, "odd name")
native log(str, ...)
tensor add(tensor, tensor) -> tensor
graph step(mut struct, i64) -> f32
global counter: i64
entry main

func main() in "a.mx" {
  reg i64, str, struct, f32, f64, bool, dtype, error
  reg tensor, any
  line 1:1 stmt
  const r0, -9223372036854775808
  const r1, "quote \" and \x0a and é"
  const r3, 1e-45f
  const r4, #7ff0000000000000d
  bool r5, true
  dtype r6, bf16
L6:
  line 2:3
  native _, log, [r1, r0, r5]
  tensor r8, add, [r8, r8]
  graph r3, step, [mut r2, r0]
  struct r2, Point, [r0, r1]
  set r2, 65535, r0
  fmt r1, r3, ".3f"
L12:
  jlt.i r0, r0, L6
  jt r5, L12
  gget r0, counter
  call r9, helper, [r0]
  error r7, r1, R0303
  raise r7
  try L6, L12, L12, r7
  try L12, L18, L6, _
L18:
}
)";

TEST_F(AssemblerTest, TextSurvivesTheRoundTrip) {
  std::string helper = "\nfunc helper(i64) -> any {\n  ret r0\n}\n";
  std::string text = sample;
  // Labels at the end of the code come before the tries.
  text = text.substr(0, text.find("  try L6")) + "L18:\n  try L6, L12, L12, r7\n  try L12, L18, L6, _\n}\n" + helper;
  std::vector<uint8_t> bytes = bytesOf(text);
  EXPECT_EQ(textOf(bytes), text);
  EXPECT_EQ(bytesOf(textOf(bytes)), bytes);
}

TEST_F(AssemblerTest, EveryInstructionSurvivesTheRoundTrip) {
  ModuleBuilder module;
  module.constant("text");
  module.types.push_back({"T", {"a"}});
  module.imports.push_back({ImportKind::Native, "n", false, Kind::Unit, {}});
  module.globals.push_back({"g", Kind::Any});
  FunctionBuilder &fn = module.functions.emplace_back();
  fn.name = "f";
  fn.list({0});
  fn.registers = {Kind::Any};
  for (unsigned op = 0; op < opcodeCount; ++op)
    fn.emit(Opcode(op));
  fn.emit(Opcode::RetUnit);
  std::string text = textOf(module.finish());
  for (unsigned op = 0; op < opcodeCount; ++op)
    EXPECT_NE(text.find("\n  " + std::string(opcodeInfo(Opcode(op)).mnemonic)), std::string::npos);
  EXPECT_EQ(textOf(bytesOf(text)), text);
}

TEST_F(AssemblerTest, SameNamesAreTextToo) {
  ModuleBuilder module;
  for (int i = 0; i < 2; ++i) {
    FunctionBuilder &fn = module.functions.emplace_back();
    fn.name = "same";
    fn.emit(Opcode::Call, noRegister, uint16_t(i), fn.list({}));
    fn.emit(Opcode::RetUnit);
  }
  module.entry = 1;
  std::vector<uint8_t> bytes = module.finish();
  EXPECT_EQ(bytesOf(textOf(bytes)), bytes);
}

TEST_F(AssemblerTest, MistakesHaveTheirLocation) {
  EXPECT_EQ(messageOf("func f() {\n  fly r1\n}\n"), "2:3: there is no instruction fly");
  EXPECT_EQ(messageOf("func f() {\n  jmp away\n}\n"), "2:7: there is no label away");
  EXPECT_EQ(messageOf("func f() {\n  call _, g, []\n}\n"), "2:11: there is no function g");
  EXPECT_EQ(messageOf("func f() {\n"), "2:1: '}' is missing");
  EXPECT_EQ(messageOf("func f() {\n  int r0, 2147483648\n}\n"),
            "2:11: a number from -2147483648 to 2147483647 was expected");
  EXPECT_EQ(messageOf("global x: bad\n"), "1:11: a kind was expected");
  EXPECT_EQ(messageOf("func f() {\n  const r0, \"open\n}\n"), "2:13: unexpected character or unfinished string");
  EXPECT_EQ(messageOf("func f() {\nl:\nl:\n  retu\n}\n"), "3:1: label l stands twice");
  EXPECT_EQ(messageOf("func f() {\n  add.i r0, r1\n}\n"), "2:15: ',' is missing");
  EXPECT_EQ(messageOf("hello\n"), "1:1: type, native, tensor, graph, global, entry or func expected");
}

TEST_F(AssemblerTest, LongJumps) {
  std::string nops;
  for (int i = 0; i < 40000; ++i)
    nops += " nop\n";
  EXPECT_NE(messageOf("func f() {\n reg i64\n jeq.i r0, r0, far\n" + nops + "far:\n retu\n}\n").find("too far"),
            std::string::npos);
  Program *program = load("entry f\nfunc f() {\n reg bool, i64\nback:\n jt r0, out\n bool r0, true\n jmp far\nout:\n"
                          " retu\n" + nops + "far:\n jmp back\n}\n");
  EXPECT_TRUE(vm->run(program).ok());
}

TEST_F(AssemblerTest, TheTableOfInstructionsIsSound) {
  std::set<std::string> mnemonics;
  for (unsigned op = 0; op < opcodeCount; ++op) {
    const OpcodeInfo &info = opcodeInfo(Opcode(op));
    EXPECT_TRUE(mnemonics.insert(info.mnemonic).second) << info.mnemonic << " stands twice";
    EXPECT_EQ(opcodeFromMnemonic(info.mnemonic), op);
    EXPECT_STRNE(info.doc, "");
    EXPECT_NE(info.roles[0], Role::Wide);
    for (int i = 0; i < 2; ++i) {
      bool wide = info.roles[i] == Role::Jump32 || info.roles[i] == Role::Const32 || info.roles[i] == Role::Imm32;
      EXPECT_EQ(info.roles[i + 1] == Role::Wide, wide) << info.mnemonic;
    }
  }
  for (unsigned kind = 1; kind < kindCount; ++kind)
    EXPECT_EQ(kindFromName(kindName(Kind(kind))), Kind(kind));
}

} // namespace
} // namespace mxrt::host
