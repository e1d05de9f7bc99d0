// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens links of an engine that is not part of mx (net/Links.h), and a transport over them.

#ifndef MXRT_NET_PLUGIN_H
#define MXRT_NET_PLUGIN_H

#include "net/Linked.h"
#include "net/Rendezvous.h"

namespace mxrt::net {

/// Why an engine cannot be used, for a diagnostic; empty text if it can.
using Reason = char[256];

/// The links of the plugin libmxrt_NAME.so, from the folder $MX_PLUGINS; without it, from lib/mx
/// beside the program's folder, or where the system looks for libraries. nullptr with a reason.
Links *openPlugin(const char *name, const LinksOptions &options, Reason &why);

/// Over gRPC: ranks meet at an address. It fails with R0707 if the plugin is not there, and with
/// R0708 if the network is not this machine's own and `insecure` was not given.
Result<TransportBox> connectGrpc(const mxrt_allocator *alloc, const Meeting &meeting,
                                 const LinkedOptions &options, bool insecure, Clock &clock);

} // namespace mxrt::net

#endif // MXRT_NET_PLUGIN_H
