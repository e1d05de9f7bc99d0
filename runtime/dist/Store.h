// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank's connection as programs see it: collective calls on tensors, ordered
// by the engine. A call returns at once; its results are new tensors, each of
// which completes when its bucket has arrived, so work on the first buckets runs
// while others travel.
//
// For each bucket there is one op on the communication lane. It starts when the
// tensors of its keys are complete (a running graph may have released them early),
// copies them into the memory of the exchange, and is deferred. A thread of the
// store drives the transport, copies results out and completes the op. No op
// blocks a worker.
//
// A failure poisons the results with the error of the exchange, which names the
// rank. A poisoned input ends the exchange of this rank: its own error poisons the
// results here, and the other ranks are told that this one gave up.
//
// Thread rule: one thread at a time, as the VM. totals() and describe(): any.

#ifndef MXRT_DIST_STORE_H
#define MXRT_DIST_STORE_H

#include "base/Sync.h"
#include "kvstore/Exchange.h"
#include "memory/Tensor.h"
#include "mxrt/engine.h"
#include "mxrt/runtime.h"

namespace mxrt::dist {

/// What takes part in a call, with the name of its key. Tensors are borrowed.
struct Item {
  std::string_view name;
  mxrt_tensor *tensor = nullptr; // all elements, or the rows of a table, or u of uᵀ @ v
  kvstore::Form form = kvstore::Form::Dense;
  mxrt_tensor *second = nullptr; // the numbers of the rows (null: `tensor` has all elements), or v
  int64_t rows = 0;              // of the table
};

/// The factors of a key, of all ranks.
struct Factors {
  explicit Factors(const mxrt_allocator *alloc) : counts(alloc), parts(alloc) {}
  /// u[count, rows], v[count, columns] of a rank: views that complete when all factors are there.
  Status partsOf(int rank, mxrt_location location, TensorRef &u, TensorRef &v) const;
  bool travel = false; // else the key is exchanged with all its elements
  Vec<uint64_t> counts; // rows of each rank
  Vec<kvstore::Part> parts;
  size_t bytes = 0;
  int64_t columns[2] = {}; // of u, of v
  TensorRef memory;        // of all parts
};
struct FactorsOfCall {
  explicit FactorsOfCall(const mxrt_allocator *alloc) : keys(alloc), weights(alloc) {}
  Vec<Factors> keys;
  Vec<double> weights; // of each rank
  double total = 0;
};

/// A residual of a checkpoint.
struct KeptResidual {
  Vec<char> key;
  TensorRef values;
  std::string_view name() const { return {key.data(), key.size()}; }
};

struct Totals {
  uint64_t sentBytes = 0, receivedBytes = 0, sentMessages = 0, receivedMessages = 0;
  uint64_t calls = 0;
  /// Time from the completion of a bucket at this rank to the end of its exchange, over
  /// all buckets.
  int64_t waitNs = 0;
};

class Store {
public:
  /// Takes over the transport, and starts the thread. `factors`: whether matmuls travel as factors
  /// (Factors, Cheaper) or not. `codec` is for averages. Ranks with different settings get R0702 in
  /// their first call.
  static Result<Store *> connect(mxrt_runtime *runtime, net::TransportBox transport,
                                 const kvstore::Layout &layout, mxrt_location location,
                                 kvstore::Form factors = kvstore::Form::Dense,
                                 const kvstore::Codec &codec = {});
  /// Closes it first.
  static void destroy(Store *store);

  int rank() const { return transport->rank(); }
  int size() const { return transport->size(); }
  bool isClosed() const { return closed; }

  /// Issues a call. `weight` is that of Average: R0703 unless it is finite and at
  /// least 0. `results` has room for one tensor an item. Errors of keys are those
  /// of KeyTable::make; R0704 after close(); the failure of an earlier call that ended
  /// the exchange, so that a program that never looks at a result ends too.
  Status issue(kvstore::Action action, double weight, std::span<const Item> items,
               mxrt_location location, std::span<TensorRef> results);
  /// Whether matmuls travel as factors.
  bool takesFactors() const { return factorForm != kvstore::Form::Dense; }
  /// Exchanges the factors of matmuls that are to be averaged, items with Form::Factors. Waits until
  /// all ranks have told how many rows they have, not for the factors.
  Status exchangeFactors(double weight, std::span<const Item> items, mxrt_location location,
                         FactorsOfCall &out);
  /// Waits until every rank is here.
  Status barrier(mxrt_location location);
  Totals totals();
  /// A table by key: bytes, waits, steps. With `key`, its row: R0706 if there is none.
  Status describe(std::string_view key, Vec<char> &text);

  /// After an error of the program: issued calls fail, and the other ranks are told that this one
  /// gave up. From any thread.
  void giveUp();

  // StoreResiduals.cpp: what encodings left out, state of the program by key
  bool encodes() const { return codec.kind != kvstore::Codec::Kind::None && size() > 1; }
  const char *codecName() const { return kvstore::codecName(codec.kind); }
  /// Calls each(key, residual) for the keys whose averages were encoded, once all calls so far are
  /// over. The residuals are those of the elements of the key.
  using EachResidual = Status (*)(void *user, std::string_view key, std::span<const int64_t> shape,
                                  std::span<const float> residual);
  Status eachResidual(EachResidual each, void *user);
  /// Replaces all residuals, once all calls so far are over: each key finds its own when it is
  /// exchanged.
  Status restoreResiduals(Vec<KeptResidual> kept);

  /// Orderly exit: waits for the issued calls.
  void close();

  /// For connect().
  Store(mxrt_runtime *runtime, net::TransportBox transport, const kvstore::Layout &layout,
        kvstore::Form factors, const kvstore::Codec &codec);
  ~Store();

private:
  struct Table;
  struct Letter;
  struct ActiveCall;
  struct BucketOp;
  struct Given;
  struct Agreement;

  // Store.cpp: on the issuing thread
  Status start(mxrt_location location);
  Status check(kvstore::Action action, double weight);
  Result<Table *> tableFor(kvstore::Action action, std::span<const kvstore::KeySpec> keys);
  Status contiguous(mxrt_tensor *tensor, mxrt_location location, TensorRef &out);
  Status makeResults(const kvstore::KeyTable &keys, std::span<const Item> items,
                     mxrt_location location, std::span<Given> given, std::span<TensorRef> results);
  Status prepare(BucketOp &op, std::span<Given> given, std::span<TensorRef> results);
  Status nameBucket(BucketOp &op);
  Status pushBucket(BucketOp &op, mxrt_location location, std::span<Given> given,
                    std::span<TensorRef> results);
  Status pushBuckets(std::span<BucketOp *const> ops, mxrt_location location,
                     std::span<Given> given, std::span<TensorRef> results);
  void post(Letter &letter);
  void countCall();
  void waitForRoom();
  void waitForCalls();
  Status makeResiduals(Table &table);
  Status takeKept(Table &table);

  // StoreForms.cpp
  static void agreedOnFactors(void *user, Status status);
  Status makeMemory(Factors &key, const mxrt_tensor &like, mxrt_location location);
  Status prepareFactors(BucketOp &op, const Factors &key, const Given &given);

  // StoreThread.cpp, of the store's own thread and of the lane's workers
  static mxrt_status runBucket(mxrt_op_context *context, void *payload);
  void run();
  bool readLetters();
  void finish(BucketOp &op, Status status);
  void reap();
  void countTraffic();

  mxrt_runtime *const runtime;
  const mxrt_allocator *const alloc;
  mxrt_engine *engine = nullptr;
  mxrt_profile *profile = nullptr;
  const net::TransportBox transport;
  const kvstore::Layout layout;
  const kvstore::Form factorForm;
  const kvstore::Codec codec;
  bool closed = false;
  os::Thread thread;

  // Of the store's thread.
  kvstore::Exchange exchange;
  ActiveCall *active = nullptr;

  Mutex mutex; // guards the members below
  Letter *firstLetter = nullptr, *lastLetter = nullptr;
  bool stopping = false, givesUp = false;
  /// Max calls in flight (back-pressure): without a limit a loop of calls would fill the memory.
  static constexpr int maxCalls = 256;
  int openCalls = 0;
  Condition callEnded;
  Status broken; // the failure of the exchange, which fails every further call
  Totals figures;
  Vec<Box<Table>> tables; // grown by the issuing thread
  Vec<KeptResidual> keptResiduals; // of the issuing thread: no key has asked for them yet
};

} // namespace mxrt::dist

#endif // MXRT_DIST_STORE_H
