// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plugins are looked for and opened once a connection needs them.

#include "net/Plugin.h"

#include "base/Files.h"

#include <cstdio>
#include <cstring>

namespace mxrt::net {
namespace {

/// `<folder of this program>/../lib/mx`, as it is built and installed; empty if that is unknown.
void folderBesideProgram(char (&out)[4096]) {
  out[0] = 0;
  char program[3072];
  if (!os::programPath(program, sizeof program))
    return;
  for (int level = 0; level < 2; ++level)
    if (char *slash = std::strrchr(program, '/'))
      *slash = 0;
  std::snprintf(out, sizeof out, "%s/lib/mx", program);
}

void *findPlugin(const char *name, Reason &why) {
  char file[64], path[4200], folder[4096];
  std::snprintf(file, sizeof file, "libmxrt_%s.so", name);
  if (const char *given = os::environment("MX_PLUGINS")) {
    std::snprintf(path, sizeof path, "%.4000s/%s", given, file);
    void *library = os::openLibrary(path);
    if (!library)
      std::snprintf(why, sizeof why, "there is no %s in the folder that MX_PLUGINS names", file);
    return library;
  }
  folderBesideProgram(folder);
  std::snprintf(path, sizeof path, "%s/%s", folder, file);
  if (folder[0] && os::fileExists(path)) {
    if (void *library = os::openLibrary(path))
      return library;
    std::snprintf(why, sizeof why, "%.120s cannot be opened: %.100s", path, os::libraryError());
    return nullptr;
  }
  if (void *library = os::openLibrary(file))
    return library;
  std::snprintf(why, sizeof why, "there is no %s", file);
  return nullptr;
}

} // namespace

Links *openPlugin(const char *name, const LinksOptions &options, Reason &why) {
  why[0] = 0;
  void *library = findPlugin(name, why);
  if (!library)
    return nullptr;
  auto open = reinterpret_cast<OpenLinks>(os::librarySymbol(library, "mxrt_links_open"));
  if (open)
    return open(linksVersion, &options, why, sizeof why);
  std::snprintf(why, sizeof why, "libmxrt_%s.so is not a plugin of mx", name);
  return nullptr;
}

Result<TransportBox> connectGrpc(const mxrt_allocator *alloc, const Meeting &meeting,
                                 const LinkedOptions &options, bool insecure, Clock &clock) {
  Address own = MXRT_TRY(ownAddressFor(alloc, meeting, clock));
  if (!os::isLoopback(own.host) && !insecure)
    return error(alloc, MXRT_KVSTORE_INSECURE, noLocation,
                 "the ranks would talk at %s, where others can read and change what they say\n"
                 "note: this version has no TLS\n"
                 "help: in a network that nobody else uses, write `mxc launch --insecure-network`, "
                 "or set MX_INSECURE_NETWORK=1",
                 own.host);
  LinksOptions links;
  links.rank = meeting.rank;
  links.ranks = meeting.ranks;
  char job[80];
  std::snprintf(job, sizeof job, "%s-%u", meeting.job, meeting.number);
  links.job = job;
  links.host = own.host;
  links.maxFrameBytes = Linked::maxFrameBytes(options, meeting.ranks);
  Reason why;
  Links *opened = openPlugin("grpc", links, why);
  if (!opened)
    return error(alloc, MXRT_KVSTORE_ENGINE, noLocation,
                 "the transport grpc is not here: %s\n"
                 "help: ranks of one machine need none: write `--transport shm`",
                 why);
  Address listening;
  if (!parseAddress(opened->address(), listening)) {
    opened->destroy();
    return error(alloc, MXRT_INTERNAL, noLocation, "gRPC listens at no address");
  }
  auto *made = newObject<Linked>(alloc, alloc, meeting.rank, meeting.ranks, *opened, clock, options);
  if (!made) {
    opened->destroy();
    return outOfMemory(alloc);
  }
  TransportBox box(alloc, made);
  Vec<char> text(alloc);
  Vec<const char *> addresses(alloc);
  MXRT_CHECK(meet(alloc, meeting, listening.port, clock, text, addresses));
  MXRT_CHECK(made->connect(addresses.data(), meeting.limitNs, meeting.check, meeting.checkUser));
  return box;
}

} // namespace mxrt::net
