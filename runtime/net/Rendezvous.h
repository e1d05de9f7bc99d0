// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the ranks of a job find each other when they have no memory in common: a TCP address.
// Each rank of a connection tells the port at which it listens, and gets the addresses of all when
// the last one has come. A launcher serves the address; without one, rank 0 does.
//
// A caller that does not know the name of the job, which nobody can guess, is refused.

#ifndef MXRT_NET_RENDEZVOUS_H
#define MXRT_NET_RENDEZVOUS_H

#include "base/Allocator.h"
#include "base/Sockets.h"
#include "net/Clock.h"

namespace mxrt::net {

/// `host:port`. False if that is not an address.
struct Address {
  char host[os::maxAddress] = "";
  int port = 0;
};
bool parseAddress(const char *text, Address &out);

/// What a caller says first.
struct Hello {
  static constexpr uint64_t ours = 0x31305644525F584D; // "MX_RDV01"
  enum Kind : uint32_t {
    Meet = 1,   ///< wants the addresses of all ranks
    Channel = 2 ///< stays connected, as the channel of a rank to its launcher
  };
  uint64_t magic = ours;
  char job[48] = "";
  uint32_t kind = Meet;
  uint32_t rank = 0, ranks = 0;
  uint32_t number = 0; ///< of the connection, for ranks that make several
  uint32_t port = 0;   ///< where this rank listens
  uint32_t unused = 0;
};
/// The answer to Meet: `bytes` of text, the addresses of all ranks, each with a line feed, or what
/// is wrong.
struct Answer {
  uint64_t magic = Hello::ours;
  uint32_t failed = 0, bytes = 0;
};

class Rendezvous {
public:
  Rendezvous(const mxrt_allocator *alloc, const char *job, int ranks);
  ~Rendezvous();
  Rendezvous(const Rendezvous &) = delete;
  Rendezvous &operator=(const Rendezvous &) = delete;

  /// 0 or an error number; port 0: any.
  int open(const char *host, int port);
  int port() const { return bound; }
  /// The sockets that step() reads: when one of them can be read, it has to be called.
  const Vec<int> &sockets() const { return watched; }
  /// Takes calls, reads, and answers. Never waits.
  void step();
  /// A connection that stays, which the caller closes. False: there is none.
  bool takeChannel(int &rank, int &connection);
  /// Whether all ranks of this connection have been answered.
  bool hasMet(uint32_t number) const { return number < met; }

private:
  struct Call {
    int socket = -1;
    Hello hello;
    size_t received = 0;
    bool known = false; ///< its hello is complete and right
    char host[os::maxAddress] = "";
  };
  void read(Call &call);
  void check(Call &call);
  void answer(Call &call, bool failed, const char *text, size_t bytes);
  void tryToMeet(uint32_t number);
  void watchAll();

  const mxrt_allocator *alloc;
  char job[48] = "";
  const int ranks;
  int listener = -1, bound = 0;
  uint32_t met = 0;
  Vec<Call> calls, channels;
  Vec<int> watched;
};

/// Where the own rank is to be found, and all others.
struct Meeting {
  const char *job = "";
  int rank = 0, ranks = 1;
  uint32_t number = 0;
  Address at;
  int64_t limitNs = 60 * second;
  Status (*check)(void *user) = nullptr; ///< called now and then; an error ends the wait
  void *checkUser = nullptr;
};
/// The address of this machine in the network of the rendezvous.
Result<Address> ownAddressFor(const mxrt_allocator *alloc, const Meeting &meeting, Clock &clock);
/// Tells `port`, and waits for the addresses of all. R0701 if not all come in time.
Status meet(const mxrt_allocator *alloc, const Meeting &meeting, int port, Clock &clock,
            Vec<char> &text, Vec<const char *> &addresses);

} // namespace mxrt::net

#endif // MXRT_NET_RENDEZVOUS_H
