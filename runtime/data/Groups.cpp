// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of all native groups. In a file of its own, so that an executable that names a few
// groups links only those.

#include "data/DataHost.h"

namespace mxrt::data {

std::span<const NativeGroup *const> nativeGroups() {
  static const NativeGroup *const groups[] = {
      &mxrt_natives_changes,  &mxrt_natives_dist,     &mxrt_natives_drawing,
      &mxrt_natives_loaders,  &mxrt_natives_log,      &mxrt_natives_pictures,
      &mxrt_natives_progress, &mxrt_natives_queues,   &mxrt_natives_restore,
      &mxrt_natives_rules,    &mxrt_natives_save,     &mxrt_natives_sources,
      &mxrt_natives_tokens,   &mxrt_natives_datasets};
  return groups;
}

} // namespace mxrt::data
