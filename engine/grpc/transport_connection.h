// One connection of a Transport: a byte stream joined to a GrpcConnection, and its bytes and its end that have found no
// time yet.
//
//   ByteStream --on_bytes--> GrpcConnection              while its principal may work at once (may_work)
//                   \------> backlog --work()--> GrpcConnection     later, when FairQueue says so
//
// While it waits, the socket is read by work() only, a little at a time: the rest stays with the kernel, and with the
// peer. Thread-safety: none; the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>

#include "engine/base/fair_queue.h"
#include "engine/grpc/grpc_connection.h"
#include "engine/net/byte_stream.h"
#include "engine/net/io.h"
#include "object/unique_fd.h"

namespace drover::engine {

class TransportConnection;

// The transport, as its connections see it.
class ConnectionOwner {
 public:
  // Whether work may be done as it comes. `units`: of the pace, if it is large.
  virtual bool may_work(size_t units) = 0;
  // Later: work().
  virtual void wait_for_time(TransportConnection& connection) = 0;
  // It has something to write, or may be over.
  virtual void add_dirty(TransportConnection& connection) = 0;
  // After a write, or when there is nothing to write.
  virtual void settle(TransportConnection& connection, GrpcConnection::Flushed flushed) = 0;
  // What it holds has changed.
  virtual void charge(TransportConnection& connection) = 0;
  virtual void close(TransportConnection& connection) = 0;

 protected:
  ~ConnectionOwner() = default;
};

class TransportConnection final : public StreamHandler, public ByteSink, public FairQueue::Member {
 public:
  TransportConnection(ConnectionOwner& owner, GrpcContext& context, std::string peer, uint32_t listener);
  // As Account::name.
  const std::string& address() const { return http2.account().parent()->name(); }
  // Of its address.
  FairQueue::Share& share() const { return share_; }

  // Before anything else. False: errno says why.
  bool open(Io& io, UniqueFd socket);
  void close();
  ssize_t write(const iovec* parts, size_t count) override { return stream_->write(parts, count); }
  void want_writable() { stream_->want_writable(); }
  // We end it: no more is written; what the peer still sends is read and dropped, so that it sees the GOAWAY.
  void linger(int64_t now_ns);

  // It has something to write, or may be over.
  void mark_dirty() {
    if (!dirty && !closed) [[unlikely]]
      owner_.add_dirty(*this);
  }
  // Its input waits for time: some of it, or all that the peer may have sent.
  bool has_backlog() const { return paused_; }
  bool ended() const { return ended_; }  // by the peer: it is to be closed
  // Gives waiting input to the protocol, as far as the pace allows.
  void work();
  // Forgets input that was received.
  void drop_backlog();
  // Heap bytes that the peer makes it hold.
  size_t memory() const { return http2.memory() + backlog_.capacity(); }

  GrpcConnection http2;
  bool closed = false;
  bool dirty = false;  // to be flushed: in the transport's list, or it waits for time
  int64_t linger_until_ns = 0;
  std::list<TransportConnection*>::iterator place_in_list;

 private:
  static constexpr size_t kReadBytes = 16 << 10;  // at a time, of input that waits
  static constexpr size_t kCloseUnits = 16;       // of work, about

  void on_bytes(const char* bytes, size_t size) override;
  std::span<char> place() override;
  bool may_read(bool starved) override;
  void on_end(int) override;
  void on_writable() override { mark_dirty(); }
  void on_written(ssize_t result) override { owner_.settle(*this, http2.written(result)); }
  bool drop_lingering(size_t size);
  void postpone(const char* bytes, size_t size);
  void pause();
  bool read();
  void resume();

  ConnectionOwner& owner_;
  FairQueue::Share& share_;
  std::unique_ptr<ByteStream> stream_;
  size_t lingered_ = 0;  // bytes that were read and dropped
  std::string backlog_;
  size_t worked_ = 0;  // bytes of the backlog that the protocol has taken
  bool paused_ = false;
  size_t read_ = 0;      // bytes that came
  bool unread_ = false;  // the kernel may have more of them
  bool ended_ = false;
};

}  // namespace drover::engine
