// The stock Node client (@grpc/grpc-js) of the common interop cases:
//
//   node interop_client.js ADDRESS CASE [CA_FILE]
//
// Ends with 0, or with 1 and what was wrong. With CA_FILE it speaks TLS. tests/clients/README.md describes the cases.
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const {createRequire} = require('module');
const here = createRequire(path.resolve(__dirname, '../../tools/node/package.json'));
const grpc = here('@grpc/grpc-js');
const loader = here('@grpc/proto-loader');

const [address, name, caFile] = process.argv.slice(2);
const credentials = caFile ? grpc.credentials.createSsl(fs.readFileSync(caFile)) : grpc.credentials.createInsecure();
const proto = path.resolve(__dirname, '../interop/interop.proto');
const {testing} = grpc.loadPackageDefinition(loader.loadSync(proto, {defaults: true, keepCase: true})).grpc;
const channel = new grpc.Channel(address, credentials, {});
const connect = (Service, channelOverride = channel) => new Service(address, credentials, {channelOverride});
const stub = connect(testing.TestService);
const echo = connect(testing.EchoService);

const INITIAL = 'x-grpc-test-echo-initial';
const TRAILING = 'x-grpc-test-echo-trailing-bin';
const SPECIAL = '\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n';
const PATIENCE_MS = 30000;
const CONCURRENT = 300;

const within = (milliseconds = PATIENCE_MS) => ({deadline: Date.now() + milliseconds});
const zeros = (size) => ({body: Buffer.alloc(size)});
const asking = (sizes, payload = 0, response_status = null) =>
  ({response_parameters: sizes.map((size) => ({size})), payload: zeros(payload), response_status});
const bodies = (replies) => replies.map((reply) => reply.payload.body);

// Resolves to {call, error, replies, initial, trailing, status} when a call that `start` begins has ended; `start` gets
// a unary call's callback. `onReply` sees each reply of a stream, and the call.
function ended(start, onReply = () => {}) {
  return new Promise((resolve) => {
    const result = {error: null, replies: []};
    const call = start((error, reply) => {
      result.error = error;
      if (reply) result.replies.push(reply);
    });
    call.on('metadata', (initial) => { result.initial = initial; });
    call.on('data', (reply) => {
      result.replies.push(reply);
      onReply(reply, call);
    });
    call.on('error', (error) => { result.error = error; });
    // A unary call's callback comes with the status, before or after it.
    call.on('status', (status) => setImmediate(() => {
      resolve({...result, call, status, trailing: status.metadata});
    }));
  });
}

async function succeeds(start, onReply) {
  const result = await ended(start, onReply);
  if (result.error) throw result.error;
  assert.strictEqual(result.status.code, grpc.status.OK, 'status');
  return result;
}

async function fails(start, code, message, onReply) {
  const {error, status} = await ended(start, onReply);
  assert.ok(error, 'the call did not fail');
  assert.strictEqual(error.code, code, 'status');
  assert.strictEqual(status.code, code, 'status');
  if (message !== undefined) assert.strictEqual(error.details, message, 'message');
}

// A stream of requests, all written at once.
function sending(call, requests) {
  for (const request of requests) call.write(request);
  call.end();
  return call;
}

async function emptyUnary() {
  const {replies} = await succeeds((done) => stub.EmptyCall({}, within(), done));
  assert.strictEqual(replies.length, 1);
}

async function status(code, message) {
  const response_status = {code, message};
  await fails((done) => stub.UnaryCall({response_status}, within(), done), code, message);
  await fails(() => sending(stub.FullDuplexCall(within()), [asking([], 0, response_status)]), code, message);
}

function echoed(result, initial, trailing, what) {
  assert.deepStrictEqual(result.initial.get(INITIAL), [initial], `initial metadata of ${what}`);
  assert.deepStrictEqual(result.trailing.get(TRAILING), [trailing], `trailing metadata of ${what}`);
}

// A stub whose requests are compressed, or not: @grpc/grpc-js has that by channel.
function stubThat(compresses) {
  if (!compresses) return stub;
  const options = {'grpc.default_compression_algorithm': grpc.compressionAlgorithms.gzip};
  return connect(testing.TestService, new grpc.Channel(address, credentials, options));
}

function metadataOf(initial, trailing) {
  const metadata = new grpc.Metadata();
  metadata.set(INITIAL, initial);
  metadata.set(TRAILING, trailing);
  return metadata;
}

const cases = {
  empty_unary: emptyUnary,

  async large_unary() {
    const request = {response_size: 314159, payload: zeros(271828)};
    const {replies} = await succeeds((done) => stub.UnaryCall(request, within(), done));
    assert.deepStrictEqual(bodies(replies), [Buffer.alloc(314159)]);
  },

  async client_streaming() {
    const requests = [27182, 8, 1828, 45904].map((size) => ({payload: zeros(size)}));
    const {replies} = await succeeds((done) => sending(stub.StreamingInputCall(within(), done), requests));
    assert.strictEqual(replies[0].aggregated_payload_size, 74922);
  },

  async server_streaming() {
    const sizes = [31415, 9, 2653, 58979];
    const {replies} = await succeeds(() => stub.StreamingOutputCall(asking(sizes), within()));
    assert.deepStrictEqual(bodies(replies), sizes.map((size) => Buffer.alloc(size)));
  },

  async ping_pong() {
    const rounds = [[27182, 31415], [8, 9], [1828, 2653], [45904, 58979]];
    const next = (call, [sent, asked]) => call.write(asking([asked], sent));
    let seen = 0;
    const {replies} = await succeeds(() => {
      const call = stub.FullDuplexCall(within());
      next(call, rounds[0]);
      return call;
    }, (reply, call) => ++seen < rounds.length ? next(call, rounds[seen]) : call.end());
    assert.deepStrictEqual(bodies(replies), rounds.map(([, asked]) => Buffer.alloc(asked)));
  },

  async empty_stream() {
    const {replies} = await succeeds(() => sending(stub.FullDuplexCall(within()), []));
    assert.strictEqual(replies.length, 0);
  },

  status_code_and_message: () => status(grpc.status.UNKNOWN, 'test status message'),

  special_status_message: () => status(grpc.status.UNKNOWN, SPECIAL),

  async custom_metadata() {
    const initial = 'test_initial_metadata_value';
    const trailing = Buffer.from([0xab, 0xab, 0xab]);
    const sent = metadataOf(initial, trailing);
    const unary = await succeeds((done) => stub.UnaryCall({response_size: 1}, sent, within(), done));
    echoed(unary, initial, trailing, 'unary');
    const stream = await succeeds(() => sending(stub.FullDuplexCall(sent, within()), [asking([1])]));
    assert.strictEqual(stream.replies.length, 1);
    echoed(stream, initial, trailing, 'stream');
  },

  async cancel_after_begin() {
    await fails((done) => {
      const call = stub.StreamingInputCall(within(), done);
      setImmediate(() => call.cancel());
      return call;
    }, grpc.status.CANCELLED);
    await emptyUnary();
  },

  async cancel_after_first_response() {
    await fails(() => {
      const call = stub.FullDuplexCall(within());
      call.write(asking([31415], 27182));
      return call;
    }, grpc.status.CANCELLED, undefined, (reply, call) => {
      assert.deepStrictEqual(reply.payload.body, Buffer.alloc(31415));
      call.cancel();
    });
    await emptyUnary();
  },

  async timeout_on_sleeping_server() {
    await emptyUnary();  // the deadline is to begin on a channel that is connected
    const began = Date.now();
    await fails(() => {
      const call = stub.FullDuplexCall(within(200));
      call.write({response_parameters: [{size: 1, interval_us: 2000000}], payload: zeros(27182)});
      return call;
    }, grpc.status.DEADLINE_EXCEEDED);
    assert.ok(Date.now() - began < 1500, 'an end at the deadline');
    await emptyUnary();
  },

  async client_compressed_unary() {
    for (const compressed of [true, false]) {
      const request = {expect_compressed: {value: compressed}, response_size: 314159, payload: zeros(271828)};
      const {replies} = await succeeds((done) => stubThat(compressed).UnaryCall(request, within(), done));
      assert.deepStrictEqual(bodies(replies), [Buffer.alloc(314159)]);
    }
  },

  async client_compressed_streaming() {
    for (const compressed of [true, false]) {
      const requests = [27182, 45904].map((size) => ({expect_compressed: {value: compressed}, payload: zeros(size)}));
      const {replies} = await succeeds(
        (done) => sending(stubThat(compressed).StreamingInputCall(within(), done), requests));
      assert.strictEqual(replies[0].aggregated_payload_size, 73086);
    }
  },

  async server_compressed_unary() {
    for (const [value, size] of [[true, 314159], [false, 92653]]) {
      const request = {response_compressed: {value}, response_size: size};
      const {replies} = await succeeds((done) => stub.UnaryCall(request, within(), done));
      assert.deepStrictEqual(bodies(replies), [Buffer.alloc(size)]);
    }
  },

  async server_compressed_streaming() {
    const wanted = [[true, 31415], [false, 92653]];
    const request = {response_parameters: wanted.map(([value, size]) => ({size, compressed: {value}}))};
    const {replies} = await succeeds(() => stub.StreamingOutputCall(request, within()));
    assert.deepStrictEqual(bodies(replies), wanted.map(([, size]) => Buffer.alloc(size)));
  },

  unimplemented_method: () => fails((done) => stub.UnimplementedCall({}, within(), done), grpc.status.UNIMPLEMENTED),

  unimplemented_service() {
    const absent = connect(testing.UnimplementedService);
    return fails((done) => absent.UnimplementedCall({}, within(), done), grpc.status.UNIMPLEMENTED);
  },

  async concurrent_unary() {
    await Promise.all(Array.from({length: CONCURRENT}, async (_, i) => {
      const body = Buffer.from(`call ${i} `.repeat(1 + i * 37 % 2000));
      const trailing = Buffer.from(`trailing ${i}`);
      const result = await succeeds((done) => echo.Echo({body}, metadataOf(`initial ${i}`, trailing), within(), done));
      assert.deepStrictEqual(result.replies.map((reply) => reply.body), [body]);
      echoed(result, `initial ${i}`, trailing, `call ${i}`);
    }));
  },

  async concurrent_streams() {
    await Promise.all(Array.from({length: CONCURRENT}, async (_, i) => {
      const text = (j) => `stream ${i} message ${j} `.repeat(1 + (i * 31 + j * 7) % 500);
      const sent = Array.from({length: 5}, (_, j) => Buffer.from(text(j)));
      const {replies} = await succeeds(() => sending(echo.EchoStream(within()), sent.map((body) => ({body}))));
      assert.deepStrictEqual(replies.map((reply) => reply.body), sent);
    }));
  },
};

// An assertion's message may hold whole payloads.
function report(error) {
  console.error(`${name}: ${String(error.message).slice(0, 1000)}`);
  process.exit(1);
}

process.on('uncaughtException', report);
if (!Object.hasOwn(cases, name)) report(new Error('there is no such case'));
cases[name]().then(() => process.exit(0), report);
