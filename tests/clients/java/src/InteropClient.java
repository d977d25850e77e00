import com.google.protobuf.ByteString;
import grpc.testing.EchoServiceGrpc;
import grpc.testing.Interop.BoolValue;
import grpc.testing.Interop.Empty;
import grpc.testing.Interop.EchoStatus;
import grpc.testing.Interop.Payload;
import grpc.testing.Interop.ResponseParameters;
import grpc.testing.Interop.SimpleRequest;
import grpc.testing.Interop.StreamingInputCallRequest;
import grpc.testing.Interop.StreamingInputCallResponse;
import grpc.testing.Interop.StreamingOutputCallRequest;
import grpc.testing.Interop.StreamingOutputCallResponse;
import grpc.testing.TestServiceGrpc;
import grpc.testing.UnimplementedServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The stock Java client (grpc-java) of the common interop cases:
 *
 * <pre>InteropClient ADDRESS CASE [CA_FILE]</pre>
 *
 * Ends with 0, or with 1 and what was wrong. With CA_FILE it speaks TLS. tests/clients/README.md describes the cases.
 */
public final class InteropClient {
  private static final Metadata.Key<String> INITIAL =
      Metadata.Key.of("x-grpc-test-echo-initial", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<byte[]> TRAILING =
      Metadata.Key.of("x-grpc-test-echo-trailing-bin", Metadata.BINARY_BYTE_MARSHALLER);
  private static final String SPECIAL =
      "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \ud83d\ude08\t\n";
  private static final long PATIENCE_MS = 30_000;
  private static final int CONCURRENT = 300;

  private interface Case {
    void run() throws Exception;
  }

  /** What a client can see of one call. Replies are taken with next(); null is the end of the stream. */
  private static final class Call<Q, R> extends ClientCall.Listener<R> {
    private static final Object END = new Object();

    private final ClientCall<Q, R> call;
    private final BlockingQueue<Object> replies = new LinkedBlockingQueue<>();
    private final CompletableFuture<Status> status = new CompletableFuture<>();
    private volatile Metadata initial = new Metadata();
    private volatile Metadata trailing = new Metadata();

    Call(Channel channel, MethodDescriptor<Q, R> method, Metadata sent, long deadlineMs) {
      this(channel, method, CallOptions.DEFAULT, sent, deadlineMs);
    }

    Call(Channel channel, MethodDescriptor<Q, R> method, CallOptions options, Metadata sent, long deadlineMs) {
      call = channel.newCall(method, options.withDeadlineAfter(deadlineMs, TimeUnit.MILLISECONDS));
      call.start(this, sent);
      call.request(1);
    }

    void send(Q request) {
      call.sendMessage(request);
    }

    void close() {
      call.halfClose();
    }

    void cancel() {
      call.cancel("the case cancels it", null);
    }

    @SuppressWarnings("unchecked")
    R next() throws Exception {
      Object reply = replies.poll(2 * PATIENCE_MS, TimeUnit.MILLISECONDS);
      if (reply == null) throw new AssertionError("neither a reply nor the end");
      if (reply == END) return null;
      call.request(1);
      return (R) reply;
    }

    List<R> rest() throws Exception {
      List<R> all = new ArrayList<>();
      for (R reply = next(); reply != null; reply = next()) all.add(reply);
      return all;
    }

    /** The status, after the replies. */
    Status ended() throws Exception {
      return status.get(2 * PATIENCE_MS, TimeUnit.MILLISECONDS);
    }

    List<R> succeeds() throws Exception {
      List<R> all = rest();
      if (!ended().isOk()) throw new AssertionError("status: " + ended());
      return all;
    }

    @Override
    public void onHeaders(Metadata headers) {
      initial = headers;
    }

    @Override
    public void onMessage(R reply) {
      replies.add(reply);
    }

    @Override
    public void onClose(Status end, Metadata trailers) {
      trailing = trailers;
      status.complete(end);
      replies.add(END);
    }
  }

  private final Channel channel;
  private final Map<String, Case> cases = new TreeMap<>();

  private InteropClient(Channel channel) {
    this.channel = channel;
    cases.put("empty_unary", this::emptyUnary);
    cases.put("large_unary", this::largeUnary);
    cases.put("client_streaming", this::clientStreaming);
    cases.put("server_streaming", this::serverStreaming);
    cases.put("ping_pong", this::pingPong);
    cases.put("empty_stream", this::emptyStream);
    cases.put("status_code_and_message", () -> status("test status message"));
    cases.put("special_status_message", () -> status(SPECIAL));
    cases.put("custom_metadata", this::customMetadata);
    cases.put("cancel_after_begin", this::cancelAfterBegin);
    cases.put("cancel_after_first_response", this::cancelAfterFirstResponse);
    cases.put("timeout_on_sleeping_server", this::timeoutOnSleepingServer);
    cases.put("client_compressed_unary", this::clientCompressedUnary);
    cases.put("client_compressed_streaming", this::clientCompressedStreaming);
    cases.put("server_compressed_unary", this::serverCompressedUnary);
    cases.put("server_compressed_streaming", this::serverCompressedStreaming);
    cases.put("unimplemented_method", () -> unimplemented(TestServiceGrpc.getUnimplementedCallMethod()));
    cases.put("unimplemented_service", () -> unimplemented(UnimplementedServiceGrpc.getUnimplementedCallMethod()));
    cases.put("concurrent_unary", this::concurrentUnary);
    cases.put("concurrent_streams", this::concurrentStreams);
  }

  private static void expect(Object actual, Object wanted, String what) {
    if (Objects.equals(actual, wanted)) return;
    throw new AssertionError(what + ": " + shortened(actual) + ", not " + shortened(wanted));
  }

  private static String shortened(Object value) {
    String text = String.valueOf(value);
    return text.length() > 200 ? text.substring(0, 200) + "..." : text;
  }

  private static ByteString zeros(int size) {
    return ByteString.copyFrom(new byte[size]);
  }

  private static Payload payload(ByteString body) {
    return Payload.newBuilder().setBody(body).build();
  }

  private static List<ByteString> zeros(int... sizes) {
    return Arrays.stream(sizes).mapToObj(size -> zeros(size)).toList();
  }

  private static List<ByteString> bodies(List<StreamingOutputCallResponse> replies) {
    return replies.stream().map(reply -> reply.getPayload().getBody()).toList();
  }

  private static StreamingOutputCallRequest.Builder asking(int sent, int... sizes) {
    StreamingOutputCallRequest.Builder request =
        StreamingOutputCallRequest.newBuilder().setPayload(payload(zeros(sent)));
    for (int size : sizes) request.addResponseParameters(ResponseParameters.newBuilder().setSize(size));
    return request;
  }

  private <Q, R> Call<Q, R> begin(MethodDescriptor<Q, R> method) {
    return new Call<>(channel, method, new Metadata(), PATIENCE_MS);
  }

  private <Q, R> Call<Q, R> send(MethodDescriptor<Q, R> method, Metadata sent, List<Q> requests) {
    return send(new Call<>(channel, method, sent, PATIENCE_MS), requests);
  }

  private <Q, R> Call<Q, R> sendCompressed(boolean compressed, MethodDescriptor<Q, R> method, List<Q> requests) {
    CallOptions options = compressed ? CallOptions.DEFAULT.withCompression("gzip") : CallOptions.DEFAULT;
    return send(new Call<>(channel, method, options, new Metadata(), PATIENCE_MS), requests);
  }

  private static <Q, R> Call<Q, R> send(Call<Q, R> call, List<Q> requests) {
    requests.forEach(call::send);
    call.close();
    return call;
  }

  private <Q, R> Call<Q, R> send(MethodDescriptor<Q, R> method, List<Q> requests) {
    return send(method, new Metadata(), requests);
  }

  private static void fails(Call<?, ?> call, Status.Code code, String message) throws Exception {
    call.rest();
    expect(call.ended().getCode(), code, "status");
    if (message != null) expect(call.ended().getDescription(), message, "message");
  }

  private static Metadata metadata(String initial, byte[] trailing) {
    Metadata sent = new Metadata();
    sent.put(INITIAL, initial);
    sent.put(TRAILING, trailing);
    return sent;
  }

  private static void echoed(Call<?, ?> call, String initial, byte[] trailing, String what) {
    expect(call.initial.get(INITIAL), initial, "initial metadata of " + what);
    if (!Arrays.equals(call.trailing.get(TRAILING), trailing)) {
      throw new AssertionError("trailing metadata of " + what + ": " + Arrays.toString(call.trailing.get(TRAILING)));
    }
  }

  private void emptyUnary() throws Exception {
    Empty empty = Empty.getDefaultInstance();
    expect(send(TestServiceGrpc.getEmptyCallMethod(), List.of(empty)).succeeds(), List.of(empty), "reply");
  }

  private void largeUnary() throws Exception {
    SimpleRequest request =
        SimpleRequest.newBuilder().setResponseSize(314159).setPayload(payload(zeros(271828))).build();
    var replies = send(TestServiceGrpc.getUnaryCallMethod(), List.of(request)).succeeds();
    expect(replies.size(), 1, "replies");
    expect(replies.get(0).getPayload().getBody(), zeros(314159), "reply");
  }

  private void clientStreaming() throws Exception {
    List<StreamingInputCallRequest> requests = zeros(27182, 8, 1828, 45904).stream()
        .map(body -> StreamingInputCallRequest.newBuilder().setPayload(payload(body)).build()).toList();
    var wanted = StreamingInputCallResponse.newBuilder().setAggregatedPayloadSize(74922).build();
    expect(send(TestServiceGrpc.getStreamingInputCallMethod(), requests).succeeds(), List.of(wanted), "reply");
  }

  private void serverStreaming() throws Exception {
    int[] sizes = {31415, 9, 2653, 58979};
    var call = send(TestServiceGrpc.getStreamingOutputCallMethod(), List.of(asking(0, sizes).build()));
    expect(bodies(call.succeeds()), zeros(sizes), "replies");
  }

  private void pingPong() throws Exception {
    var call = begin(TestServiceGrpc.getFullDuplexCallMethod());
    for (int[] round : new int[][] {{27182, 31415}, {8, 9}, {1828, 2653}, {45904, 58979}}) {
      call.send(asking(round[0], round[1]).build());
      var reply = call.next();
      if (reply == null) throw new AssertionError("the stream ended: " + call.ended());
      expect(reply.getPayload().getBody(), zeros(round[1]), "reply");
    }
    call.close();
    expect(call.succeeds(), List.of(), "replies after the end");
  }

  private void emptyStream() throws Exception {
    expect(send(TestServiceGrpc.getFullDuplexCallMethod(), List.of()).succeeds(), List.of(), "replies");
  }

  private void status(String message) throws Exception {
    EchoStatus status = EchoStatus.newBuilder().setCode(Status.Code.UNKNOWN.value()).setMessage(message).build();
    SimpleRequest request = SimpleRequest.newBuilder().setResponseStatus(status).build();
    fails(send(TestServiceGrpc.getUnaryCallMethod(), List.of(request)), Status.Code.UNKNOWN, message);
    fails(send(TestServiceGrpc.getFullDuplexCallMethod(), List.of(asking(0).setResponseStatus(status).build())),
        Status.Code.UNKNOWN, message);
  }

  private void customMetadata() throws Exception {
    String initial = "test_initial_metadata_value";
    byte[] trailing = {(byte) 0xab, (byte) 0xab, (byte) 0xab};
    SimpleRequest request = SimpleRequest.newBuilder().setResponseSize(1).build();
    var unary = send(TestServiceGrpc.getUnaryCallMethod(), metadata(initial, trailing), List.of(request));
    expect(unary.succeeds().size(), 1, "replies");
    echoed(unary, initial, trailing, "unary");
    var stream = send(
        TestServiceGrpc.getFullDuplexCallMethod(), metadata(initial, trailing), List.of(asking(0, 1).build()));
    expect(stream.succeeds().size(), 1, "replies");
    echoed(stream, initial, trailing, "stream");
  }

  private void cancelAfterBegin() throws Exception {
    var call = begin(TestServiceGrpc.getStreamingInputCallMethod());
    call.cancel();
    fails(call, Status.Code.CANCELLED, null);
    emptyUnary();
  }

  private void cancelAfterFirstResponse() throws Exception {
    var call = begin(TestServiceGrpc.getFullDuplexCallMethod());
    call.send(asking(27182, 31415).build());
    var reply = call.next();
    if (reply == null) throw new AssertionError("the stream ended: " + call.ended());
    expect(reply.getPayload().getBody(), zeros(31415), "reply");
    call.cancel();
    fails(call, Status.Code.CANCELLED, null);
    emptyUnary();
  }

  private void timeoutOnSleepingServer() throws Exception {
    emptyUnary(); // The deadline is to begin on a channel that is connected.
    long began = System.nanoTime();
    var call = new Call<>(channel, TestServiceGrpc.getFullDuplexCallMethod(), new Metadata(), 200);
    call.send(asking(27182)
        .addResponseParameters(ResponseParameters.newBuilder().setSize(1).setIntervalUs(2_000_000)).build());
    fails(call, Status.Code.DEADLINE_EXCEEDED, null);
    expect(System.nanoTime() - began < 1_500_000_000L, true, "an end at the deadline");
    emptyUnary();
  }

  private static BoolValue.Builder flag(boolean value) {
    return BoolValue.newBuilder().setValue(value);
  }

  private void clientCompressedUnary() throws Exception {
    for (boolean compressed : new boolean[] {true, false}) {
      SimpleRequest request = SimpleRequest.newBuilder().setExpectCompressed(flag(compressed)).setResponseSize(314159)
          .setPayload(payload(zeros(271828))).build();
      var replies = sendCompressed(compressed, TestServiceGrpc.getUnaryCallMethod(), List.of(request)).succeeds();
      expect(replies.size(), 1, "replies");
      expect(replies.get(0).getPayload().getBody(), zeros(314159), "reply");
    }
  }

  private void clientCompressedStreaming() throws Exception {
    var wanted = StreamingInputCallResponse.newBuilder().setAggregatedPayloadSize(73086).build();
    for (boolean compressed : new boolean[] {true, false}) {
      List<StreamingInputCallRequest> requests = zeros(27182, 45904).stream()
          .map(body -> StreamingInputCallRequest.newBuilder().setExpectCompressed(flag(compressed))
              .setPayload(payload(body)).build()).toList();
      var call = sendCompressed(compressed, TestServiceGrpc.getStreamingInputCallMethod(), requests);
      expect(call.succeeds(), List.of(wanted), "reply");
    }
  }

  private void serverCompressedUnary() throws Exception {
    for (var size : Map.of(true, 314159, false, 92653).entrySet()) {
      SimpleRequest request = SimpleRequest.newBuilder().setResponseCompressed(flag(size.getKey()))
          .setResponseSize(size.getValue()).build();
      var replies = send(TestServiceGrpc.getUnaryCallMethod(), List.of(request)).succeeds();
      expect(replies.size(), 1, "replies");
      expect(replies.get(0).getPayload().getBody(), zeros(size.getValue()), "reply");
    }
  }

  private void serverCompressedStreaming() throws Exception {
    var request = StreamingOutputCallRequest.newBuilder()
        .addResponseParameters(ResponseParameters.newBuilder().setSize(31415).setCompressed(flag(true)))
        .addResponseParameters(ResponseParameters.newBuilder().setSize(92653).setCompressed(flag(false))).build();
    var call = send(TestServiceGrpc.getStreamingOutputCallMethod(), List.of(request));
    expect(bodies(call.succeeds()), zeros(31415, 92653), "replies");
  }

  private void unimplemented(MethodDescriptor<Empty, Empty> method) throws Exception {
    fails(send(method, List.of(Empty.getDefaultInstance())), Status.Code.UNIMPLEMENTED, null);
  }

  private void concurrentUnary() throws Exception {
    List<ByteString> bodies = new ArrayList<>();
    List<Call<Payload, Payload>> calls = new ArrayList<>();
    for (int i = 0; i < CONCURRENT; i++) {
      bodies.add(ByteString.copyFromUtf8(("call " + i + " ").repeat(1 + i * 37 % 2000)));
      calls.add(send(EchoServiceGrpc.getEchoMethod(), metadata("initial " + i, trailing(i)),
          List.of(payload(bodies.get(i)))));
    }
    for (int i = 0; i < CONCURRENT; i++) {
      expect(calls.get(i).succeeds(), List.of(payload(bodies.get(i))), "reply " + i);
      echoed(calls.get(i), "initial " + i, trailing(i), "call " + i);
    }
  }

  private static byte[] trailing(int i) {
    return ("trailing " + i).getBytes(StandardCharsets.UTF_8);
  }

  private void concurrentStreams() throws Exception {
    List<List<Payload>> sent = new ArrayList<>();
    List<Call<Payload, Payload>> calls = new ArrayList<>();
    for (int i = 0; i < CONCURRENT; i++) {
      List<Payload> payloads = new ArrayList<>();
      for (int j = 0; j < 5; j++) {
        String text = "stream " + i + " message " + j + " ";
        payloads.add(payload(ByteString.copyFromUtf8(text.repeat(1 + (i * 31 + j * 7) % 500))));
      }
      sent.add(payloads);
      calls.add(send(EchoServiceGrpc.getEchoStreamMethod(), payloads));
    }
    for (int i = 0; i < CONCURRENT; i++) expect(calls.get(i).succeeds(), sent.get(i), "replies of stream " + i);
  }

  public static void main(String[] arguments) throws Exception {
    ChannelCredentials credentials = arguments.length > 2
        ? TlsChannelCredentials.newBuilder().trustManager(new File(arguments[2])).build()
        : InsecureChannelCredentials.create();
    ManagedChannel channel = Grpc.newChannelBuilder(arguments[0], credentials).build();
    Case chosen = new InteropClient(channel).cases.get(arguments[1]);
    try {
      if (chosen == null) throw new AssertionError("there is no such case");
      chosen.run();
    } catch (AssertionError | Exception error) {
      System.err.println(arguments[1] + ": " + error);
      System.exit(1);
    }
    channel.shutdownNow();
    System.exit(0);
  }
}
