// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reliable, ordered frames between the ranks of a job: what a network has to offer to be used by
// net/Linked.h. gRPC implements it as a plugin, MPI through its library; both are opened at run
// time, so only plain types cross this interface.
//
// A link is a pair of streams between two ranks. It opens once and never again: there is no
// reconnection, so a frame that was sent is received, or the link is reported as broken.
//
// Thread rule: one thread at a time, except wake().

#ifndef MXRT_NET_LINKS_H
#define MXRT_NET_LINKS_H

#include <cstddef>
#include <cstdint>

namespace mxrt::net {

class Links {
public:
  /// Bytes of a frame, which are not contiguous everywhere.
  struct Piece {
    const char *data;
    size_t bytes;
  };
  struct Event {
    enum class Kind : uint32_t { Frame, Open, Broken };
    Kind kind = Kind::Frame;
    int peer = 0;
    const Piece *pieces = nullptr; ///< of a frame; until the next call of next()
    size_t pieceCount = 0;
    const char *reason = nullptr; ///< of a break: "its connection ended"
  };

  /// Where other ranks find this one, `127.0.0.1:4711`; empty if they need no address.
  virtual const char *address() const = 0;
  /// Begins to connect to all others, by rank; the own address is not used. For each link that is
  /// usable in both directions there is one event Open.
  virtual void connect(const char *const *addresses) = 0;
  /// Whether send() would take a frame for this peer now. When it becomes true, wait() ends.
  virtual bool hasRoom(int peer) const = 0;
  /// Copies a frame, header and payload. Only if hasRoom().
  virtual void send(int peer, const void *header, size_t headerBytes, const void *payload,
                    size_t payloadBytes) = 0;
  /// False: nothing happened. Each peer breaks at most once, and sends nothing after that.
  virtual bool next(Event &event) = 0;
  /// Sleeps until something may have happened, at most so long (negative: no limit).
  virtual void wait(int64_t timeoutNs) = 0;
  /// Ends the wait() that runs, or the next one.
  virtual void wake() = 0;
  /// Ends all links in good order: what was sent arrives, if the peers take it within this time.
  /// Only destroy() may follow.
  virtual void leave(int64_t timeoutNs) = 0;
  virtual void destroy() = 0;
  /// Bytes that went to the network with headers, if that is known, else 0.
  virtual uint64_t wireBytes() const = 0;

protected:
  ~Links() = default;
};

struct LinksOptions {
  int rank = 0, ranks = 1;
  const char *job = "";          ///< a peer that does not know this name is refused
  const char *host = "127.0.0.1"; ///< the address of this machine to listen at
  size_t maxFrameBytes = 0;      ///< a longer frame breaks its link before memory is taken for it
};

/// The only symbol of a plugin: `mxrt_links_open`. nullptr with a reason in `why`.
using OpenLinks = Links *(*)(uint32_t version, const LinksOptions *options, char *why,
                             size_t whyBytes);
/// Grows with each change of this file.
inline constexpr uint32_t linksVersion = 1;

} // namespace mxrt::net

#endif // MXRT_NET_LINKS_H
