// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues: order, bounds, ends, waits that nobody can end; and parcels between runtimes,
// which no worker waits for.

#include "dist/Parcel.h"
#include "dist/Queue.h"
#include "mxrt/call.h"
#include "mxrt/random.h"
#include "mxrt/runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace mxrt::test {
namespace {

using dist::Element;
using dist::Parcel;
using dist::PartType;
using dist::Queue;
using dist::QueueForm;
using dist::QueueHub;
using dist::QueueState;

const mxrt_allocator *const alloc = mxrt_system_allocator();

PartType floats(int64_t size) {
  PartType part;
  part.rank = 1;
  part.sizes[0] = size;
  return part;
}
const PartType number; // f32[]

QueueForm formOf(int64_t capacity, int64_t among = 1, uint64_t seed = 0) {
  QueueForm form;
  form.parts = {&number, 1};
  form.capacity = capacity;
  form.among = among;
  mxrt_rng_seed(&form.stream, seed);
  return form;
}

/// A runtime with an engine.
struct Side {
  explicit Side(int32_t kind = MXRT_ENGINE_THREADED) {
    mxrt_options options;
    mxrt_options_init(&options);
    options.threads = 2;
    EXPECT_TRUE(Status(mxrt_runtime_create(&options, &runtime)).ok());
    mxrt_engine_options engineOptions = {};
    engineOptions.kind = kind;
    EXPECT_TRUE(Status(mxrt_runtime_engine(runtime, &engineOptions, &engine)).ok());
  }
  Side(const Side &) = delete;
  ~Side() { end(); }
  void end() {
    if (!runtime)
      return;
    (void)Status(mxrt_engine_wait_all(engine, noLocation));
    mxrt_runtime_destroy(runtime);
    runtime = nullptr;
  }
  TensorRef tensor(const std::vector<float> &values) {
    mxrt_device cpu = {MXRT_CPU, 0};
    auto size = int64_t(values.size());
    mxrt_tensor *made = nullptr;
    EXPECT_TRUE(
        Status(mxrt_tensor_create(runtime, &cpu, MXRT_F32, 1, &size, nullptr, &made)).ok());
    std::copy(values.begin(), values.end(), reinterpret_cast<float *>(made->data()));
    return TensorRef(made);
  }
  Status wait(const TensorRef &tensor) {
    mxrt_location here = {"reader.mx", 9, 1};
    return Status(mxrt_tensor_wait(runtime, tensor.get(), &here));
  }
  std::vector<float> values(const TensorRef &tensor) {
    Status status = wait(tensor);
    EXPECT_TRUE(status.ok()) << status.message();
    auto *data = reinterpret_cast<const float *>(tensor->data());
    return {data, data + tensor->elements};
  }
  /// An op that writes the tensor when `gate` opens; it fails if `fails`.
  void write(const TensorRef &tensor, std::atomic<bool> &gate, bool fails) {
    struct Work {
      std::atomic<bool> *gate;
      float *data;
      bool fails;
    };
    mxrt_var var;
    ASSERT_TRUE(Status(mxrt_tensor_variable(runtime, tensor.get(), &var)).ok());
    Work work = {&gate, reinterpret_cast<float *>(tensor->data()), fails};
    mxrt_op op = {};
    op.run = [](mxrt_op_context *, void *payload) -> mxrt_status {
      auto &work = *static_cast<Work *>(payload);
      while (!work.gate->load())
        std::this_thread::yield();
      *work.data = 42;
      return work.fails ? mxrt_status_make(nullptr, MXRT_ASSERTION, {"writer.mx", 3, 7},
                                           "nothing to give")
                        : nullptr;
    };
    op.payload = &work;
    op.payload_bytes = sizeof work;
    op.writes = &var;
    op.write_count = 1;
    ASSERT_TRUE(Status(mxrt_engine_push(engine, &op)).ok());
  }
  mxrt_runtime *runtime = nullptr;
  mxrt_engine *engine = nullptr;
};

/// A queue of one program, with numbers as elements.
struct Alone {
  explicit Alone(const QueueForm &form) {
    auto made = Queue::make(alloc, form);
    EXPECT_TRUE(made.ok());
    queue = made.take();
  }
  ~Alone() { queue->release(); }
  Status put(float value) {
    Element element(alloc);
    EXPECT_TRUE(element.tensors.push(side.tensor({value})));
    return queue->put({}, std::move(element));
  }
  float get() {
    auto taken = queue->get({});
    Status status = taken.takeStatus();
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok() ? side.values((*taken).tensors[0])[0] : -1;
  }
  Side side;
  Queue *queue;
};

TEST(Queues, GiveElementsInTheirOrder) {
  Alone alone(formOf(3));
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(alone.put(float(10 * round + i)).ok());
    EXPECT_EQ(alone.queue->length(), 3);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(alone.get(), float(10 * round + i));
    EXPECT_EQ(alone.queue->length(), 0);
  }
}

TEST(Queues, EndWhenTheyAreClosed) {
  Alone alone(formOf(2));
  ASSERT_TRUE(alone.put(1).ok());
  alone.queue->close();
  EXPECT_EQ(alone.put(2).code(), MXRT_QUEUE_CLOSED);
  EXPECT_TRUE(*alone.queue->more({}));
  EXPECT_EQ(alone.get(), 1);
  EXPECT_FALSE(*alone.queue->more({}));
  EXPECT_EQ(alone.queue->get({}).takeStatus().code(), MXRT_QUEUE_CLOSED);
}

TEST(Queues, DropTheirElementsWhenTheyAreCancelled) {
  Alone alone(formOf(2));
  ASSERT_TRUE(alone.put(1).ok());
  alone.queue->cancel();
  EXPECT_EQ(alone.queue->length(), 0);
  EXPECT_FALSE(*alone.queue->more({}));
  EXPECT_EQ(alone.put(2).code(), MXRT_QUEUE_CLOSED);
}

TEST(Queues, AWaitThatNobodyCanEndIsAnError) {
  Alone alone(formOf(2));
  Status empty = alone.queue->get({}).takeStatus();
  EXPECT_EQ(empty.code(), MXRT_QUEUE_STUCK);
  EXPECT_NE(std::string(empty.message()).find("the queue is empty"), std::string::npos);
  EXPECT_EQ(alone.queue->more({}).takeStatus().code(), MXRT_QUEUE_STUCK);
  ASSERT_TRUE(alone.put(1).ok() && alone.put(2).ok());
  Status full = alone.put(3);
  EXPECT_EQ(full.code(), MXRT_QUEUE_STUCK);
  EXPECT_NE(std::string(full.message()).find("the queue is full (capacity 2)"), std::string::npos);
  // It works as before.
  EXPECT_EQ(alone.get(), 1);
  ASSERT_TRUE(alone.put(3).ok());
}

/// The documented order as a plain loop: the oldest `among` elements, one block a choice.
std::vector<float> shuffledModel(int count, int64_t capacity, int64_t among, uint64_t seed) {
  mxrt_rng rng;
  mxrt_rng_seed(&rng, seed);
  std::vector<float> held, out;
  int next = 0;
  while (int(out.size()) < count) {
    while (next < count && int64_t(held.size()) < capacity)
      held.push_back(float(next++));
    size_t range = std::min<size_t>(size_t(among), held.size()), at = 0;
    if (among > 1) {
      uint32_t counter[4] = {uint32_t(rng.position), uint32_t(rng.position >> 32), 0, 0};
      uint32_t key[2] = {uint32_t(rng.key), uint32_t(rng.key >> 32)}, block[4];
      mxrt_philox(counter, key, block);
      ++rng.position;
      // Long multiplication, by 32 bits.
      uint64_t low = uint64_t(block[0]) * range, high = uint64_t(block[1]) * range;
      at = size_t((high + (low >> 32)) >> 32);
    }
    out.push_back(held[at]);
    held.erase(held.begin() + std::ptrdiff_t(at));
  }
  return out;
}

TEST(Queues, ShuffleByTheirGeneratorAlone) {
  for (int64_t among : {1, 2, 7, 16})
    for (uint64_t seed : {0, 5}) {
      Alone alone(formOf(16, among, seed));
      std::vector<float> out;
      for (int i = 0; i < 100; ++i) {
        if (alone.queue->length() == 16)
          out.push_back(alone.get());
        ASSERT_TRUE(alone.put(float(i)).ok());
      }
      alone.queue->close();
      while (*alone.queue->more({}))
        out.push_back(alone.get());
      EXPECT_EQ(out, shuffledModel(100, 16, among, seed)) << among;
      std::sort(out.begin(), out.end());
      for (int i = 0; i < 100; ++i)
        EXPECT_EQ(out[size_t(i)], float(i));
      if (among > 1)
        EXPECT_NE(shuffledModel(100, 16, among, seed), shuffledModel(100, 16, among, seed + 1));
    }
}

TEST(Queues, ChooseFromWholeGroupsOnly) {
  Alone alone(formOf(4, 3));
  ASSERT_TRUE(alone.put(1).ok() && alone.put(2).ok());
  Status early = alone.queue->get({}).takeStatus();
  EXPECT_EQ(early.code(), MXRT_QUEUE_STUCK);
  EXPECT_NE(std::string(early.message()).find("2 of the 3 elements"), std::string::npos);
  ASSERT_TRUE(alone.put(3).ok());
  (void)alone.get();
}

TEST(Queues, GoOnWithTheSameBitsAfterACheckpoint) {
  std::vector<float> whole = shuffledModel(40, 8, 8, 3), out;
  Alone first(formOf(8, 8, 3)), second(formOf(8, 8, 77));
  Alone *at = &first;
  for (int i = 0; i < 40; ++i) {
    if (at->queue->length() == 8)
      out.push_back(at->get());
    ASSERT_TRUE(at->put(float(i)).ok());
    if (i == 20) { // tensors of another runtime are fine here: they are complete
      QueueState state = first.queue->state().take();
      EXPECT_EQ(state.elements.size(), 8u);
      second.queue->setState(std::move(state));
      at = &second;
    }
  }
  at->queue->close();
  while (*at->queue->more({}))
    out.push_back(at->get());
  EXPECT_EQ(out, whole);
}

// -- several instances ---------------------------------------------------------

/// Two ranks with one queue.
struct Two {
  explicit Two(const QueueForm &form) : hub(alloc, 2) {
    for (int rank = 0; rank < 2; ++rank) {
      auto made = hub.meet(rank, form, noLocation);
      EXPECT_TRUE(made.ok());
      queue[rank] = made.take();
    }
  }
  ~Two() {
    queue[0]->release();
    queue[1]->release();
  }
  Queue::Waiter waiter(int rank) { return {rank, &cancelled[rank]}; }
  Status put(int rank) { return queue[rank]->put(waiter(rank), Element(alloc)); }
  Status get(int rank) { return queue[rank]->get(waiter(rank)).takeStatus(); }
  QueueHub hub;
  Queue *queue[2];
  std::atomic<uint32_t> cancelled[2] = {0, 0};
};

TEST(SharedQueues, AreOneQueue) {
  Two two(formOf(2));
  EXPECT_EQ(two.queue[0], two.queue[1]);
  EXPECT_TRUE(two.queue[0]->isShared());
}

TEST(SharedQueues, HaveOneForm) {
  QueueHub hub(alloc, 2);
  PartType wide = floats(3);
  QueueForm other = formOf(2);
  other.parts = {&wide, 1};
  Queue *made = hub.meet(0, formOf(2), noLocation).take();
  EXPECT_EQ(hub.meet(1, other, noLocation).takeStatus().code(), MXRT_KVSTORE_MISMATCH);
  EXPECT_EQ(hub.meet(1, formOf(3), noLocation).takeStatus().code(), MXRT_KVSTORE_MISMATCH);
  made->release();
}

TEST(SharedQueues, WaitForEachOther) {
  Two two(formOf(2));
  std::thread producer([&] {
    for (int i = 0; i < 1000; ++i)
      ASSERT_TRUE(two.put(0).ok());
    two.queue[0]->close();
    two.hub.leave(0);
  });
  int taken = 0;
  while (*two.queue[1]->more(two.waiter(1))) {
    ASSERT_TRUE(two.get(1).ok());
    ++taken;
  }
  producer.join();
  EXPECT_EQ(taken, 1000);
}

TEST(SharedQueues, AWaitEndsWithTheQueue) {
  for (bool isCancel : {false, true}) {
    Two two(formOf(1));
    std::thread waiter([&] { EXPECT_EQ(two.get(1).code(), MXRT_QUEUE_CLOSED); });
    isCancel ? two.queue[0]->cancel() : two.queue[0]->close();
    waiter.join();
  }
  Two two(formOf(1));
  ASSERT_TRUE(two.put(0).ok());
  std::thread waiter([&] { EXPECT_EQ(two.put(1).code(), MXRT_QUEUE_CLOSED); });
  two.queue[0]->close();
  waiter.join();
}

TEST(SharedQueues, AWaitEndsWithTheProgram) {
  Two two(formOf(1));
  std::thread waiter([&] { EXPECT_EQ(two.get(1).code(), MXRT_CANCELLED); });
  two.cancelled[1] = 1; // Ctrl-C
  waiter.join();
}

TEST(SharedQueues, AWaitEndsWithTheLastThatCouldEndIt) {
  Two two(formOf(1));
  std::thread waiter([&] { EXPECT_EQ(two.get(1).code(), MXRT_QUEUE_STUCK); });
  two.hub.leave(0);
  waiter.join();
}

TEST(SharedQueues, OneErrorIfAllWait) {
  QueueHub hub(alloc, 2);
  Queue *full = hub.meet(0, formOf(1), noLocation).take();
  Queue *empty = hub.meet(0, formOf(1), noLocation).take();
  std::atomic<int> stuck = 0;
  ASSERT_TRUE(full->put({0, nullptr}, Element(alloc)).ok());
  std::thread other([&] {
    Status status = full->put({1, nullptr}, Element(alloc));
    stuck += status.code() == MXRT_QUEUE_STUCK;
    EXPECT_TRUE(status.code() == MXRT_QUEUE_STUCK || status.code() == MXRT_QUEUE_CLOSED);
    hub.leave(1);
  });
  Status status = empty->get({0, nullptr}).takeStatus();
  EXPECT_EQ(status.code(), MXRT_QUEUE_STUCK);
  ++stuck;
  full->cancel(); // lets the other go, if it was not the first
  other.join();
  EXPECT_GE(stuck, 1);
  full->release();
  empty->release();
}

TEST(SharedQueues, LoseNothingBetweenManyThreads) {
  constexpr int ranks = 6, each = 400;
  QueueHub hub(alloc, ranks);
  std::vector<Queue *> queue;
  for (int rank = 0; rank < ranks; ++rank)
    queue.push_back(hub.meet(rank, formOf(3), noLocation).take());
  std::atomic<int> producers = 3, taken = 0;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Queue::Waiter waiter = {rank, nullptr};
      if (rank < 3) {
        for (int i = 0; i < each; ++i)
          ASSERT_TRUE(queue[size_t(rank)]->put(waiter, Element(alloc)).ok());
        if (--producers == 0)
          queue[size_t(rank)]->close();
      } else {
        while (true) {
          Status status = queue[size_t(rank)]->get(waiter).takeStatus();
          if (status.failed()) {
            EXPECT_EQ(status.code(), MXRT_QUEUE_CLOSED);
            break;
          }
          ++taken;
        }
      }
      hub.leave(rank);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(taken, 3 * each);
  for (Queue *each : queue)
    each->release();
}

// -- parcels -------------------------------------------------------------------

class Parcels : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Engines, Parcels,
                         ::testing::Values(MXRT_ENGINE_NAIVE, MXRT_ENGINE_THREADED));

TEST_P(Parcels, OutliveTheirSender) {
  Side receiver(GetParam());
  Parcel *parcel;
  {
    Side sender(GetParam());
    std::vector<TensorRef> parts;
    parts.push_back(sender.tensor({1, 2, 3}));
    parts.push_back(sender.tensor({}));
    parts.push_back(sender.tensor({4}));
    parcel = Parcel::send(sender.runtime, parts, noLocation).take();
  }
  Vec<TensorRef> out(alloc);
  ASSERT_TRUE(parcel->receive(receiver.runtime, noLocation, out).ok());
  parcel->release();
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(receiver.values(out[0]), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(receiver.values(out[1]), std::vector<float>());
  EXPECT_EQ(receiver.values(out[2]), (std::vector<float>{4}));
  EXPECT_FALSE(mxrt_tensor_is_shared(out[0].get())) << "it is written in place";
}

TEST(ThreadedParcels, NoWorkerWaitsForThem) {
  // One worker of the communication lane; the parcel that is taken first is complete last.
  Side sender, receiver;
  std::atomic<bool> gate = false;
  std::vector<TensorRef> late, soon;
  late.push_back(sender.tensor({0}));
  soon.push_back(sender.tensor({7}));
  sender.write(late[0], gate, false);
  Parcel *first = Parcel::send(sender.runtime, late, noLocation).take();
  Parcel *second = Parcel::send(sender.runtime, soon, noLocation).take();
  Vec<TensorRef> a(alloc), b(alloc);
  ASSERT_TRUE(first->receive(receiver.runtime, noLocation, a).ok());
  ASSERT_TRUE(second->receive(receiver.runtime, noLocation, b).ok());
  EXPECT_EQ(receiver.values(b[0])[0], 7);
  gate = true;
  EXPECT_EQ(receiver.values(a[0])[0], 42);
  first->release();
  second->release();
}

TEST_P(Parcels, CarryTheErrorOfTheirSender) {
  Side receiver(GetParam());
  Vec<TensorRef> out(alloc);
  Parcel *parcel;
  {
    Side sender(GetParam());
    std::atomic<bool> gate = true;
    std::vector<TensorRef> parts;
    parts.push_back(sender.tensor({0}));
    sender.write(parts[0], gate, true);
    parcel = Parcel::send(sender.runtime, parts, {"writer.mx", 4, 1}).take();
  }
  ASSERT_TRUE(parcel->receive(receiver.runtime, {"reader.mx", 8, 1}, out).ok());
  parcel->release();
  Status status = receiver.wait(out[0]);
  EXPECT_EQ(status.code(), MXRT_ASSERTION);
  std::string text = status.message();
  EXPECT_NE(text.find("nothing to give"), std::string::npos) << text;
  EXPECT_NE(text.find("put into a queue at writer.mx:4:1"), std::string::npos) << text;
  EXPECT_EQ(status.location().line, 3u);
  EXPECT_EQ(status.noticedLocation().line, 9u);
}

} // namespace
} // namespace mxrt::test
