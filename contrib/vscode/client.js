'use strict';
// The link to the operator's socket of a daemon: found as picoclawctl finds it, made again when it is lost.
// Nothing of VS Code is in here, so node alone can test it.

const { EventEmitter } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

const { shown } = require('./text');

const CALL_TIMEOUT_MS = 60_000; // the longest that the daemon takes, a search of a large tree, is half of it
const RETRY_FIRST_MS = 100; // a restart takes the daemon about that long
const RETRY_MAX_MS = 5_000;
const LINE_MAX_BYTES = 64 * 1024 * 1024; // of one answer; the daemon's own bound is far below
const INFO_MAX_BYTES = 64 * 1024; // an info.json is under 1 KiB
const SOCKET_PATH_MAX_BYTES = 107; // sun_path, see unix(7)
const UNMARKED = ['protected_path', 'outside_workspace']; // no agent edits these through the daemon anyway

/** Why a call failed, in words for a person; `slug` and `data` are the daemon's. */
class CallError extends Error {
  constructor(message, data = {}) {
    super(message);
    this.name = 'CallError';
    this.data = data;
    this.slug = data.error;
  }
}

function realpath(name) {
  try {
    return fs.realpathSync(name);
  } catch {
    const parent = path.dirname(name);
    return parent === name ? name : path.join(realpath(parent), path.basename(name));
  }
}

/** Whether a real path is a workspace or below it. */
function holds(workspace, real) {
  if (!workspace) return false;
  return real === workspace || real.startsWith(workspace.endsWith('/') ? workspace : `${workspace}/`);
}

function isOwn(file) {
  try {
    return fs.statSync(file).uid === process.getuid();
  } catch {
    return false;
  }
}

function readInfo(file) {
  try {
    if (!isOwn(file) || fs.statSync(file).size > INFO_MAX_BYTES) return [];
    const info = JSON.parse(fs.readFileSync(file, 'utf8'));
    const socket = info.sockets.operator;
    return [{ workspace: realpath(info.workspace), socket: typeof socket === 'string' ? socket : '' }];
  } catch {
    return []; // not there, or none of ours
  }
}

/** What the info.json of every daemon of this user names: its workspace, and the operator's socket. */
function daemons(env = process.env) {
  const state = env.XDG_STATE_HOME || path.join(os.homedir(), '.local/state');
  const places = [[state, 'run/info.json']];
  if (env.XDG_RUNTIME_DIR) places.unshift([env.XDG_RUNTIME_DIR, 'info.json']);
  return places.flatMap(([directory, tail]) => {
    const parent = path.join(directory, 'picoclawd');
    const names = fs.existsSync(parent) ? fs.readdirSync(parent).sort() : [];
    return names.flatMap((name) => readInfo(path.join(parent, name, tail)));
  });
}

/** The socket of the daemon that serves a directory: `{workspace, socket}`; a CallError that says why there is none. */
function find(place, env = process.env) {
  const named = env.PICOCLAWD_OPERATOR_SOCKET;
  if (named) return { workspace: null, socket: named };
  const best = daemons(env)
    .filter((each) => holds(each.workspace, realpath(place)))
    .sort((a, b) => b.workspace.length - a.workspace.length)[0];
  if (!best) {
    const where = shown(place);
    throw new CallError(`no daemon serves ${where}. Start one with: picoclawd serve --workspace ${where}`);
  }
  if (!best.socket) {
    const where = shown(best.workspace);
    const why = 'daemon.operator_socket is "" in its configuration';
    throw new CallError(`the daemon of ${where} has no operator socket: ${why}`);
  }
  return best;
}

/** Throw a CallError where something speaks against a socket. */
function check(socket) {
  if (Buffer.byteLength(socket) > SOCKET_PATH_MAX_BYTES) {
    throw new CallError(`the socket's path is longer than ${SOCKET_PATH_MAX_BYTES} bytes: ${shown(socket)}`);
  }
  if (!fs.existsSync(socket)) {
    throw new CallError(`no daemon listens at ${shown(socket)}. Start it with: picoclawd serve`);
  }
  if (!fs.statSync(socket).isSocket()) throw new CallError(`${shown(socket)} is no socket`);
  if (!isOwn(socket)) throw new CallError(`${shown(socket)} belongs to another user: it is not used`);
}

/**
 * `new Client(place, name)` stays connected to the daemon that serves the directory `place`, until `stop()`.
 *
 * Emits `open`, `lost` (a sentence), and `event` (method, params) for each notification.
 */
class Client extends EventEmitter {
  constructor(place, name, env = process.env) {
    super();
    this.place = place;
    this.name = name;
    this.env = env;
    this.state = 'down'; // 'down', 'connecting', 'open', 'stopped'
    this.why = 'not connected yet';
    this.workspace = null;
    this.sessionId = null;
    this._retryMs = RETRY_FIRST_MS;
    this._calls = new Map();
    this._lastId = 0;
    this._unsaved = new Set();
    this._marks = new Map(); // by real path: {said, busy}
    this.connect();
  }

  /** Try now, if there is no connection. */
  connect() {
    if (this.state !== 'down') return;
    clearTimeout(this._timer);
    let socket;
    try {
      ({ socket } = find(this.place, this.env));
      check(socket);
    } catch (fault) {
      this._close(fault.message);
      return;
    }
    this.state = 'connecting';
    const peer = net.connect(socket);
    this._peer = peer;
    const isCurrent = () => this._peer === peer;
    peer.on('connect', () => isCurrent() && this._introduce());
    peer.on('error', (fault) => {
      const why = `nobody answers at ${shown(socket)} (${fault.code}). Start the daemon with: picoclawd serve`;
      if (isCurrent()) this._close(why);
    });
    peer.on('close', () => isCurrent() && this._close('the daemon ended the connection'));
    this._listen(peer, isCurrent);
  }

  /** End for good. */
  stop() {
    this._close('stopped');
    this.state = 'stopped';
    clearTimeout(this._timer);
  }

  /** The result of one call. Rejects with a CallError. */
  call(method, params = {}, timeoutMs = CALL_TIMEOUT_MS) {
    if (this.state !== 'open') return Promise.reject(new CallError(this.why));
    return this._send(method, params, timeoutMs);
  }

  /** Say whether a file, by its real path, has unsaved text here. Kept, and said again after a new connection. */
  mark(real, isUnsaved) {
    if (isUnsaved) this._unsaved.add(real);
    else this._unsaved.delete(real);
    this._settle(real);
  }

  _send(method, params, timeoutMs) {
    const id = ++this._lastId;
    return new Promise((resolve, reject) => {
      const late = `${method}: the daemon has not answered in ${timeoutMs / 1000} s. Look at: picoclawctl status`;
      const timer = setTimeout(() => this._answer(id, { message: late }), timeoutMs);
      this._calls.set(id, { resolve, reject, timer });
      this._peer.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  }

  _answer(id, error, result) {
    const call = this._calls.get(id);
    if (!call) return;
    this._calls.delete(id);
    clearTimeout(call.timer);
    if (error) call.reject(new CallError(error.message, error.data));
    else call.resolve(result);
  }

  _listen(peer, isCurrent) {
    let chunks = [];
    let size = 0;
    peer.on('data', (chunk) => {
      let rest = chunk;
      for (let at = rest.indexOf(10); at >= 0 && isCurrent(); at = rest.indexOf(10)) {
        const line = Buffer.concat([...chunks, rest.subarray(0, at)]);
        rest = rest.subarray(at + 1);
        chunks = [];
        size = 0;
        this._take(line);
      }
      chunks.push(rest);
      size += rest.length;
      if (size > LINE_MAX_BYTES && isCurrent()) this._close('an answer has no end');
    });
  }

  _take(line) {
    let message;
    try {
      message = JSON.parse(line.toString('utf8'));
    } catch {
      message = null;
    }
    if (typeof message !== 'object' || message === null) this._close('what listens there does not speak JSON-RPC');
    else if (message.id !== undefined && message.id !== null) this._answer(message.id, message.error, message.result);
    else if (message.method) this.emit('event', message.method, message.params ?? {});
  }

  async _introduce() {
    const peer = this._peer;
    try {
      const session = await this._send('session.open', { client: this.name }, CALL_TIMEOUT_MS);
      this.sessionId = session.session_id;
      this.workspace = realpath(session.workspace);
      await this._send('events.subscribe', { kinds: ['file.changed', 'approval.*'] }, CALL_TIMEOUT_MS);
    } catch (fault) {
      if (this._peer === peer) this._close(`the daemon refused the connection: ${shown(fault.message)}`);
      return;
    }
    this.state = 'open';
    this._retryMs = RETRY_FIRST_MS;
    for (const real of this._unsaved) this._settle(real);
    this.emit('open');
  }

  /** One call at a time for a file: two may overtake each other. */
  async _settle(real) {
    const mark = this._marks.get(real) ?? { said: false, busy: false };
    const wanted = this._unsaved.has(real);
    if (this.state !== 'open' || mark.busy || mark.said === wanted || !holds(this.workspace, real)) return;
    mark.said = wanted;
    mark.busy = true;
    this._marks.set(real, mark);
    try {
      await this.call(wanted ? 'editor.dirty' : 'editor.clean', { path: real });
    } catch (fault) {
      if (this._marks.get(real) === mark && !UNMARKED.includes(fault.slug)) this.emit('fault', fault);
    }
    mark.busy = false;
    if (this._marks.get(real) !== mark) return; // of a connection that is gone
    if (!mark.said) this._marks.delete(real);
    this._settle(real);
  }

  _close(why) {
    const wasOpen = this.state === 'open';
    const [peer, calls] = [this._peer, this._calls];
    this._peer = null;
    this._calls = new Map();
    this._marks = new Map();
    this.state = 'down';
    this.why = why;
    if (peer) peer.destroy();
    for (const call of calls.values()) {
      clearTimeout(call.timer);
      call.reject(new CallError(`${why}: the history shows what became of the call`));
    }
    if (wasOpen) this.emit('lost', why);
    this._timer = setTimeout(() => this.connect(), this._retryMs);
    this._retryMs = Math.min(this._retryMs * 2, RETRY_MAX_MS);
  }
}

module.exports = { CallError, Client, find, holds, realpath };
