// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Model.h"

#include <algorithm>
#include <deque>

namespace mxrt::test {

static bool has(const std::vector<int> &list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// -- the serial run ----------------------------------------------------------

void Model::push(int index) {
  std::deque<int> pending{index};
  while (!pending.empty()) {
    int current = pending.front();
    pending.pop_front();
    const OpSpec &op = ops[static_cast<size_t>(current)];
    auto var = [&](int v) -> VarState & { return vars[static_cast<size_t>(v)]; };
    int inherited = -1;
    auto look = [&](int v) {
      int poison = var(v).poison;
      if (poison >= 0 && (inherited < 0 || poison < inherited))
        inherited = poison;
    };
    for (int v : op.reads)
      look(v);
    if (!(op.flags & MXRT_OP_OVERWRITES))
      for (int v : op.writes)
        look(v);
    bool always = op.flags & MXRT_OP_ALWAYS_RUN;
    bool runs = always || (inherited < 0 && !op.cancelled);
    int poison = inherited;
    if (!runs && inherited < 0)
      poison = current; // cancelled
    if (runs) {
      ran[static_cast<size_t>(current)] = 1;
      uint64_t sum = static_cast<uint64_t>(current) + 1;
      for (int v : op.reads)
        sum = mix(sum, var(v).value);
      for (int v : op.writes)
        sum = mix(sum, var(v).value);
      if (op.fails) {
        poison = current;
        unnoticed.push_back(current);
      } else if (op.flags & MXRT_OP_OVERWRITES) {
        poison = -1;
      }
      for (size_t i = 0; i < op.writes.size(); ++i)
        if (!op.fails || has(op.releases, op.writes[i]))
          var(op.writes[i]).value = mix(sum, i);
      pending.insert(pending.end(), op.nested.begin(), op.nested.end());
    }
    for (int v : op.writes) {
      ++var(v).version;
      var(v).poison = poison;
      // Given back before the op could fail: only what it inherited is on it.
      if (runs && has(op.releases, v))
        var(v).poison = op.flags & MXRT_OP_OVERWRITES ? -1 : inherited;
    }
  }
}

int Model::waitAll() {
  int first = -1;
  for (int op : unnoticed)
    if (first < 0 || op < first)
      first = op;
  unnoticed.clear();
  return first;
}

int Model::wait(int var) {
  int poison = vars[static_cast<size_t>(var)].poison;
  unnoticed.erase(std::remove(unnoticed.begin(), unnoticed.end(), poison),
                  unnoticed.end());
  return poison;
}

// -- the run on an engine ----------------------------------------------------

Subject::Subject(mxrt_engine *engine, const std::vector<OpSpec> &ops,
                 int variables, Fail fail, std::function<void(int)> delay,
                 int initial)
    : vars(at(variables)), runs(ops.size()), handles(at(variables)),
      engine(engine), ops(ops), fail(std::move(fail)), delay(std::move(delay)),
      payloads(ops.size()), varPayloads(at(variables)) {
  for (size_t i = 0; i < ops.size(); ++i)
    payloads[i] = {this, static_cast<int>(i)};
  for (size_t i = 0; i < handles.size(); ++i)
    varPayloads[i] = {this, static_cast<int>(i)};
  for (int i = 0; i < (initial < 0 ? variables : initial); ++i)
    createVar(i);
}

void Subject::createVar(int var) {
  Result<mxrt_var> made = engine->newVar();
  if (made.failed())
    fail("no variable");
  else
    handles[at(var)] = *made;
}

Subject::~Subject() { mxrt_cancel_release(cancelledSwitch); }

mxrt_op Subject::describe(int index) {
  const OpSpec &spec = ops[at(index)];
  // Handles live in two arrays of their own per call; push copies them.
  static thread_local std::vector<mxrt_var> handleRoom[64];
  static thread_local size_t slot = 0;
  std::vector<mxrt_var> &list = handleRoom[slot++ % 64];
  list.clear();
  for (int v : spec.reads)
    list.push_back(handles[at(v)]);
  for (int v : spec.writes)
    list.push_back(handles[at(v)]);
  mxrt_op op = {};
  op.run = runOp;
  op.payload = &payloads[at(index)];
  op.drop = dropOp;
  op.reads = list.data();
  op.read_count = spec.reads.size();
  op.writes = list.data() + spec.reads.size();
  op.write_count = spec.writes.size();
  op.device = {MXRT_CPU, spec.device};
  op.lane = spec.lane;
  op.priority = spec.priority;
  op.flags = spec.flags;
  op.name = "op";
  op.location = {"push.mx", index + 1, 1};
  op.bytes = spec.bytes;
  op.cancel = commonSwitch;
  if (spec.cancelled) {
    if (!cancelledSwitch) {
      Status made(mxrt_cancel_create(nullptr, &cancelledSwitch));
      if (made.failed())
        fail("no switch");
      else
        mxrt_cancel_request(cancelledSwitch);
    }
    op.cancel = cancelledSwitch;
  }
  return op;
}

Status Subject::pushMany(const std::vector<int> &indices, size_t *pushed) {
  std::vector<mxrt_op> list;
  for (int index : indices)
    list.push_back(describe(index));
  return engine->pushMany(list.data(), list.size(), pushed);
}

Status Subject::deleteVar(int var) {
  return engine->deleteVar(handles[at(var)], dropVar, &varPayloads[at(var)]);
}

mxrt_status Subject::runOp(mxrt_op_context *context, void *payload) {
  auto *self = static_cast<Payload *>(payload);
  return self->subject->run(context, self->op);
}

void Subject::dropOp(void *payload) {
  auto *self = static_cast<Payload *>(payload);
  self->subject->runs[at(self->op)].dropped.fetch_add(1);
}

void Subject::dropVar(void *payload) {
  auto *self = static_cast<Payload *>(payload);
  Var &var = self->subject->vars[at(self->op)];
  if (var.readers.load() || var.writers.load())
    self->subject->fail("deleted while in use");
  if (var.deleted.fetch_add(1))
    self->subject->fail("deleted twice");
}

void Subject::begin(int index) {
  const OpSpec &op = ops[at(index)];
  for (int v : op.reads) {
    Var &var = vars[at(v)];
    var.readers.fetch_add(1);
    if (var.writers.load())
      fail("read during a write");
    if (var.deleted.load())
      fail("read after deletion");
  }
  for (int v : op.writes) {
    Var &var = vars[at(v)];
    if (var.writers.fetch_add(1))
      fail("two writers");
    if (var.readers.load())
      fail("write during a read");
    if (var.deleted.load())
      fail("write after deletion");
  }
}

void Subject::end(int index) {
  const OpSpec &op = ops[at(index)];
  for (int v : op.reads)
    vars[at(v)].readers.fetch_sub(1);
  for (int v : op.writes)
    if (!has(op.releases, v))
      endWrite(v);
  runs[at(index)].finished.fetch_add(1);
}

void Subject::endWrite(int var) {
  if (vars[at(var)].readers.load())
    fail("read began during a write");
  if (vars[at(var)].writers.fetch_sub(1) != 1)
    fail("write began during a write");
}

void Subject::release(mxrt_op_context *context, int index, uint64_t sum) {
  const OpSpec &op = ops[at(index)];
  for (int v : op.releases) {
    if (delay)
      delay(index);
    for (size_t i = 0; i < op.writes.size(); ++i)
      if (op.writes[i] == v)
        vars[at(v)].value = mix(sum, i);
    endWrite(v);
    Status status(mxrt_op_release(context, handles[at(v)]));
    if (status.failed())
      fail(std::string("release: ") + status.message());
    if (mxrt_op_declares(context, handles[at(v)], 0))
      fail("a released variable still counts as declared");
  }
}

void Subject::expectRefused(mxrt_op_context *context, mxrt_var var, const char *what) {
  Status status(mxrt_op_release(context, var));
  if (status.code() != MXRT_ENGINE_USAGE)
    fail(std::string("not refused: release ") + what);
}

void Subject::abuse(mxrt_op_context *context, int index) {
  const OpSpec &op = ops[at(index)];
  for (int v : op.releases)
    expectRefused(context, handles[at(v)], "twice");
  for (int v : op.reads)
    expectRefused(context, handles[at(v)], "of what is read");
  for (size_t v = 0; v < handles.size(); ++v)
    if (handles[v] && !has(op.reads, static_cast<int>(v)) && !has(op.writes, static_cast<int>(v)))
      expectRefused(context, handles[v], "of another variable");
  if (!op.writes.empty()) // another generation of it
    expectRefused(context, handles[at(op.writes[0])] + (mxrt_var{1} << 32), "of a stale handle");
  expectRefused(context, 0, "of nothing");
  expectRefused(context, ~mxrt_var{0}, "of no handle");
}

mxrt_status Subject::run(mxrt_op_context *context, int index) {
  const OpSpec &op = ops[at(index)];
  Run &mine = runs[at(index)];
  if (mine.started.fetch_add(1))
    fail("op ran twice");
  mine.order = clock.fetch_add(1);
  begin(index);
  uint64_t sum = static_cast<uint64_t>(index) + 1;
  for (int v : op.reads)
    sum = mix(sum, vars[at(v)].value);
  for (int v : op.writes)
    sum = mix(sum, vars[at(v)].value);
  release(context, index, sum);
  if (op.abuses)
    abuse(context, index);
  if (onReleased && !op.releases.empty())
    onReleased(index);
  if (delay)
    delay(index);
  for (int nested : op.nested) {
    Status status = push(nested);
    if (status.failed())
      fail(std::string("nested push: ") + status.message());
  }
  if (!op.fails)
    for (size_t i = 0; i < op.writes.size(); ++i)
      if (!has(op.releases, op.writes[i]))
        vars[at(op.writes[i])].value = mix(sum, i);
  if (op.defers) {
    mxrt_op_token *token = mxrt_op_defer(context);
    bool abuses = op.abuses && !op.writes.empty();
    mxrt_var last = abuses ? handles[at(op.writes.back())] : 0;
    if (abuses)
      expectRefused(context, last, "after defer");
    onDefer(index, token);
    if (abuses) // the op may be over
      expectRefused(context, last, "after the end");
    return nullptr;
  }
  end(index);
  if (!op.fails)
    return nullptr;
  return error(errorAllocator, MXRT_RAISED, noLocation, "op %d fails", index)
      .release();
}

void Subject::complete(int index, mxrt_op_token *token) {
  const OpSpec &op = ops[at(index)];
  end(index);
  mxrt_op_complete(
      token, op.fails
                 ? error(errorAllocator, MXRT_RAISED, noLocation, "op %d fails",
                         index)
                       .release()
                 : nullptr);
}

void Subject::compare(const Model &model, bool compareValues) {
  auto number = [](auto n) { return std::to_string(n); };
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].started.load() != model.ran[i])
      fail("op " + number(i) + " ran " + number(runs[i].started.load()) +
           " times, not " + number(static_cast<int>(model.ran[i])));
  }
  for (size_t i = 0; i < vars.size(); ++i) {
    if (vars[i].deleted.load() || !handles[i])
      continue;
    const VarState &wanted = model.vars[i];
    if (compareValues && vars[i].value != wanted.value)
      fail("variable " + number(i) + " has another value than in a serial run");
    Result<uint64_t> version = engine->version(handles[i]);
    if (version.failed() || *version != wanted.version)
      fail("variable " + number(i) + " has version " +
           (version.ok() ? number(*version) : "none") + ", not " +
           number(wanted.version));
  }
}

} // namespace mxrt::test
