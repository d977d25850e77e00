// A connection's calls in the binary log (engine/binary_log/call_logger.h). Only of calls whose `log` has limits.
#include "engine/grpc/grpc_connection.h"

namespace drover::engine {

// As its headers have come, refused or not. A token that the engine checks is out of them already, unless hosts get it.
void GrpcConnection::begin_log_of(CallStream& stream, const RequestHead& head, int64_t timeout_ns) {
  context_.log->begin({head.path, head.authority, peer_.address, head.metadata, timeout_ns}, stream.log);
}

void GrpcConnection::refuse_head(CallStream& stream, const RequestHead& head, int64_t timeout_ns, const Status& error) {
  if (context_.log != nullptr) begin_log_of(stream, head, timeout_ns);
  refuse(stream, error);
}

void GrpcConnection::log_request(CallStream& stream, std::string_view message) {
  const Piece piece{message.data(), message.size()};
  context_.log->message(stream.log, binlog::Event::kClientMessage, {&piece, 1}, message.size());
}

void GrpcConnection::log_half_close(CallStream& stream) { context_.log->half_close(stream.log); }

// The next step of the reply, before it changes the stream.
void GrpcConnection::log_reply(CallStream& stream, const Reply& reply) {
  const bool body = reply.has_message && (!reply.ends || reply.code == StatusCode::kOk);
  const bool headers_sent =
      stream.headers_sent || (stream.reply_streams && stream.io != nullptr && stream.io->headers_sent);
  // Otherwise all there is to the reply is a status, in one block.
  const bool has_headers =
      !reply.ends || body || !reply.initial.empty() || (stream.reply_streams && reply.code == StatusCode::kOk);
  if (!headers_sent && has_headers) context_.log->server_header(stream.log, reply.initial);
  if (body) context_.log->message(stream.log, binlog::Event::kServerMessage, reply.message, reply.message_size);
  if (reply.ends) context_.log->server_trailer(stream.log, reply);
}

// The call is over. A call that got no status, or whose client did not wait for all of it, was cancelled.
void GrpcConnection::end_log_of(CallStream& stream) {
  if (!stream.log.has_trailer || stream.failed || stream.log.given_up) context_.log->cancel(stream.log);
  stream.log = {};
}

}  // namespace drover::engine
