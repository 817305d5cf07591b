'use strict';
// Evaluates what comes from the test's socket, a JSON line at a time, beside the extension's client part.
const net = require('node:net');

const { Client, find } = require(`${process.argv[2]}/client.js`);
const text = require(`${process.argv[2]}/text.js`);

const heard = [];
const client = new Client(process.cwd(), 'VS Code');
for (const name of ['open', 'lost', 'fault']) client.on(name, (what) => heard.push([name, what && (what.message || what)]));
client.on('event', (method, params) => heard.push([method, params]));

const AsyncFunction = (async () => {}).constructor;
const peer = net.connect(process.env.DRIVER_SOCKET);
let rest = '';

async function run(line) {
  let answer;
  try {
    const code = new AsyncFunction('client', 'find', 'text', 'heard', JSON.parse(line).code);
    answer = { ok: true, result: (await code(client, find, text, heard)) ?? null };
  } catch (fault) {
    answer = { ok: false, result: `${fault.name}: ${fault.message}` };
  }
  peer.write(`${JSON.stringify(answer)}\n`);
}

peer.setEncoding('utf8');
peer.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  lines.forEach(run);
});
peer.on('close', () => process.exit(0));
