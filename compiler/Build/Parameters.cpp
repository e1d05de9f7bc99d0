// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embedding of parameters into the artefact.
#include "Build/Interface.h"
#include "io/Safetensors.h"
#include "llvm/ADT/STLExtras.h"

namespace mx::build {
namespace {

std::string shapeText(std::string_view element, llvm::ArrayRef<int64_t> sizes) {
  std::string text = std::string(element) + "[";
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

/// The first use of a type.
const Function &userOf(const Interface &interface, size_t type, const Argument *&argument) {
  for (const Function &function : interface.functions)
    for (const Argument &each : function.arguments)
      if (each.kind == Argument::Value && each.type == type) {
        argument = &each;
        return function;
      }
  return interface.functions.front();
}

class Embedder {
public:
  Embedder(Interface &interface, const std::string &path, Diagnostics &diags)
      : interface(interface), path(path), diags(diags),
        input(mxrt_system_allocator(), path.c_str()), index(input) {}

  bool run();

private:
  bool embed(size_t type);
  bool report(Span span, mxrt::Status status);

  Interface &interface;
  const std::string &path;
  Diagnostics &diags;
  mxrt::io::FileInput input;
  mxrt::io::SafetensorsIndex index;
};

bool Embedder::report(Span span, mxrt::Status status) {
  if (status.ok())
    return true;
  mxrt_status raw = status.release();
  std::string message = mxrt_status_message(raw);
  mxrt_status_release(raw);
  diags.report(Code::E1004, span, message.substr(0, message.find('\n')))
      .help("`--embed-params` takes a file that `save(\"w.safetensors\", …)` wrote");
  return false;
}

bool Embedder::embed(size_t at) {
  ValueType &type = interface.types[at];
  const Argument *argument = nullptr;
  const Function &user = userOf(interface, at, argument);
  std::vector<std::string> tensors;
  std::vector<std::string> wrong;
  for (const Leaf &leaf : type.leaves) {
    const mxrt::io::SafeTensor *found = index.find(type.parameter + "." + leaf.path);
    if (!found)
      found = index.find(leaf.path);
    std::string name = "`" + type.parameter + "." + leaf.path + "`";
    std::string want = shapeText(elementInfo(leaf.element).name, leaf.sizes);
    if (!found) {
      wrong.push_back(name + " " + want + " is missing");
      continue;
    }
    llvm::ArrayRef<int64_t> sizes(found->sizes, static_cast<size_t>(found->rank));
    if (found->type != static_cast<mxrt_dtype>(leaf.element) || !sizes.equals(leaf.sizes)) {
      std::string_view element = found->type == MXRT_DTYPE_COUNT
                                     ? "?"
                                     : elementInfo(static_cast<ElementType>(found->type)).name;
      wrong.push_back(name + " is " + shapeText(element, sizes) + " in the file, but " + want +
                      " in the program");
      continue;
    }
    std::string &bytes = tensors.emplace_back(static_cast<size_t>(found->bytes), '\0');
    if (!report(user.source.span, index.readTensor(*found, bytes.data())))
      return false;
  }
  if (!wrong.empty()) {
    Diagnostic &d = diags.report(Code::E1004, user.source.span,
                                 "`" + path + "` does not fit `" + type.parameter + "` of `" +
                                     user.source.name + "`");
    for (const std::string &line : wrong)
      d.note(line);
    d.help("save it with this program: `save(\"w.safetensors\", " + type.parameter + ")`");
    return false;
  }
  type.embedded = std::move(tensors);
  return true;
}

bool Embedder::run() {
  Span first = interface.functions.front().source.span;
  for (const Function &function : interface.functions)
    for (const Argument &argument : function.arguments)
      if (argument.kind == Argument::Value && argument.isMut) {
        diags
            .report(Code::E1004, function.source.span,
                    "`" + function.source.name + "` changes `" + argument.name +
                        "`, which is to be embedded")
            .help("build `" + function.source.name +
                  "` without `--embed-params`, or take out `export`");
        return false;
      }
  if (interface.types.empty()) {
    diags.report(Code::E1004, first, "no exported graph has a parameter to embed")
        .help("leave out `--embed-params`");
    return false;
  }
  if (!report(first, input.open()) || !report(first, index.read()) ||
      !report(first, index.verify()))
    return false;
  for (size_t i = 0; i < interface.types.size(); ++i)
    if (!embed(i))
      return false;
  for (Function &function : interface.functions)
    llvm::erase_if(function.parameters, [&](const Parameter &p) {
      return p.kind == Parameter::Argument && function.arguments[p.index].kind == Argument::Value;
    });
  return true;
}

} // namespace

bool embedParameters(Interface &interface, const std::string &path, Diagnostics &diags) {
  return Embedder(interface, path, diags).run();
}

} // namespace mx::build
