// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A picture as a record, as it is or made smaller.

#ifndef MXC_IM2REC_PACK_H
#define MXC_IM2REC_PACK_H

#include "List.h"
#include "base/Allocator.h"

struct PackOptions {
  int64_t resize = 0;  // of the shorter side; 0: as it is
  int quality = 0;     // of the JPEG that is written; 0: files are taken as they are
  bool square = false; // the middle
  bool encodes() const { return resize > 0 || quality > 0 || square; }
};

/// Appends the record of the picture in a file. Any thread.
mxrt::Status packPicture(const Line &line, const std::string &path, const PackOptions &options,
                         mxrt::Vec<char> &record);

#endif // MXC_IM2REC_PACK_H
