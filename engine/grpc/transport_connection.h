// One connection of a Transport: a byte stream, under TLS or not, joined to a GrpcConnection, and its bytes and its end
// that have found no time yet.
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
#include <string_view>

#include "engine/base/fair_queue.h"
#include "engine/grpc/grpc_connection.h"
#include "engine/net/byte_stream.h"
#include "engine/net/io.h"
#include "engine/net/secure_stream.h"
#include "object/unique_fd.h"

namespace drover::engine {

class TransportConnection;

// The transport, as its connections see it.
class ConnectionOwner {
 public:
  // Whether work may be done as it comes. `units`: of the pace, if it is large.
  virtual bool may_work(size_t units) = 0;
  // The same, within work().
  virtual bool go_on(size_t units) = 0;
  // Later: work().
  virtual void wait_for_time(TransportConnection& connection) = 0;
  // It has something to write, or may be over.
  virtual void add_dirty(TransportConnection& connection) = 0;
  // After a write, or when there is nothing to write.
  virtual void settle(TransportConnection& connection, GrpcConnection::Flushed flushed) = 0;
  // What it holds has changed.
  virtual void charge(TransportConnection& connection) = 0;
  virtual void close(TransportConnection& connection) = 0;
  // Its TLS came to nothing: closes it.
  virtual void fail_tls(TransportConnection& connection, std::string_view why) = 0;
  // Its TLS handshake is over.
  virtual void opened(TransportConnection& connection) = 0;

 protected:
  ~ConnectionOwner() = default;
};

class TransportConnection final : public SecureHandler, public ByteSink, public FairQueue::Member {
 public:
  TransportConnection(ConnectionOwner& owner, GrpcContext& context, std::string peer, uint32_t listener);
  // As Account::name.
  const std::string& address() const { return http2.account().parent()->name(); }
  // Of its address.
  FairQueue::Share& share() const { return share_; }

  // Before anything else. False: errno says why.
  bool open(Io& io, UniqueFd socket);
  // The same under TLS.
  bool open(Io& io, UniqueFd socket, std::shared_ptr<const tls::Context> context, tls::Scratch& scratch);
  void close();
  ssize_t write(const iovec* parts, size_t count) override { return stream_->write(parts, count); }
  void want_writable() { stream_->want_writable(); }
  // False: TLS has not got so far, or has to write before; the handler is told when it has.
  bool ready_to_write() { return secure_ == nullptr || secure_->flush_own(); }
  // The TLS handshake, if there is one, is over.
  bool established() const {
    return secure_ == nullptr || secure_->session().state() != tls::Session::State::kHandshake;
  }
  // Tells the peer, in TLS's words, that no more comes. True: it has been told, and linger() may follow.
  bool say_goodbye() { return secure_ == nullptr || secure_->say_goodbye(); }
  // Whether TLS's bytes have waited for the socket for so long, and moved more slowly than that.
  bool stalled(int64_t now_ns, int64_t patience_ns, uint32_t least_rate);
  // Gives back memory while it idles.
  void shrink() {
    if (secure_ != nullptr) secure_->shrink();
  }
  SecureStream* secure() { return secure_; }
  // We end it: no more is written; what the peer still sends is read and dropped, so that it sees the GOAWAY.
  void linger(int64_t now_ns);

  // What channelz tells of it. Throws std::bad_alloc.
  void describe(SocketFacts* out) const;

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
  size_t memory() const { return http2.memory() + backlog_.capacity() + (secure_ == nullptr ? 0 : secure_->memory()); }

  // Its place among those with compressed messages that wait for time.
  struct CodingTurn : FairQueue::Member {
    explicit CodingTurn(TransportConnection& of) : connection(of) {}
    TransportConnection& connection;
  };

  GrpcConnection http2;
  CodingTurn coding_turn{*this};
  bool closed = false;
  bool dirty = false;  // to be flushed: in the transport's list, or it waits for time
  int64_t linger_until_ns = 0;
  const int64_t opened_ns;
  uint64_t number = 0;  // SocketIndex gives it
  std::list<TransportConnection*>::iterator place_in_list;

 private:
  static constexpr size_t kReadBytes = 16 << 10;  // at a time, of input that waits
  static constexpr size_t kCloseUnits = 16;       // of work, about

  void on_bytes(const char* bytes, size_t size) override;
  std::span<char> place() override;
  bool may_read(bool starved) override;
  bool may_decrypt(bool costly) override;
  bool go_on(size_t units) override { return owner_.go_on(units); }
  void wait_for_time() override;
  void on_open() override { owner_.opened(*this); }
  void on_end(int) override;
  void on_writable() override { mark_dirty(); }
  void on_written(ssize_t result) override { owner_.settle(*this, http2.written(result)); }
  bool drop_lingering(size_t size);
  void postpone(const char* bytes, size_t size);
  void pause();
  bool unread() const;
  bool read();
  void resume();

  ConnectionOwner& owner_;
  FairQueue::Share& share_;
  std::unique_ptr<ByteStream> stream_;
  SecureStream* secure_ = nullptr;  // stream_, if it is one
  int socket_ = -1;                 // stream_'s, until close()
  size_t lingered_ = 0;             // bytes that were read and dropped
  std::string backlog_;
  size_t worked_ = 0;  // bytes of the backlog that the protocol has taken
  bool paused_ = false;
  size_t read_ = 0;      // bytes that came
  bool unread_ = false;  // the kernel may have more of them
  bool ended_ = false;
  int64_t moved_ns_;        // when the socket last took TLS's bytes,
  size_t sent_before_ = 0;  // and SecureStream::sent then
};

}  // namespace drover::engine
