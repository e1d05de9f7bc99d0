// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenisation of texts: characters with their vocabulary, and byte pair encoding.

#include "data/Numbers.h"
#include "data/Sources.h"
#include "eager/TensorValue.h"
#include "io/Arrays.h"
#include "io/Bpe.h"
#include "io/Json.h"
#include "mxrt/call.h"

#include <cstring>

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

namespace {

/// The contents of the file that argument 0 names.
Status readText(DataHost &host, const Invocation &call, Vec<char> &text) {
  const char *path = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], path));
  io::FileInput input(host.allocator(), path);
  MXRT_CHECK(input.open());
  return readWhole(input, text);
}

Status readChars(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  host::Heap &heap = call.vm.heap();
  const char *path = nullptr;
  MXRT_CHECK(pathOf(host, call.args[0], path));
  io::FileInput input(host.allocator(), path);
  MXRT_CHECK(input.open());
  Vec<char> text(host.allocator()), spelled(host.allocator());
  Vec<uint32_t> vocabulary(host.allocator());
  int64_t characters = 0;
  MXRT_CHECK(readWhole(input, text));
  std::string_view view(text.data(), text.size());
  MXRT_CHECK(io::readVocabulary(input, view, vocabulary, characters));
  TensorRef out(MXRT_TRY(makeTensor(host, call, MXRT_I32, 1, &characters)));
  io::readCharacters(view, vocabulary, reinterpret_cast<int32_t *>(out->data()));
  for (uint32_t c : vocabulary)
    if (!io::appendCharacter(spelled, c))
      return outOfMemory(host.allocator());
  host::StrObject *str = host::makeStr(heap, {spelled.data(), spelled.size()});
  host::AggregateObject *pair = host::makeAggregate(heap, 2, nullptr);
  Value ids = eager::makeTensorValue(heap, out.get());
  if (ids.isSet())
    out.release();
  if (!str || !pair || !ids.isSet()) {
    host::release(heap, ids);
    if (str)
      host::release(heap, static_cast<host::Object *>(str));
    if (pair)
      host::release(heap, static_cast<host::Object *>(pair));
    return heap.exhausted();
  }
  ::new (pair->items() + pair->count++) Value(ids);
  ::new (pair->items() + pair->count++) Value(Kind::Str, str);
  call.result = Value(Kind::Tuple, pair);
  return success();
}

/// The merges in argument `i`, i32[n, 2]; waits for them.
Status readMerges(DataHost &host, const Invocation &call, size_t i, io::Bpe &bpe) {
  TensorRef dense;
  mxrt_tensor *given = eager::tensorOf(call.args[i]);
  MXRT_CHECK(denseOf(host, given, call.location, dense));
  MXRT_CHECK(Status(mxrt_tensor_wait(host.options.runtime, dense.get(), &call.location)));
  static_assert(sizeof(io::Merge) == 2 * sizeof(int32_t));
  auto *merges = reinterpret_cast<const io::Merge *>(dense->data());
  return bpe.set({merges, static_cast<size_t>(dense->elements / 2)});
}

Status giveTokens(DataHost &host, Invocation &call, const Vec<int32_t> &tokens) {
  auto count = static_cast<int64_t>(tokens.size());
  TensorRef out(MXRT_TRY(makeTensor(host, call, MXRT_I32, 1, &count)));
  if (count > 0)
    std::memcpy(out->data(), tokens.data(), tokens.size() * sizeof(int32_t));
  return eager::giveTensor(call, std::move(out));
}

/// bpe(path, tokens)
Status readBpe(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Vec<char> text(host.allocator());
  Vec<io::Merge> merges(host.allocator());
  MXRT_CHECK(readText(host, call, text));
  MXRT_CHECK(io::trainBpe({text.data(), text.size()}, call.args[1].i, merges));
  int64_t sizes[] = {static_cast<int64_t>(merges.size()), 2};
  TensorRef out(MXRT_TRY(makeTensor(host, call, MXRT_I32, 2, sizes)));
  if (!merges.empty())
    std::memcpy(out->data(), merges.data(), merges.size() * sizeof(io::Merge));
  return eager::giveTensor(call, std::move(out));
}

/// tokens(path, merges)
Status readTokens(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Vec<char> text(host.allocator());
  Vec<int32_t> tokens(host.allocator());
  io::Bpe bpe(host.allocator());
  MXRT_CHECK(readMerges(host, call, 1, bpe));
  MXRT_CHECK(readText(host, call, text));
  MXRT_CHECK(bpe.encode({text.data(), text.size()}, tokens));
  return giveTokens(host, call, tokens);
}

/// encode(text, merges)
Status encode(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Vec<int32_t> tokens(host.allocator());
  io::Bpe bpe(host.allocator());
  MXRT_CHECK(readMerges(host, call, 1, bpe));
  MXRT_CHECK(bpe.encode(call.args[0].str()->view(), tokens));
  return giveTokens(host, call, tokens);
}

Status giveText(Invocation &call, const Vec<char> &text) {
  host::StrObject *str = host::makeStr(call.vm.heap(), {text.data(), text.size()});
  if (!str)
    return call.vm.heap().exhausted();
  call.result = Value(Kind::Str, str);
  return success();
}

/// The ids in argument 0, dense and ready.
Status readIds(DataHost &host, const Invocation &call, TensorRef &ids) {
  MXRT_CHECK(denseOf(host, eager::tensorOf(call.args[0]), call.location, ids));
  return Status(mxrt_tensor_wait(host.options.runtime, ids.get(), &call.location));
}

/// spell(ids, vocabulary)
Status spell(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  std::string_view vocabulary = call.args[1].str()->view();
  Vec<size_t> positions(host.allocator()); // offsets of characters, and the end
  Vec<char> text(host.allocator());
  TensorRef ids;
  MXRT_CHECK(readIds(host, call, ids));
  for (size_t at = 0;; io::nextCharacter(vocabulary, at)) {
    if (!positions.push(at))
      return outOfMemory(host.allocator());
    if (at >= vocabulary.size())
      break;
  }
  for (int64_t i = 0; i < ids->elements; ++i) {
    int32_t id = reinterpret_cast<const int32_t *>(ids->data())[i];
    if (id < 0 || static_cast<size_t>(id) + 1 >= positions.size())
      return error(host.allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                   "character %d at position %lld, the vocabulary has %zu of them", id,
                   static_cast<long long>(i), positions.size() - 1);
    size_t from = positions[static_cast<size_t>(id)], to = positions[static_cast<size_t>(id) + 1];
    if (!io::append(text, vocabulary.substr(from, to - from)))
      return outOfMemory(host.allocator());
  }
  return giveText(call, text);
}

/// decode(tokens, merges): invalid UTF-8, as in half of a character, becomes U+FFFD.
Status decode(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Vec<char> bytes(host.allocator()), text(host.allocator());
  io::Bpe bpe(host.allocator());
  MXRT_CHECK(readMerges(host, call, 1, bpe));
  TensorRef tokens;
  MXRT_CHECK(readIds(host, call, tokens));
  MXRT_CHECK(bpe.decode(
      {reinterpret_cast<const int32_t *>(tokens->data()), static_cast<size_t>(tokens->elements)},
      bytes));
  std::string_view view(bytes.data(), bytes.size());
  for (size_t at = 0; at < view.size();) {
    int32_t character = io::nextCharacter(view, at);
    if (character < 0)
      ++at;
    if (!io::appendCharacter(text, character < 0 ? 0xFFFD : static_cast<uint32_t>(character)))
      return outOfMemory(host.allocator());
  }
  return giveText(call, text);
}

} // namespace

static constexpr ParamData path[] = {{Kind::Str, false}};
static constexpr ParamData pathInt[] = {{Kind::Str, false}, {Kind::Int, false}};
static constexpr ParamData textMerges[] = {{Kind::Str, false}, {Kind::Tensor, false}};
static constexpr ParamData idsText[] = {{Kind::Tensor, false}, {Kind::Str, false}};
static constexpr ParamData tokensMerges[] = {{Kind::Tensor, false}, {Kind::Tensor, false}};
static const NativeRow natives[] = {{"mx.data.chars", path, false, Kind::Tuple, readChars},
                                    {"mx.data.bpe", pathInt, false, Kind::Tensor, readBpe},
                                    {"mx.data.tokens", textMerges, false, Kind::Tensor, readTokens},
                                    {"mx.data.encode", textMerges, false, Kind::Tensor, encode},
                                    {"mx.data.spell", idsText, false, Kind::Str, spell},
                                    {"mx.data.decode", tokensMerges, false, Kind::Str, decode}};
const NativeGroup mxrt_natives_tokens = {"mxrt_natives_tokens", natives, std::size(natives)};

} // namespace mxrt::data
