// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// log(name, value): metrics of a run. A folder gets `log.jsonl`, one object per line, and an event
// file for TensorBoard. Numbers are written asynchronously in call order, once they are computed.
// Only the end of the run waits for them.

#ifndef MXRT_DATA_LOG_H
#define MXRT_DATA_LOG_H

#include "data/Numbers.h"

namespace mxrt::data {

class RunLog {
public:
  explicit RunLog(DataHost &host);
  RunLog(const RunLog &) = delete;
  RunLog &operator=(const RunLog &) = delete;
  ~RunLog();

  /// A negative step: one after the curve's latest step.
  Status add(std::string_view name, int64_t step, Number number, const mxrt_location &location);
  /// Writes the numbers that are ready; with `last`, waits for all of them.
  Status write(const mxrt_location &location, bool last);
  /// A table of the curves.
  Status summarise(Vec<char> &text) const;

private:
  struct Curve {
    Vec<char> name;
    int64_t count = 0, step = -1; // step of the latest number
    double first = 0, latest = 0, min = 0, max = 0;
  };
  struct Line {
    size_t curve = 0;
    int64_t step = 0;
    double seconds = 0;
    Number number;
  };
  Status open();
  Status append(const Line &line);
  Status flush();
  Result<size_t> curveOf(std::string_view name);

  DataHost &host;
  const mxrt_allocator *alloc;
  int64_t startNs = 0, flushedNs = 0;
  bool isOpen = false;
  int lines = -1, events = -1; // file descriptors
  Vec<Curve> curves;
  Vec<Line> waiting; // those before `begin` are written
  size_t begin = 0;
  Vec<char> lineBytes, eventBytes;
};

} // namespace mxrt::data

#endif // MXRT_DATA_LOG_H
