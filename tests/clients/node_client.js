// The stock gRPC client for Node against drover.testing.TestService:
//   node node_client.js ADDRESS PROTO CALLS     prints "N passed, M failed"
'use strict';
const path = require('path');
const {createRequire} = require('module');
const here = createRequire(path.resolve(__dirname, '../../tools/node/package.json'));
const grpc = here('@grpc/grpc-js');
const loader = here('@grpc/proto-loader');

const [address, proto, calls] = process.argv.slice(2);
const {drover} = grpc.loadPackageDefinition(loader.loadSync(proto, {longs: Number, defaults: true}));
const client = new drover.testing.TestService(address, grpc.credentials.createInsecure());

let passed = 0;
let failed = 0;
function check(what, good) {
  if (good) {
    passed++;
  } else {
    failed++;
    console.error('failed: ' + what);
  }
}

function echo(i) {
  const payload = Buffer.alloc((i * 977) % 70000, i % 256);
  return new Promise((resolve) => {
    client.echo({payload, text: 'call ' + i, counts: {a: i}, words: ['x', 'y']}, (error, reply) => {
      check('echo ' + i + ' ' + error, !error && reply.text === 'call ' + i && payload.equals(reply.payload) &&
            reply.counts.a === i && reply.words.length === 2);
      resolve();
    });
  });
}

function fails() {
  return new Promise((resolve) => {
    client.fail({code: 5, message: 'nicht da: ü'}, (error) => {
      check('fail', error && error.code === 5 && error.details === 'nicht da: ü');
      resolve();
    });
  });
}

function deadline() {
  return new Promise((resolve) => {
    client.sleep({millis: 10000}, {deadline: Date.now() + 200}, (error) => {
      check('deadline', error && error.code === grpc.status.DEADLINE_EXCEEDED);
      resolve();
    });
  });
}

async function main() {
  const all = [fails(), deadline()];
  for (let i = 0; i < Number(calls); i++) all.push(echo(i));
  await Promise.all(all);
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}
main();
