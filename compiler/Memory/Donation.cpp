// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffer donation: finds outputs that can be written into the memory of an input.
#include "Memory/Donation.h"
#include "Memory/Accesses.h"
#include "dialects/mxrt/Marks.h"

using namespace mlir;

namespace mx::memory {

std::vector<int64_t> outputsOver(rt::ProgramOp program) {
  auto list = program->getAttrOfType<DenseI64ArrayAttr>(rt::kOverInputs);
  if (!list)
    return std::vector<int64_t>(program.outputArguments().size(), -1);
  return {list.asArrayRef().begin(), list.asArrayRef().end()};
}

SmallVector<Donated> possibleDonations(rt::ProgramOp program) {
  SmallVector<Donated> out;
  auto given = program->getAttrOfType<DenseI64ArrayAttr>(rt::kGiven);
  if (!given)
    return out;
  // The first write and the last read of each argument, as op numbers in the program's own block. A
  // loop is one op, which may do both at any time.
  struct When {
    int64_t firstWrite = INT64_MAX, lastRead = -1;
    Operation *writer = nullptr;
  };
  llvm::DenseMap<Value, When> when;
  int64_t number = 0;
  for (Operation &op : program.block()) {
    op.walk([&](Operation *inner) {
      Accesses accesses = accessesOf(inner);
      for (ArrayRef<Value> buffers :
           {ArrayRef<Value>(accesses.reads), ArrayRef<Value>(accesses.touched)})
        for (Value buffer : buffers)
          if (isa<BlockArgument>(buffer))
            when[buffer].lastRead = number;
      for (ArrayRef<Value> buffers :
           {ArrayRef<Value>(accesses.writes), ArrayRef<Value>(accesses.touched)})
        for (Value buffer : buffers)
          if (isa<BlockArgument>(buffer) && number < when[buffer].firstWrite) {
            when[buffer].firstWrite = number;
            when[buffer].writer = &op;
          }
    });
    ++number;
  }
  llvm::SmallDenseSet<int64_t> taken;
  for (auto [output, input] : llvm::enumerate(given.asArrayRef())) {
    if (input < 0 || !taken.insert(input).second)
      continue;
    Value from = program.inputArguments()[input], to = program.outputArguments()[output];
    When read = when.lookup(from), write = when.lookup(to);
    if (from.getType() != to.getType() || read.lastRead > write.firstWrite || !write.writer)
      continue;
    bool meet = read.lastRead == write.firstWrite;
    if (meet && !isa<rt::CallOp, rt::CopyOp>(write.writer))
      continue;
    out.push_back({static_cast<unsigned>(input), static_cast<unsigned>(output),
                   meet ? write.writer : nullptr});
  }
  return out;
}

} // namespace mx::memory
