// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choice of the tiles, panels and blocks of a packed GEMM.
#include "Lowering/cpu/GemmSchedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace mx::lowering {

std::optional<Tiling> Tiling::parse(llvm::StringRef text) {
  constexpr int64_t maxSize = 512, minSteps = 64;
  auto [columns, steps] = text.split(',');
  Tiling out;
  if (columns.getAsInteger(10, out.columns) || steps.getAsInteger(10, out.steps) ||
      out.columns < 0 || out.columns > maxSize || out.columns % GemmInfo().minColumns != 0 ||
      out.steps > maxSize || out.steps % 16 != 0 || (out.steps != 0 && out.steps < minSteps))
    return std::nullopt;
  return out;
}
std::string Tiling::text() const { return std::to_string(columns) + "," + std::to_string(steps); }

int64_t maxPerSet(int64_t count, int64_t bytes, int64_t apart, const CacheInfo &cache) {
  llvm::SmallVector<int64_t> lines(static_cast<size_t>(cache.sets), 0);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t line = i * apart / cache.line; line * cache.line < i * apart + bytes; ++line)
      ++lines[static_cast<size_t>(line % cache.sets)];
  return *llvm::max_element(lines);
}

namespace {

/// Whether the rows of a tile, read unpacked, would evict each other from L1 while the columns
/// stream through it.
bool doRowsCollide(const GemmProblem &p, int64_t wide, const TargetInfo &target) {
  const CacheInfo &cache = target.firstCache;
  int64_t bytes = p.bits / 8, tileRows = target.gemm.tileRows;
  auto passing =
      static_cast<int64_t>(llvm::divideCeil(p.depth * wide * bytes, cache.line * cache.sets));
  int64_t own = maxPerSet(std::min(p.rows.value_or(tileRows), tileRows),
                          std::min(*p.steps, p.blockDepth) * bytes, *p.rowPitch * bytes, cache);
  return own + passing > cache.ways;
}

/// Whether to pack rows that could be read unpacked: they conflict in L1, and enough is computed
/// with them. If even the columns of one tile leave no room for them in L1, as with long vectors,
/// packing gains nothing.
bool doesPackingRowsPay(const GemmProblem &p, int64_t wide, const TargetInfo &target) {
  constexpr int64_t tiles = 8; // of columns
  bool leaveRoom = p.depth * wide * (p.bits / 8) <= target.firstCache.bytes() / 2;
  return leaveRoom && p.rows && *p.rows >= target.gemm.manyRows && p.columns &&
         *p.columns >= tiles * wide && p.steps && p.rowPitch && doRowsCollide(p, wide, target);
}

/// Whole units, up to `limit` columns. Chooses the number that gives the fewest vectors in total:
/// the last vector of a panel is rarely full.
int64_t columnsOfUnits(const GemmProblem &p, int64_t lanes, int64_t limit) {
  int64_t best = std::max(limit / p.unit * p.unit, p.unit);
  if (!p.columns || *p.columns == 0)
    return best;
  auto vectorsWith = [&](int64_t width) {
    return *p.columns / width * static_cast<int64_t>(llvm::divideCeil(width, lanes)) +
           static_cast<int64_t>(llvm::divideCeil(*p.columns % width, lanes));
  };
  for (int64_t width = best - p.unit; width >= limit / 2; width -= p.unit)
    if (vectorsWith(width) < vectorsWith(best))
      best = width;
  return best;
}

} // namespace

/// The sums of a tile, the vectors of one step and one broadcast factor must fit into the
/// registers.
GemmSchedule GemmSchedule::choose(const GemmProblem &p, const TargetInfo &target) {
  const GemmInfo &gemm = target.gemm;
  GemmSchedule out;
  std::optional<int64_t> m = p.rows, n = p.columns;
  out.lanes = target.lanes(p.bits);
  out.blockRows = gemm.blockRows;
  out.panelColumns = gemm.panelColumns;
  // Sums that need no scratch memory may cover all rows.
  if (m && (p.sumsInPlace || p.isShallow()))
    out.blockRows = std::max<int64_t>(out.blockRows, llvm::alignTo(*m, gemm.tileRows));
  out.wide = out.lanes * target.tileVectors();
  bool pays = p.rowsInPlace && doesPackingRowsPay(p, out.wide, target);
  out.areRowsPacked = pays || !p.rowsInPlace;
  // With few rows, registers are left for more columns, and each factor is used more often.
  if (m && *m >= 1 && *m < gemm.tileRows && !p.isPrepacked)
    out.wide *= gemm.tileRows / std::max<int64_t>(*m, 2);
  if (n) // the smallest block that is transposed is 4 x 4
    out.wide = std::min<int64_t>(
        out.wide, llvm::alignTo(std::max<int64_t>(*n, 1), std::max<int64_t>(out.lanes, 4)));
  int64_t batchCount = 1;
  for (GemmProblem::Size size : p.batch)
    batchCount *= std::clamp<int64_t>(size.value_or(1), 1, target.parallelBlocks);
  auto blocks = [&] {
    return batchCount * static_cast<int64_t>(llvm::divideCeil(*m, out.blockRows) *
                                             llvm::divideCeil(*n, out.panelColumns));
  };
  // Packed rows serve the columns of one panel only, so the panel should be wide.
  if (pays && (p.sumsInPlace || p.isShallow()))
    out.panelColumns = p.maxColumns;
  // Panels are made narrower, then blocks lower, if there would be too few for the threads.
  auto lowerBlocks = [&] {
    while (m && n && blocks() < target.parallelBlocks / 2 && *m > gemm.minRows &&
           out.blockRows > gemm.minRows)
      out.blockRows = llvm::alignTo(out.blockRows / 2, gemm.tileRows);
  };
  int64_t enough = out.areRowsPacked ? target.parallelBlocks / 2 : target.parallelBlocks;
  // Narrower panels would pack rows again.
  if (out.areRowsPacked && m && *m >= gemm.manyRows)
    lowerBlocks();
  if (p.chosenColumns)
    out.panelColumns = std::min(p.chosenColumns, p.maxColumns);
  else
    while (m && n && blocks() < enough && *n > gemm.minColumns &&
           out.panelColumns > gemm.minColumns)
      out.panelColumns /= 2;
  if (p.columnsInPlace) // a panel whose last tile is narrower is for the end of a row
    out.panelColumns = std::max(out.panelColumns / out.wide, int64_t(1)) * out.wide;
  if (p.unit > 1) {
    bool isChosen = p.chosenColumns || out.panelColumns < gemm.panelColumns;
    out.panelColumns = columnsOfUnits(p, out.lanes, isChosen ? out.panelColumns : p.maxColumns);
  }
  out.pitch = llvm::alignTo(out.panelColumns, out.wide);
  lowerBlocks();
  if (!m || *m == 0)
    return out;
  out.tileCount = llvm::divideCeil(*m, gemm.tileRows);
  out.lowRows = *m / out.tileCount;
  out.tallTiles = *m % out.tileCount;
  out.blockTiles = llvm::divideCeil(out.tileCount,
                                    llvm::divideCeil(out.tileCount, out.blockRows / gemm.tileRows));
  out.blockRows = std::min(*m, out.blockTiles * (out.lowRows + (out.tallTiles > 0)));
  return out;
}

} // namespace mx::lowering
