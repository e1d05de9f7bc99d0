// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scheduling: lanes of a warp by lowest program counter, warps and blocks in a seeded order.
#include "driver/Cuda.h"
#include "exec/Warp.h"

#include <algorithm>
#include <numeric>

namespace mxemu {

/// Lanes of `mask` that execute an instruction with a member mask (op[4]). Lanes whose partners have
/// not arrived are held; those that are complete execute now.
static void executeTogether(Warp &warp, const Inst &inst, uint32_t mask) {
  const char *members = warp.row(inst.op[4]);
  uint32_t waiting = mask;
  forLanes(warp.held, [&](int lane) {
    if (warp.pcs[lane] == warp.pc)
      waiting |= 1u << lane;
  });
  while (waiting) {
    int first = __builtin_ctz(waiting);
    uint32_t member = get<uint32_t>(members, first), same = 0;
    forLanes(waiting, [&](int lane) {
      if (get<uint32_t>(members, lane) == member)
        same |= 1u << lane;
    });
    waiting &= ~same;
    if (same & ~member)
      warp.report(CUDA_ERROR_LAUNCH_FAILED, inst, __builtin_ctz(same & ~member),
                  "the member mask does not name the lane that executes the instruction");
    if ((member & warp.alive & ~same) == 0) {
      inst.execute(warp, inst, same);
      warp.held &= ~same;
      forLanes(same, [&](int lane) { warp.pcs[lane] = warp.pc + 1; });
    } else {
      warp.held |= same;
      forLanes(same, [&](int lane) { warp.pcs[lane] = warp.pc; });
    }
  }
}

bool Warp::step(uint64_t budget) {
  const Inst *code = run->kernel->code.data();
  uint64_t issued = 0, threads = 0;
  while (issued < budget) {
    uint32_t runnable = alive & ~blocked & ~held;
    if (!runnable)
      break;
    uint32_t low = ~0u, limit = ~0u, mask = 0;
    forLanes(runnable, [&](int lane) {
      uint32_t at = pcs[lane];
      if (at < low) {
        limit = low;
        low = at;
        mask = 1u << lane;
      } else if (at == low) {
        mask |= 1u << lane;
      } else if (at < limit) {
        limit = at;
      }
    });
    pc = low;
    for (bool straight = true; straight;) {
      const Inst &inst = code[pc];
      uint32_t m = mask;
      if (inst.guarded)
        m &= predicate(inst.guard);
      active = mask;
      ++issued;
      threads += unsigned(__builtin_popcount(m));
      switch (inst.flow) {
      case Inst::Next:
        if (m)
          inst.execute(*this, inst, m);
        ++pc;
        break;
      case Inst::Branch:
        if (inst.execute && m) { // brx.idx sets pcs itself
          forLanes(mask & ~m, [&](int lane) { pcs[lane] = pc + 1; });
          inst.execute(*this, inst, m);
          straight = false;
        } else if (m == mask) {
          pc = inst.target;
        } else if (!m) {
          ++pc;
        } else {
          forLanes(mask, [&](int lane) { pcs[lane] = m >> lane & 1 ? inst.target : pc + 1; });
          straight = false;
        }
        break;
      case Inst::Exit:
        if (inst.execute && m)
          inst.execute(*this, inst, m);
        alive &= ~m;
        mask &= ~m;
        ++pc;
        // Lanes that were held for the ones that are gone may go on.
        if (held)
          held = 0;
        if (!mask)
          straight = false;
        break;
      case Inst::Barrier:
      case Inst::Together:
        forLanes(mask, [&](int lane) { pcs[lane] = pc + 1; });
        if (m && inst.flow == Inst::Barrier)
          inst.execute(*this, inst, m);
        else if (m)
          executeTogether(*this, inst, m);
        straight = false;
        break;
      }
      if (straight && (pc >= limit || issued >= budget)) {
        forLanes(mask, [&](int lane) { pcs[lane] = pc; });
        straight = false;
      } else if (!straight && inst.flow != Inst::Branch && limit == ~0u && (alive & mask) == mask && mask &&
                 !(mask & (blocked | held)) && issued < budget) {
        // Nothing diverged: go on without looking at all lanes again.
        ++pc;
        straight = true;
      }
    }
  }
  run->steps += issued;
  run->threadInstructions += threads;
  return issued != 0;
}

bool Block::done() const {
  return std::all_of(warps.begin(), warps.end(), [](const Warp &warp) { return !warp.alive; });
}

void Block::arrive(Warp &warp, const Inst &inst, uint32_t mask) {
  int first = __builtin_ctz(mask);
  uint32_t number = get<uint32_t>(warp.row(inst.op[0]), first);
  uint32_t count = inst.number & 1 ? get<uint32_t>(warp.row(inst.op[1]), first) : 0;
  auto fail = [&](const std::string &text) { warp.report(CUDA_ERROR_LAUNCH_FAILED, inst, first, text); };
  if (inst.aligned && mask != warp.alive)
    fail("divergent barrier: not all threads of the warp execute it");
  if (number >= 16)
    fail("barrier " + std::to_string(number) + " does not exist");
  if (inst.number & 1 && (!count || count % 32))
    fail("the thread count of a barrier must be a multiple of 32");
  if (count > (threads + 31) / 32 * 32)
    fail("a barrier waits for more threads than the block has");
  if (warp.blocked && warp.waitingBarrier != int(number))
    fail("divergent barrier: lanes of one warp wait at different barriers");
  Barrier &barrier = barriers[number];
  if (barrier.arrived && barrier.expected != count)
    fail("threads wait for different thread counts at one barrier");
  barrier.expected = count;
  barrier.arrived += count && mask == warp.alive ? 32 : unsigned(__builtin_popcount(mask));
  for (int i = 0; i < 32; ++i)
    barrier.known[i] = std::max(barrier.known[i], warp.known[i]);
  barrier.known[warp.index] = std::max(barrier.known[warp.index], time);
  if (inst.kind) { // bar.red
    uint32_t value = warp.predicate(inst.op[3]) & mask;
    barrier.population += unsigned(__builtin_popcount(value));
    barrier.all &= value == mask;
    barrier.any |= value != 0;
  }
  if (inst.number & 2) { // bar.arrive: what the warp does from here on is later
    ++time;
    return;
  }
  warp.blocked |= mask;
  warp.waitingAt = &inst;
  warp.waitingBarrier = int(number);
}

void Block::completeBarriers() {
  unsigned alive = 0;
  for (auto &warp : warps)
    alive += unsigned(__builtin_popcount(warp.alive));
  for (int number = 0; number < 16; ++number) {
    Barrier &barrier = barriers[number];
    if (barrier.arrived && barrier.arrived >= (barrier.expected ? barrier.expected : alive))
      complete(number);
  }
}

void Block::complete(int number) {
  Barrier &barrier = barriers[number];
  // Warps that wait have done nothing since they arrived, so all that they did is known now.
  for (auto &warp : warps)
    if (warp.blocked && warp.waitingBarrier == number)
      barrier.known[warp.index] = time;
  ++time;
  for (auto &warp : warps) {
    if (!warp.blocked || warp.waitingBarrier != number)
      continue;
    for (int i = 0; i < 32; ++i)
      warp.known[i] = std::max(warp.known[i], barrier.known[i]);
    warp.lastSync = time;
    if (const Inst &inst = *warp.waitingAt; inst.kind) {
      uint32_t answer = inst.kind == 2 ? barrier.all : barrier.any;
      if (inst.kind == 1)
        forLanes(warp.blocked, [&](int lane) { put<uint32_t>(warp.row(inst.op[2]), lane, barrier.population); });
      else
        warp.setPredicate(inst.op[2], warp.blocked, answer ? ~0u : 0);
    }
    warp.blocked = 0;
    warp.waitingBarrier = -1;
  }
  barrier = Barrier();
}

bool Block::step() {
  std::vector<unsigned> order(warps.size());
  std::iota(order.begin(), order.end(), 0u);
  if (run->seed == 1)
    std::reverse(order.begin(), order.end());
  else if (run->seed > 1)
    std::shuffle(order.begin(), order.end(), run->random);
  bool any = false;
  for (unsigned index : order) {
    uint64_t budget = run->seed > 1 ? 1 + run->random() % 256 : 100000;
    any |= warps[index].step(budget);
  }
  unsigned waiting = 0;
  for (auto &warp : warps)
    waiting |= warp.blocked;
  if (waiting)
    completeBarriers();
  if (run->steps > run->limit)
    warps[0].report(CUDA_ERROR_LAUNCH_TIMEOUT, run->kernel->code[warps[0].pc], 0,
                    "the kernel does not end: " + std::to_string(run->steps) + " warp instructions");
  if (any || done())
    return true;
  for (auto &warp : warps) {
    if (warp.blocked && !(warp.blocked & ~warp.alive) && !warp.held) {
      bool progress = false;
      for (auto &other : warps)
        progress |= (other.alive & ~other.blocked & ~other.held) != 0;
      if (progress)
        return true;
    }
  }
  for (auto &warp : warps) {
    if (warp.held) {
      int lane = __builtin_ctz(warp.held);
      const Inst &inst = run->kernel->code[warp.pcs[lane]];
      warp.report(CUDA_ERROR_LAUNCH_FAILED, inst, lane,
                  "lanes of the member mask do not arrive: the other threads of the warp are elsewhere");
    }
  }
  for (auto &warp : warps)
    if (warp.blocked)
      warp.report(CUDA_ERROR_LAUNCH_FAILED, *warp.waitingAt, __builtin_ctz(warp.blocked),
                  "deadlock: other threads of the block do not reach the barrier");
  return false;
}

static void startWarp(Warp &warp, Block &block, unsigned index) {
  Run &run = *block.run;
  const Kernel &kernel = *run.kernel;
  std::vector<char> storage = std::move(warp.storage), local = std::move(warp.local);
  std::vector<uint8_t> states = std::move(warp.localStates);
  warp = Warp();
  storage.assign(kernel.rowBytes + 64, char(0xff));
  warp.storage = std::move(storage);
  warp.block = &block;
  warp.run = &run;
  warp.index = index;
  unsigned threads = std::min(32u, block.threads - index * 32);
  warp.alive = threads == 32 ? ~0u : (1u << threads) - 1;
  uint64_t base = reinterpret_cast<uint64_t>(warp.storage.data());
  warp.rows[0] = warp.storage.data() + (64 - base % 64) % 64;
  warp.rows[1] = const_cast<char *>(kernel.constants.data());
  local.assign(size_t(kernel.localBytes) * 32, char(0xff));
  states.assign(size_t(kernel.localBytes) * 32, NeverWritten);
  warp.local = std::move(local);
  warp.localStates = std::move(states);
  const uint32_t *size = run.shape.block, *grid = run.shape.grid;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t thread = index * 32 + lane;
    auto set = [&](SpecialRow row, uint32_t value) { put<uint32_t>(warp.rows[0] + row * 128, int(lane), value); };
    set(TidX, thread % size[0]);
    set(TidY, thread / size[0] % size[1]);
    set(TidZ, thread / size[0] / size[1]);
    for (uint32_t axis = 0; axis < 3; ++axis) {
      set(SpecialRow(NtidX + axis), size[axis]);
      set(SpecialRow(CtaidX + axis), block.id[axis]);
      set(SpecialRow(NctaidX + axis), grid[axis]);
    }
    set(LaneId, lane);
    set(WarpId, index);
    set(NWarpId, (block.threads + 31) / 32);
    set(MaskEq, 1u << lane);
    set(MaskLt, (1u << lane) - 1);
    set(MaskLe, ((1u << lane) - 1) | 1u << lane);
    set(MaskGe, ~((1u << lane) - 1));
    set(MaskGt, ~((1u << lane) - 1) & ~(1u << lane));
    set(SmId, block.index % 4);
    set(NSmId, 4);
    set(GridId, run.serial);
    set(DynSmem, run.shape.dynamicShared);
    set(TotalSmem, uint32_t(block.shared.size()));
  }
}

static void startBlock(Block &block, Run &run, uint32_t index) {
  static uint32_t serial = 0;
  block.run = &run;
  block.index = index;
  block.serial = ++serial;
  block.time = 1;
  block.knownBlocks.clear();
  const uint32_t *grid = run.shape.grid, *size = run.shape.block;
  block.id[0] = index % grid[0];
  block.id[1] = index / grid[0] % grid[1];
  block.id[2] = index / grid[0] / grid[1];
  block.threads = size[0] * size[1] * size[2];
  size_t bytes = run.shape.dynamicShared ? run.kernel->dynamicOffset + run.shape.dynamicShared : run.kernel->sharedBytes;
  block.shared.assign(bytes, char(0xff));
  block.sharedStates.assign(bytes, NeverWritten);
  if (block.sharedCells.size() < bytes / 4 + 1)
    block.sharedCells.assign(bytes / 4 + 1, Cell());
  std::fill(std::begin(block.barriers), std::end(block.barriers), Barrier());
  block.warps.resize((block.threads + 31) / 32);
  for (unsigned i = 0; i < block.warps.size(); ++i)
    startWarp(block.warps[i], block, i);
}

void runKernel(Run &run, bool cooperative) {
  uint32_t count = run.blockCount();
  run.random.seed(run.seed * 7919 + run.serial);
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (run.seed == 1)
    std::reverse(order.begin(), order.end());
  else if (run.seed > 1)
    std::shuffle(order.begin(), order.end(), run.random);
  uint32_t resident = cooperative ? count : run.seed > 1 ? 1 + uint32_t(run.random() % 3) : 1;
  std::vector<std::unique_ptr<Block>> blocks;
  uint32_t started = 0, finished = 0;
  while (finished < count) {
    while (blocks.size() < resident && started < count) {
      blocks.push_back(std::make_unique<Block>());
      startBlock(*blocks.back(), run, order[started++]);
    }
    for (auto &block : blocks) {
      while (!block->done()) {
        block->step();
        if (blocks.size() > 1)
          break;
      }
      if (!block->done())
        continue;
      ++finished;
      if (started < count)
        startBlock(*block, run, order[started++]);
      else
        block = nullptr;
    }
    std::erase_if(blocks, [](auto &block) { return !block; });
  }
}

} // namespace mxemu
