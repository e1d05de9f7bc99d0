// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of compressed gradients. The codec of a KVStore is chosen when the program runs, so the
// plan has them all. The runtime's own tables of keys are asked, so the numbers are exact.
#include "Driver/PlanCompression.h"

#include "kvstore/KeyTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace mx::driver {

using namespace mxrt::kvstore;

/// Elements of `f32[64, 256]`; nothing for other element types.
static std::optional<int64_t> elementsOf(llvm::StringRef type) {
  if (!type.consume_front("f32[") || !type.consume_back("]"))
    return std::nullopt;
  int64_t elements = 1;
  while (!type.empty()) {
    auto [size, rest] = type.split(", ");
    int64_t number = 0;
    if (size.getAsInteger(10, number))
      return std::nullopt;
    elements *= number;
    type = rest;
  }
  return elements;
}

/// What rank 0 sends.
static std::optional<uint64_t> sentBytes(const memory::ExchangeReport &exchange, const Codec &codec,
                                         int workers) {
  const mxrt_allocator *alloc = mxrt_system_allocator();
  std::vector<int64_t> sizes;
  for (const memory::ExchangedKey &key : exchange.keys) {
    auto elements = elementsOf(key.type);
    if (!elements || key.form != "dense")
      return std::nullopt;
    sizes.push_back(*elements);
  }
  std::vector<KeySpec> specs;
  for (size_t i = 0; i < sizes.size(); ++i)
    specs.push_back({exchange.keys[i].name, MXRT_F32, {&sizes[i], 1}});
  KeyTable table(alloc);
  mxrt::Status made = table.make(Action::Average, specs, {}, 0, workers, {}, codec);
  if (made.failed())
    return std::nullopt;
  uint64_t bytes = 0;
  for (const Key &key : table.keys)
    bytes += key.sentBytes;
  return bytes;
}

std::string showCompression(const memory::PlanReport &plan) {
  std::string text;
  for (const memory::ExchangeReport &exchange : plan.exchanges) {
    if (exchange.action != "average" || !sentBytes(exchange, {}, 2))
      continue;
    text += "\naveraged with `compress=`: bytes that rank 0 of W workers sends\n";
    text += llvm::formatv("  {0,-12} {1,16} {2,16} {3,16}\n", "", "W = 2", "W = 4", "W = 8").str();
    for (auto kind : {Codec::Kind::Fp16, Codec::Kind::Bf16, Codec::Kind::Bit2, Codec::Kind::Bit1,
                      Codec::Kind::TopK}) {
      Codec codec;
      codec.kind = kind;
      std::string cells;
      for (int workers : {2, 4, 8}) {
        auto bytes = static_cast<int64_t>(sentBytes(exchange, codec, workers).value_or(0));
        cells += llvm::formatv(" {0,16}", memory::withCommas(bytes)).str();
      }
      std::string name = codecName(kind);
      if (kind == Codec::Kind::TopK)
        name += "(0.01)";
      text += llvm::formatv("  {0,-12}{1}\n", name, cells).str();
    }
  }
  return text;
}

} // namespace mx::driver
