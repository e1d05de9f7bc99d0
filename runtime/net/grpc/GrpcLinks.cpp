// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links over gRPC: the plugin libmxrt_grpc.so. Each rank is a server, and calls one method of each
// other rank; frames go from the caller to the server, as raw bytes. A call that ends, for whatever
// reason, is a broken link.
//
// There are no threads: completions are taken from one queue by the thread that uses the links, and
// gRPC reads and writes its sockets meanwhile.

#include "net/Links.h"

#include <grpc/support/log.h>
#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mxrt::net {
namespace {

using std::chrono::nanoseconds;
using std::chrono::system_clock;

constexpr const char *method = "/mx.Links/Frames";
/// Frames of one peer that wait behind the one that gRPC writes.
constexpr size_t queuedFrames = 3;

class GrpcLinks final : public Links {
public:
  explicit GrpcLinks(const LinksOptions &options)
      : self(options.rank), job(options.job), maxFrameBytes(options.maxFrameBytes),
        peers(static_cast<size_t>(options.ranks)) {}

  bool open(const char *host, std::string &why);
  const char *address() const override { return where.c_str(); }
  void connect(const char *const *addresses) override;
  bool hasRoom(int peer) const override;
  void send(int peer, const void *header, size_t headerBytes, const void *payload,
            size_t payloadBytes) override;
  bool next(Event &event) override;
  void wait(int64_t timeoutNs) override;
  void wake() override;
  void leave(int64_t timeoutNs) override;
  void destroy() override;
  uint64_t wireBytes() const override { return 0; }

private:
  /// What a completion is about.
  struct Tag {
    enum Kind { Accept, Read, Refused, Served, Start, Write, Done, Finish, Wake } kind;
    int peer;
    void *object;
  };
  struct Incoming {
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream{&context};
    grpc::ByteBuffer buffer;
    Tag accept{Tag::Accept, -1, this}, read{Tag::Read, -1, this}, end{Tag::Refused, -1, this};
  };
  struct Peer {
    // to the peer
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<grpc::GenericStub> stub;
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    std::deque<grpc::ByteBuffer> queue;
    grpc::Status status;
    Tag start{}, write{}, done{}, finish{};
    bool started = false, writing = false, finished = false, doneAsked = false;
    // from the peer
    std::unique_ptr<Incoming> incoming;
    bool reading = false, ended = false;
    // both
    bool told = false, broken = false;
  };

  void requestCall();
  bool readMetadata(Incoming &incoming, int &peer) const;
  void accept(bool ok, Incoming &incoming);
  void writeNext(Peer &peer);
  bool handle(Tag &tag, bool ok, Event &event);
  bool openEvent(int number, Event &event);
  bool breakEvent(int number, Event &event, const char *reason);

  const int self;
  const std::string job;
  const size_t maxFrameBytes;
  std::string where;
  std::vector<Peer> peers;
  grpc::AsyncGenericService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Incoming> waiting;            // the next call
  std::vector<std::unique_ptr<Incoming>> refused;
  bool leaving = false;
  // The frame that was handed out, and a completion that wait() has found.
  Incoming *current = nullptr;
  std::vector<grpc::Slice> slices;
  std::vector<Piece> pieces;
  Tag *found = nullptr;
  bool foundOk = false;
  Tag wakeTag{Tag::Wake, -1, nullptr};
  std::unique_ptr<grpc::Alarm> alarm;
  std::mutex alarmMutex;
  std::atomic<bool> wakes{false};
};

bool GrpcLinks::open(const char *host, std::string &why) {
  // What breaks is reported by the transport; gRPC's own lines are for those who ask for them.
  gpr_log_verbosity_init(); // $GRPC_VERBOSITY
  if (!gpr_should_log(GPR_LOG_SEVERITY_INFO))
    gpr_set_log_function([](gpr_log_func_args *) {});
  grpc::ServerBuilder builder;
  int port = 0;
  std::string any = std::string(host) + ":0";
  builder.AddListeningPort(any, grpc::InsecureServerCredentials(), &port);
  builder.RegisterAsyncGenericService(&service);
  builder.SetMaxReceiveMessageSize(static_cast<int>(maxFrameBytes));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, 256 << 10);
  queue = builder.AddCompletionQueue();
  server = builder.BuildAndStart();
  if (!server || port <= 0) {
    why = "cannot listen at " + std::string(host);
    return false;
  }
  where = std::string(host) + ":" + std::to_string(port);
  for (size_t i = 0; i < peers.size(); ++i) {
    int number = static_cast<int>(i);
    peers[i].start = {Tag::Start, number, nullptr};
    peers[i].write = {Tag::Write, number, nullptr};
    peers[i].done = {Tag::Done, number, nullptr};
    peers[i].finish = {Tag::Finish, number, nullptr};
  }
  requestCall();
  return true;
}

void GrpcLinks::requestCall() {
  waiting = std::make_unique<Incoming>();
  service.RequestCall(&waiting->context, &waiting->stream, queue.get(), queue.get(),
                      &waiting->accept);
}

void GrpcLinks::connect(const char *const *addresses) {
  for (size_t i = 0; i < peers.size(); ++i) {
    if (static_cast<int>(i) == self)
      continue;
    Peer &peer = peers[i];
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // Seconds by default; ranks start at the same time, but not at the same moment.
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 200);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
    arguments.SetInt(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 1 << 20);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
    arguments.SetMaxSendMessageSize(static_cast<int>(maxFrameBytes));
    arguments.SetMaxReceiveMessageSize(1 << 10);
    peer.channel = grpc::CreateCustomChannel(std::string("ipv4:") + addresses[i],
                                             grpc::InsecureChannelCredentials(), arguments);
    peer.stub = std::make_unique<grpc::GenericStub>(peer.channel);
    peer.context = std::make_unique<grpc::ClientContext>();
    peer.context->set_wait_for_ready(true);
    peer.context->AddMetadata("mx-job", job);
    peer.context->AddMetadata("mx-rank", std::to_string(self));
    peer.stream = peer.stub->PrepareCall(peer.context.get(), method, queue.get());
    peer.stream->StartCall(&peer.start);
    peer.stream->Finish(&peer.status, &peer.finish);
  }
}

bool GrpcLinks::hasRoom(int number) const {
  const Peer &peer = peers[static_cast<size_t>(number)];
  return peer.started && !peer.finished && !peer.broken && peer.queue.size() < queuedFrames;
}

void GrpcLinks::send(int number, const void *header, size_t headerBytes, const void *payload,
                     size_t payloadBytes) {
  Peer &peer = peers[static_cast<size_t>(number)];
  grpc::Slice parts[2] = {grpc::Slice(header, headerBytes), {}};
  if (payloadBytes)
    parts[1] = grpc::Slice(payload, payloadBytes);
  peer.queue.emplace_back(parts, payloadBytes ? 2 : 1);
  writeNext(peer);
}

void GrpcLinks::writeNext(Peer &peer) {
  if (peer.writing || peer.finished || peer.queue.empty())
    return;
  peer.writing = true;
  peer.stream->Write(peer.queue.front(), &peer.write); // holds its slices
  peer.queue.pop_front();
}

bool GrpcLinks::readMetadata(Incoming &incoming, int &peer) const {
  const auto &metadata = incoming.context.client_metadata();
  auto name = metadata.find("mx-job"), rank = metadata.find("mx-rank");
  if (name == metadata.end() || rank == metadata.end() || incoming.context.method() != method ||
      std::string(name->second.data(), name->second.size()) != job)
    return false;
  std::string text(rank->second.data(), rank->second.size());
  peer = text.size() > 4 ? -1 : std::atoi(text.c_str());
  return peer >= 0 && static_cast<size_t>(peer) < peers.size() && peer != self &&
         !peers[static_cast<size_t>(peer)].incoming;
}

void GrpcLinks::accept(bool ok, Incoming &) {
  std::unique_ptr<Incoming> call = std::move(waiting);
  if (!ok)
    return; // the server ends
  requestCall();
  int number = -1;
  if (!readMetadata(*call, number)) {
    // A stranger may call as often as it likes, but only a few calls are answered at a time.
    if (refused.size() < 64) {
      call->stream.Finish(grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "not of this job"),
                          &call->end);
      refused.push_back(std::move(call));
    } else {
      call->context.TryCancel();
    }
    return;
  }
  Peer &peer = peers[static_cast<size_t>(number)];
  call->read.peer = call->end.peer = number;
  call->end.kind = Tag::Served;
  peer.incoming = std::move(call);
  peer.reading = true;
  peer.incoming->stream.Read(&peer.incoming->buffer, &peer.incoming->read);
}

bool GrpcLinks::openEvent(int number, Event &event) {
  Peer &peer = peers[static_cast<size_t>(number)];
  if (peer.told || !peer.started || !peer.incoming || peer.broken)
    return false;
  peer.told = true;
  event = {Event::Kind::Open, number, nullptr, 0, nullptr};
  return true;
}

bool GrpcLinks::breakEvent(int number, Event &event, const char *reason) {
  Peer &peer = peers[static_cast<size_t>(number)];
  if (peer.broken)
    return false;
  peer.broken = true;
  event = {Event::Kind::Broken, number, nullptr, 0, reason};
  return !leaving;
}

bool GrpcLinks::handle(Tag &tag, bool ok, Event &event) {
  if (tag.kind == Tag::Wake) {
    wakes.store(false);
    return false;
  }
  if (tag.kind == Tag::Accept) {
    Incoming *call = static_cast<Incoming *>(tag.object);
    accept(ok, *call);
    for (size_t i = 0; ok && i < peers.size(); ++i)
      if (openEvent(static_cast<int>(i), event))
        return true;
    return false;
  }
  if (tag.kind == Tag::Refused) {
    std::erase_if(refused, [&](const auto &each) { return each.get() == tag.object; });
    return false;
  }
  Peer &peer = peers[static_cast<size_t>(tag.peer)];
  switch (tag.kind) {
  case Tag::Start:
    peer.started = ok;
    if (ok)
      writeNext(peer);
    return ok && openEvent(tag.peer, event);
  case Tag::Write:
    peer.writing = false;
    if (ok)
      writeNext(peer);
    return false;
  case Tag::Finish:
    peer.finished = true;
    peer.queue.clear();
    // What it said before it ended is read first: it may be why.
    if (peer.incoming && !peer.ended)
      return false;
    return !leaving && breakEvent(tag.peer, event,
                                  peer.status.error_code() == grpc::StatusCode::PERMISSION_DENIED
                                      ? "it belongs to another job"
                                      : "its connection ended");
  case Tag::Read:
    peer.reading = false;
    if (!ok) { // all frames are read: the other side has ended, or is gone
      peer.ended = true;
      peer.incoming->stream.Finish(grpc::Status::OK, &peer.incoming->end);
      return breakEvent(tag.peer, event, "its connection ended");
    }
    slices.clear();
    pieces.clear();
    (void)peer.incoming->buffer.Dump(&slices);
    for (const grpc::Slice &slice : slices)
      pieces.push_back({reinterpret_cast<const char *>(slice.begin()), slice.size()});
    current = peer.incoming.get();
    event = {Event::Kind::Frame, tag.peer, pieces.data(), pieces.size(), nullptr};
    return true;
  default:
    return false;
  }
}

bool GrpcLinks::next(Event &event) {
  if (Incoming *read = std::exchange(current, nullptr)) {
    slices.clear();
    read->buffer.Clear();
    peers[static_cast<size_t>(read->read.peer)].reading = true;
    read->stream.Read(&read->buffer, &read->read);
  }
  for (;;) {
    Tag *tag = std::exchange(found, nullptr);
    bool ok = foundOk;
    if (!tag) {
      void *raw = nullptr;
      auto status = queue->AsyncNext(&raw, &ok, gpr_time_0(GPR_CLOCK_MONOTONIC));
      if (status != grpc::CompletionQueue::GOT_EVENT)
        return false;
      tag = static_cast<Tag *>(raw);
    }
    if (handle(*tag, ok, event))
      return true;
  }
}

void GrpcLinks::wait(int64_t timeoutNs) {
  if (found)
    return;
  void *raw = nullptr;
  gpr_timespec until =
      timeoutNs < 0 ? gpr_inf_future(GPR_CLOCK_MONOTONIC)
                    : gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                   gpr_time_from_nanos(timeoutNs, GPR_TIMESPAN));
  if (queue->AsyncNext(&raw, &foundOk, until) == grpc::CompletionQueue::GOT_EVENT)
    found = static_cast<Tag *>(raw);
}

void GrpcLinks::wake() {
  // One that is on its way is enough; the flag falls before the work that it announces is looked
  // for.
  if (wakes.exchange(true))
    return;
  std::lock_guard lock(alarmMutex);
  alarm = std::make_unique<grpc::Alarm>();
  alarm->Set(queue.get(), gpr_now(GPR_CLOCK_MONOTONIC), &wakeTag);
}

void GrpcLinks::leave(int64_t timeoutNs) {
  leaving = true;
  auto until = std::chrono::steady_clock::now() + nanoseconds(timeoutNs);
  for (;;) {
    bool isOver = true;
    for (Peer &peer : peers) {
      if (!peer.stream || !peer.started || peer.finished || peer.broken)
        continue;
      isOver = false;
      if (!peer.writing && peer.queue.empty() && !peer.doneAsked) {
        peer.doneAsked = true;
        peer.stream->WritesDone(&peer.done);
      }
    }
    auto left = until - std::chrono::steady_clock::now();
    if (isOver || left <= nanoseconds(0))
      return;
    Event ignored;
    if (!next(ignored))
      wait(std::chrono::duration_cast<nanoseconds>(left).count());
  }
}

void GrpcLinks::destroy() {
  leaving = true;
  for (Peer &peer : peers)
    if (peer.context && !peer.finished)
      peer.context->TryCancel();
  server->Shutdown(system_clock::now());
  if (alarm)
    alarm->Cancel();
  queue->Shutdown();
  void *tag = nullptr;
  for (bool ok = false; queue->Next(&tag, &ok);) { // until nothing refers to this object
  }
  delete this;
}

} // namespace
} // namespace mxrt::net

extern "C" __attribute__((visibility("default"))) mxrt::net::Links *
mxrt_links_open(uint32_t version, const mxrt::net::LinksOptions *options, char *why,
                size_t whyBytes) {
  using namespace mxrt::net;
  std::string reason = "it belongs to another version";
  if (version == linksVersion) {
    auto links = std::make_unique<GrpcLinks>(*options);
    if (links->open(options->host, reason))
      return links.release();
  }
  std::snprintf(why, whyBytes, "%s", reason.c_str());
  return nullptr;
}
