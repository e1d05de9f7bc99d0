// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C API (mxc.h): sessions, programs and functions.
#include "Driver/Installed.h"
#include "Embed/Room.h"
#include "Support/Limits.h"
#include "mxrt/memory.h"
#include <cstring>

using namespace mx;
using namespace mx::embed;

mxc_error *mxc_session::takeError() {
  std::string text = err.str();
  err.str("");
  // The code of the first error; errors of the driver itself have none.
  std::string code = "R0001";
  if (size_t at = text.find("error["); at != std::string::npos)
    code = text.substr(at + 6, text.find(']', at) - at - 6);
  else if (text.rfind("stopped", 0) == 0)
    return makeError("R0004", "error[R0004]: cancelled\n");
  return makeError(code.c_str(), std::move(text));
}

void mxc_session::passNotices() {
  std::string text = err.str();
  if (text.empty())
    return;
  err.str("");
  if (notice)
    notice(user, text.data(), text.size());
}

mxc_error *mxc_session::render(mxrt_status status) {
  std::lock_guard guard(lock);
  session->report(status, /*fromVm=*/false);
  return takeError();
}

namespace {

/// Collapses the text to one line with single spaces.
std::string oneLine(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool isSpace = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!isSpace)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
  return out;
}

mxc_error *load(mxc_session *session, const std::string &name, const std::string &path,
                std::string text, mxc_module **out) {
  std::lock_guard guard(session->lock);
  const sema::ModuleInfo *info = session->session->loadProgram(name, path, std::move(text));
  if (!info)
    return session->takeError();
  session->passNotices();
  auto module = std::make_unique<mxc_module>();
  module->session = session;
  module->info = info;
  for (const ast::Stmt *item : info->syntax->items)
    if (auto *function = ast::as<ast::Func>(item))
      module->names.emplace_back(function->name.text);
  *out = module.get();
  session->modules.push_back(std::move(module));
  return nullptr;
}

Parameter describe(sema::CheckedProgram &sema, const sema::ParamInfo &param, const ast::Param *written) {
  Parameter out;
  out.name = param.name;
  out.type = written && written->type ? oneLine(sema.sources.text(written->type->span))
                                      : sema.types.print(param.type);
  out.flags = (param.isMut ? MXC_PARAM_MUT : 0) | (param.isStatic ? MXC_PARAM_STATIC : 0) |
              (param.optional ? MXC_PARAM_OPTIONAL : 0);
  out.isLiteral = irgen::isSettled(param);
  if (param.type->isScalar() && !param.type->elem.isVariable())
    out.scalar = param.type->elem.type();
  return out;
}

std::unique_ptr<mxc_function> describe(mxc_module &module, const std::string &name,
                                       const sema::OutsideCallee &found) {
  sema::CheckedProgram &sema = module.session->session->checker().sema();
  auto out = std::make_unique<mxc_function>();
  out->module = &module;
  out->name = name;
  const List<ast::Param> *written = nullptr;
  if (found.function) {
    const ast::Func &syntax = *found.function->syntax;
    written = &syntax.params;
    out->isGraph = syntax.isGraph;
    out->signature = oneLine(sema.sources.text(syntax.headerSpan));
    if (syntax.result)
      out->result = oneLine(sema.sources.text(syntax.result->span));
  } else {
    const ast::Nominal &syntax = *found.nominal->syntax;
    if (syntax.hasParams)
      written = &syntax.params;
    out->result = name;
  }
  for (size_t i = 0; i < found.params()->size(); ++i)
    out->params.push_back(describe(sema, (*found.params())[i],
                                   written && i < written->size() ? &(*written)[i] : nullptr));
  if (!found.function) {
    out->signature = std::string(found.nominal->isModel ? "model " : "struct ") + name + "(";
    for (const Parameter &param : out->params)
      out->signature += (&param == &out->params[0] ? "" : ", ") +
                        std::string(param.flags & MXC_PARAM_STATIC ? "static " : "") + param.name +
                        ": " + param.type;
    out->signature += ")";
  }
  return out;
}

} // namespace

extern "C" {

const char *mxc_version(void) { return MX_VERSION; }

const char *mxc_error_code(const mxc_error *error) { return error->code.c_str(); }
const char *mxc_error_text(const mxc_error *error) { return error->text.c_str(); }
void mxc_error_release(mxc_error *error) {
  if (error && error != noMemory() && error != internalError())
    delete error;
}

mxc_error *mxc_session_create(const mxc_options *given, mxc_session **out) {
  *out = nullptr;
  return guardedWithRoom(kRoomToCompile, [&]() -> mxc_error * {
    mxc_options options;
    mxc_options_init(&options);
    // ABI compatibility: an older caller has a shorter struct; the remaining fields keep their
    // defaults.
    if (given)
      std::memcpy(&options, given, std::min<size_t>(given->struct_size, sizeof options));
    driver::SessionOptions wanted;
    wanted.threads = options.threads;
    wanted.memoryLimit = options.memory_limit;
    wanted.compile.maxBytes = options.arena_limit;
    wanted.cacheFolder = options.cache_folder ? options.cache_folder : "";
    wanted.check.stdlib = options.stdlib_folder ? options.stdlib_folder : driver::findStdlib();
    wanted.logFolder = options.log_folder ? options.log_folder : "";
    wanted.seed = options.seed;
    wanted.code.eager = options.eager || options.check_nan;
    wanted.checkNan = options.check_nan;
    wanted.tune = options.tune != 0;
    wanted.check.sharesOptions = true; // shared by all programs of the session
    for (size_t i = 0; i < options.setting_count; ++i)
      wanted.check.options[options.settings[i].name] = options.settings[i].value;
    auto session = std::make_unique<mxc_session>();
    session->printed.print = options.print;
    session->printed.user = options.user;
    session->notice = options.notice;
    session->user = options.user;
    session->session =
        std::make_unique<driver::OutsideSession>(std::move(wanted), session->out, session->err);
    if (!session->session->ready())
      return session->takeError();
    session->life->session = session.get();
    session->life->runtime.store(session->runtime());
    *out = session.release();
    return nullptr;
  });
}

void mxc_session_destroy(mxc_session *session) {
  if (!session)
    return;
  session->life->runtime.store(nullptr, std::memory_order_release);
  delete session;
}

void mxc_session_cancel(mxc_session *session) { session->session->cancel(); }
void mxc_session_resume(mxc_session *session) { session->session->clearCancel(); }

mxc_error *mxc_session_memory(mxc_session *session, mxc_memory *out) {
  return guarded([&]() -> mxc_error * {
    *out = {};
    for (int32_t i = 0; i < mxrt_runtime_cpu_devices(session->runtime()); ++i) {
      mxrt_device device = {MXRT_CPU, i};
      mxrt_memory_stats stats;
      if (mxrt_status status = mxrt_memory_get_stats(session->runtime(), &device, &stats))
        return session->render(status);
      out->live_bytes += stats.live_bytes;
      out->peak_bytes += stats.peak_bytes;
      out->held_bytes += stats.held_bytes;
      out->limit_bytes = stats.limit_bytes;
    }
    return nullptr;
  });
}

mxc_error *mxc_load_file(mxc_session *session, const char *path, mxc_module **out) {
  *out = nullptr;
  return guardedWithRoom(kRoomToCompile, [&]() -> mxc_error * {
    std::string problem;
    auto text = readFile(path, limits::kMaxSourceBytes + 1, problem);
    if (!text)
      return makeError("R0601",
                       std::string("error[R0601]: cannot read `") + path + "`: " + problem + "\n");
    return load(session, path, path, std::move(*text), out);
  });
}

mxc_error *mxc_load_source(mxc_session *session, const char *name, const char *text, size_t size,
                           mxc_module **out) {
  *out = nullptr;
  return guardedWithRoom(kRoomToCompile, [&] {
    return load(session, name, "", std::string(text, size), out);
  });
}

mxc_error *mxc_module_function(mxc_module *module, const char *name, mxc_function **out) {
  *out = nullptr;
  return guardedWithRoom(kRoomToCompile, [&]() -> mxc_error * {
    std::lock_guard guard(module->session->lock);
    std::unique_ptr<mxc_function> &slot = module->functions[name];
    if (!slot) {
      sema::OutsideCallee found = module->session->session->findCallee(*module->info, name);
      if (!found.params())
        return module->session->takeError();
      slot = describe(*module, name, found);
    }
    *out = slot.get();
    return nullptr;
  });
}

size_t mxc_module_function_count(const mxc_module *module) { return module->names.size(); }
const char *mxc_module_function_name(const mxc_module *module, size_t index) {
  return index < module->names.size() ? module->names[index].c_str() : "";
}

mxc_error *mxc_module_value(mxc_module *module, const char *name, mxc_value **out) {
  *out = nullptr;
  return guarded([&]() -> mxc_error * {
    mxc_session &session = *module->session;
    std::lock_guard guard(session.lock);
    const sema::Type *type = nullptr;
    mxrt::host::Value value = session.session->variable(*module->info, name, type);
    if (!value.isSet())
      return makeError("E0801",
                       std::string("error[E0801]: the program has no variable `") + name + "`\n");
    std::string problem;
    *out = fromVm(session, value, type, problem);
    return *out ? nullptr : wrongUse(problem);
  });
}

const char *mxc_function_name(const mxc_function *function) { return function->name.c_str(); }
const char *mxc_function_signature(const mxc_function *function) {
  return function->signature.c_str();
}
int32_t mxc_function_is_graph(const mxc_function *function) { return function->isGraph; }
size_t mxc_function_param_count(const mxc_function *function) { return function->params.size(); }
mxc_param mxc_function_param(const mxc_function *function, size_t index) {
  if (index >= function->params.size())
    return {"", "", 0};
  const Parameter &param = function->params[index];
  return {param.name.c_str(), param.type.c_str(), param.flags};
}
const char *mxc_function_result(const mxc_function *function) { return function->result.c_str(); }

} // extern "C"
