// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packs an image into a record, unchanged or downscaled.

#ifndef MXC_IM2REC_PACK_H
#define MXC_IM2REC_PACK_H

#include "List.h"
#include "base/Allocator.h"

struct PackOptions {
  int64_t resize = 0;  // length of the shorter side; 0: unchanged
  int quality = 0;     // of the written JPEG; 0: files are copied unchanged
  bool square = false; // centre crop
  bool encodes() const { return resize > 0 || quality > 0 || square; }
};

/// Appends the record of the image in a file. Thread-safe.
mxrt::Status packPicture(const Line &line, const std::string &path, const PackOptions &options,
                         mxrt::Vec<char> &record);

#endif // MXC_IM2REC_PACK_H
