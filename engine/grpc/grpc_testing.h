// A connection and a client in one thread, joined by memory instead of a socket: a GrpcConnection with an EchoSink
// on one side, nghttp2's client session on the other. Time stands still unless the test moves it; the "kernel" takes
// as many bytes as the test allows. Raw bytes can be sent instead of the client's.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/grpc/echo_sink.h"
#include "engine/grpc/grpc_connection.h"

namespace drover::engine {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

class Rig : public ReplySink, public ByteSink {
 public:
  explicit Rig(TransportOptions options = {}) : metrics(0), context(options, metrics, &now), sink(*this, metrics) {
    context.sink = &sink;
    connection = std::make_unique<GrpcConnection>(context, *this, Peer{"ipv4:192.0.2.1:4711", {}}, 7);
  }
  ~Rig() { connection.reset(); }

  bool reply(Call& call, const Reply& reply) override {
    ++replies;
    return GrpcConnection::reply(static_cast<CallStream&>(call), reply);
  }
  void consumed(Call& call, size_t messages, size_t bytes) override {
    connection->consumed(static_cast<CallStream&>(call), messages, bytes);
  }
  void started(Call& call) override { connection->started(static_cast<CallStream&>(call)); }
  void cut_off(Call& call) override { connection->cut_off(static_cast<CallStream&>(call)); }
  ssize_t write(const iovec* parts, size_t count) override {
    ++writes;
    if (writable == 0) {
      errno = EAGAIN;
      return -1;
    }
    size_t taken = 0;
    for (size_t i = 0; i < count && writable > 0; ++i) {
      size_t n = std::min(parts[i].iov_len, writable);
      sent.append(static_cast<char*>(parts[i].iov_base), n);
      writable -= n;
      taken += n;
    }
    return static_cast<ssize_t>(taken);
  }
  // In pieces of memory that is gone afterwards; with `use_places`, where they belong if that is known.
  void receive(std::string_view bytes, size_t step = SIZE_MAX) {
    while (!bytes.empty()) {
      if (std::span<char> place = use_places ? connection->receive_into() : std::span<char>(); !place.empty()) {
        const size_t n = std::min({bytes.size(), step, place.size()});
        bytes.copy(place.data(), n);
        bytes.remove_prefix(n);
        connection->receive(place.data(), n);
        placed += n;
        continue;
      }
      auto piece = std::make_unique<std::string>(bytes.substr(0, step));
      bytes.remove_prefix(piece->size());
      connection->receive(piece->data(), piece->size());
    }
  }
  GrpcConnection::Flushed flush() {
    GrpcConnection::Flushed result;
    while (connection->has_messages_to_code()) connection->work_on_messages(monotonic_ns());
    while ((result = connection->flush()) == GrpcConnection::Flushed::kMore) {
    }
    return result;
  }

  int64_t now = 1'000'000'000;
  ThreadMetrics metrics;
  GrpcContext context;
  EchoSink sink;
  std::unique_ptr<GrpcConnection> connection;
  std::string sent;  // taken by the "kernel", not yet by the client
  size_t writable = SIZE_MAX;
  bool use_places = false;
  size_t placed = 0;
  int writes = 0;
  int replies = 0;
};

// Windows that a message of a few frames fills.
inline TransportOptions small_windows() {
  TransportOptions options;
  options.stream_window = options.connection_window = http2::kDefaultWindow;
  return options;
}

class TestClient {
 public:
  struct Answer {
    HeaderList headers;   // of the first HEADERS
    HeaderList trailers;  // of the second
    std::string body;
    int header_blocks = 0;
    bool closed = false;
    uint32_t error = 0;

    std::string header(const std::string& name) const { return value_of(headers, name); }
    // grpc-status and the like: in the trailers, or in trailers-only headers.
    std::string trailer(const std::string& name) const { return value_of(trailers.empty() ? headers : trailers, name); }
    static std::string value_of(const HeaderList& list, const std::string& name) {
      for (const auto& [key, value] : list) {
        if (key == name) return value;
      }
      return "(none)";
    }
  };
  struct Outgoing {
    std::string body;
    size_t at = 0;
    bool open = false;  // more may come: no END_STREAM
  };

  explicit TestClient(Rig& rig, uint32_t stream_window = 65535, bool auto_window = true) : rig_(rig) {
    nghttp2_session_callbacks* callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* self) {
          Answer& answer = static_cast<TestClient*>(self)->answers[frame->hd.stream_id];
          (answer.header_blocks == 0 ? answer.headers : answer.trailers)
              .emplace_back(std::string(reinterpret_cast<const char*>(name), name_size),
                            std::string(reinterpret_cast<const char*>(value), value_size));
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          auto* client = static_cast<TestClient*>(self);
          if (frame->hd.type == NGHTTP2_HEADERS) ++client->answers[frame->hd.stream_id].header_blocks;
          if (frame->hd.type == NGHTTP2_GOAWAY) {
            client->goaways.push_back({frame->goaway.last_stream_id, frame->goaway.error_code});
          }
          if (frame->hd.type == NGHTTP2_WINDOW_UPDATE) ++client->window_updates;
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* self) {
          static_cast<TestClient*>(self)->answers[id].body.append(reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, int32_t id, uint32_t error, void* self) {
          Answer& answer = static_cast<TestClient*>(self)->answers[id];
          answer.closed = true;
          answer.error = error;
          return 0;
        });
    nghttp2_option* option;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, auto_window ? 0 : 1);
    nghttp2_option_set_peer_max_concurrent_streams(option, 100'000);
    nghttp2_session_client_new2(&session, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 1);
  }
  ~TestClient() { nghttp2_session_del(session); }

  static std::string framed(std::string_view message, char flag = 0) {
    std::string out(1, flag);
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(message.size() >> shift));
    return out.append(message);
  }

  // Submits a request with the raw `body`; `extra` replaces or adds headers (an empty value takes one away).
  int32_t request(const std::string& path, std::string body, const HeaderList& extra = {}, bool open = false) {
    HeaderList list = {{":method", "POST"},           {":scheme", "http"}, {":path", path},
                       {":authority", "drover.test"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
    for (const auto& [name, value] : extra) {
      auto same = std::find_if(list.begin(), list.end(), [&, n = name](auto& h) { return h.first == n; });
      if (same == list.end()) {
        list.emplace_back(name, value);
      } else if (value.empty()) {
        list.erase(same);
      } else {
        same->second = value;
      }
    }
    std::vector<nghttp2_nv> nv;
    for (const auto& [name, value] : list) {
      nv.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                    reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), 0});
    }
    outgoing_.push_back(std::make_unique<Outgoing>(Outgoing{std::move(body), 0, open}));
    nghttp2_data_provider provider;
    provider.source.ptr = outgoing_.back().get();
    provider.read_callback = [](nghttp2_session*, int32_t, uint8_t* buffer, size_t room, uint32_t* flags,
                                nghttp2_data_source* source, void*) -> ssize_t {
      auto* out = static_cast<Outgoing*>(source->ptr);
      size_t n = std::min(room, out->body.size() - out->at);
      std::copy_n(out->body.data() + out->at, n, buffer);
      out->at += n;
      if (out->at == out->body.size()) {
        if (out->open && n == 0) return NGHTTP2_ERR_DEFERRED;
        if (!out->open) *flags |= NGHTTP2_DATA_FLAG_EOF;
      }
      return static_cast<ssize_t>(n);
    };
    int32_t id = nghttp2_submit_request(session, nullptr, nv.data(), nv.size(), &provider, nullptr);
    by_id_[id] = outgoing_.back().get();
    return id;
  }
  // More of the body of a request that is open.
  void send(int32_t id, std::string_view bytes) {
    by_id_.at(id)->body.append(bytes);
    nghttp2_session_resume_data(session, id);
  }
  void half_close(int32_t id) {
    by_id_.at(id)->open = false;
    nghttp2_session_resume_data(session, id);
  }
  int32_t call(const std::string& path, std::string_view message, const HeaderList& extra = {}) {
    return request(path, framed(message), extra);
  }

  std::string take_bytes() {
    std::string bytes;
    const uint8_t* data;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(session, &data)) > 0)
      bytes.append(reinterpret_cast<const char*>(data), static_cast<size_t>(n));
    return bytes;
  }
  // Moves bytes both ways until nothing moves. `step`: how the client's bytes are cut.
  void pump(size_t step = SIZE_MAX) {
    while (true) {
      std::string bytes = take_bytes();
      rig_.receive(bytes, step);
      rig_.flush();
      std::string back = std::exchange(rig_.sent, {});
      if (bytes.empty() && back.empty()) return;
      ssize_t used = nghttp2_session_mem_recv(session, reinterpret_cast<const uint8_t*>(back.data()), back.size());
      if (used < 0) {
        broken = nghttp2_strerror(static_cast<int>(used));
        return;
      }
    }
  }
  Answer& operator[](int32_t id) { return answers[id]; }

  nghttp2_session* session;
  std::map<int32_t, Answer> answers;
  std::vector<std::pair<int32_t, uint32_t>> goaways;  // last stream, error
  int window_updates = 0;
  std::string broken;

 private:
  Rig& rig_;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
  std::map<int32_t, Outgoing*> by_id_;
};

}  // namespace drover::engine
