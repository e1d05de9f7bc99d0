// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ldmatrix and mma.sync. A matmul adds its products in double and rounds once; hardware's order is
// not documented, so only results that do not depend on it are comparable.
#include "driver/Cuda.h"
#include "exec/Warp.h"
#include "ptx/Decoder.h"

namespace mxemu {

namespace {

void needAll(Warp &w, const Inst &i, uint32_t mask) {
  if (mask != ~0u)
    w.report(CUDA_ERROR_LAUNCH_FAILED, i, __builtin_ctz(mask),
             "not all 32 lanes of the warp execute the instruction");
}

void loadMatrix(Warp &w, const Inst &i, uint32_t mask) {
  needAll(w, i, mask);
  for (unsigned matrix = 0; matrix < i.number; ++matrix) {
    uint16_t elements[8][8];
    for (unsigned row = 0; row < 8; ++row) {
      int lane = int(matrix * 8 + row);
      uint64_t address = addressAt(w, i, i.op[1], lane);
      if (i.space == Space::Generic || i.space == Space::Shared)
        if (address - windows().shared < Windows::bytes)
          address -= windows().shared;
      Access access = resolve(w, i, lane, Space::Shared, address, 16, Mode::Read);
      checkWritten(w, i, lane, access, address, 16);
      checkRace(w, i, lane, access, address, 16, Mode::Read, false);
      std::memcpy(elements[row], access.bytes, 16);
    }
    char *d = w.row(i.vector[matrix]);
    for (int l = 0; l < 32; ++l) {
      int major = l / 4, minor = 2 * (l % 4);
      uint32_t low = i.transposed ? elements[minor][major] : elements[major][minor];
      uint32_t high = i.transposed ? elements[minor + 1][major] : elements[major][minor + 1];
      put<uint32_t>(d, l, low | high << 16);
    }
  }
}

struct Shape {
  const char *name;
  int m, n, k;
};

/// Element `index` of a lane's fragment of A: its row and column.
void positionA(const Inst &i, int lane, int index, int &row, int &column) {
  int group = lane / 4, within = lane % 4;
  if (i.from == Ty::F64) {
    row = group, column = within;
  } else if (i.from == Ty::TF32) {
    row = group + 8 * (index & 1);
    column = within + 4 * (index >> 1);
  } else {
    row = group + 8 * (index >> 1 & 1);
    column = within * 2 + (index & 1) + 8 * (index >> 2);
  }
}
void positionB(const Inst &i, int lane, int index, int &row, int &column) {
  int group = lane / 4, within = lane % 4;
  column = group;
  if (i.from == Ty::F64)
    row = within;
  else if (i.from == Ty::TF32)
    row = within + 4 * index;
  else
    row = within * 2 + (index & 1) + 8 * (index >> 1);
}
void positionC(const Inst &i, int lane, int index, int &row, int &column) {
  row = lane / 4 + 8 * (index >> 1);
  column = lane % 4 * 2 + (index & 1);
}

double element(Ty type, const char *row, int lane, int half) {
  switch (type) {
  case Ty::F64:
    return get<double>(row, lane);
  case Ty::TF32: { // the low 13 bits do not count
    uint32_t bits = get<uint32_t>(row, lane) & 0xffffe000;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  case Ty::F32:
    return get<float>(row, lane);
  case Ty::F16:
    return fromHalf(Half{uint16_t(get<uint32_t>(row, lane) >> (16 * half))});
  default:
    return fromHalf(BHalf{uint16_t(get<uint32_t>(row, lane) >> (16 * half))});
  }
}

void multiply(Warp &w, const Inst &i, uint32_t mask) {
  needAll(w, i, mask);
  int m = int(i.number >> 16), n = int(i.number >> 8 & 255), k = int(i.number & 255);
  bool packed = i.from == Ty::F16 || i.from == Ty::BF16, packedC = i.type == Ty::F16;
  int perLaneA = m * k / 32, perLaneB = k * n / 32, perLaneC = m * n / 32;
  double a[16][16], b[16][8], c[16][8];
  size_t rowsC = size_t(packedC ? perLaneC / 2 : perLaneC);
  const Operand *d = i.vector.data(), *ra = d + rowsC,
                *rb = ra + (packed ? perLaneA / 2 : perLaneA),
                *rc = rb + (packed ? perLaneB / 2 : perLaneB);
  int row, column;
  for (int l = 0; l < 32; ++l) {
    for (int e = 0; e < perLaneA; ++e) {
      positionA(i, l, e, row, column);
      a[row][column] = element(i.from, w.row(ra[packed ? e / 2 : e]), l, e & 1);
    }
    for (int e = 0; e < perLaneB; ++e) {
      positionB(i, l, e, row, column);
      b[row][column] = element(i.from, w.row(rb[packed ? e / 2 : e]), l, e & 1);
    }
    for (int e = 0; e < perLaneC; ++e) {
      positionC(i, l, e, row, column);
      c[row][column] = element(i.type, w.row(rc[packedC ? e / 2 : e]), l, e & 1);
    }
  }
  for (int r = 0; r < m; ++r)
    for (int s = 0; s < n; ++s) {
      double sum = c[r][s];
      for (int t = 0; t < k; ++t)
        sum = i.from == Ty::F64 ? std::fma(a[r][t], b[t][s], sum) : sum + a[r][t] * b[t][s];
      c[r][s] = sum;
    }
  for (int l = 0; l < 32; ++l)
    for (int e = 0; e < perLaneC; ++e) {
      positionC(i, l, e, row, column);
      double value = c[row][column];
      if (i.type == Ty::F64) {
        put<double>(w.row(d[e]), l, value);
      } else if (i.type == Ty::F32) {
        put<float>(w.row(d[e]), l, value != value ? canonicalNan() : float(value));
      } else {
        uint32_t word = get<uint32_t>(w.row(d[e / 2]), l), half = Number<Half>::make(value).bits;
        word = e & 1 ? (word & 0xffff) | half << 16 : (word & 0xffff0000) | half;
        put<uint32_t>(w.row(d[e / 2]), l, word);
      }
    }
}

void decodeMultiply(Decoder &d) {
  static const Shape shapes[] = {
      {"m16n8k16", 16, 8, 16}, {"m16n8k8", 16, 8, 8}, {"m16n8k4", 16, 8, 4}, {"m8n8k4", 8, 8, 4}};
  if (!d.take("sync") || !d.take("aligned"))
    d.fail("mma is .sync.aligned");
  const Shape *shape = nullptr;
  for (auto &candidate : shapes)
    if (d.take(candidate.name))
      shape = &candidate;
  if (!shape || !d.take("row") || !d.take("col"))
    d.fail("this shape or layout is not supported");
  Inst &i = d.inst;
  i.type = d.takeType();
  i.from = d.takeType();
  Ty fromB = d.takeType(), typeC = d.takeType();
  int k = shape->k;
  bool halves = (i.from == Ty::F16 || i.from == Ty::BF16) && shape->m == 16 && (k == 8 || k == 16);
  bool known = halves && (i.type == Ty::F32 || (i.type == Ty::F16 && i.from == Ty::F16));
  known |= i.from == Ty::TF32 && i.type == Ty::F32 && shape->m == 16 && (k == 8 || k == 4);
  known |= i.from == Ty::F64 && i.type == Ty::F64 && shape->m == 8;
  if (!known || fromB != i.from || typeC != i.type)
    d.fail("these types are not supported");
  i.number = uint32_t(shape->m << 16 | shape->n << 8 | k);
  size_t a = size_t(shape->m * k / 32), b = size_t(k * shape->n / 32),
         c = size_t(shape->m * shape->n / 32);
  Ty register_ = i.from == Ty::F64 ? Ty::F64 : Ty::B32;
  if (halves)
    a /= 2, b /= 2;
  Ty accumulator = i.type == Ty::F64 ? Ty::F64 : Ty::B32;
  if (i.type == Ty::F16)
    c /= 2;
  d.expectOperands(4, 4);
  d.destinations(0, accumulator, c);
  d.sources(1, register_, a);
  d.sources(2, register_, b);
  d.sources(3, accumulator, c);
  i.execute = multiply;
}

} // namespace

void addMatrixOps(DecodeTable &table) {
  table["ldmatrix"] = [](Decoder &d) {
    if (!d.take("sync") || !d.take("aligned") || !d.take("m8n8"))
      d.fail("only ldmatrix.sync.aligned.m8n8 is supported");
    d.inst.number = d.take("x1") ? 1 : d.take("x2") ? 2 : d.take("x4") ? 4 : 0;
    if (!d.inst.number)
      d.fail(".x1, .x2 or .x4 is missing");
    d.inst.transposed = d.take("trans");
    d.inst.space = d.take("shared") || d.take("shared::cta") ? Space::Shared : Space::Generic;
    if (d.takeType() != Ty::B16)
      d.fail("a type that this instruction does not have");
    d.expectOperands(2, 2);
    d.destinations(0, Ty::B32, d.inst.number);
    d.inst.op[1] = d.address(1);
    d.inst.execute = loadMatrix;
  };
  table["mma"] = decodeMultiply;
}

} // namespace mxemu
