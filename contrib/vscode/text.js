'use strict';
// Text from files and clients, escaped before it is shown: the rules of the daemon's own text/display.

const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\u{d800}-\\u{dfff}';
const INVISIBLES =
  '\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200d\\u2060-\\u206f\\u3164\\ufeff\\uffa0' +
  '\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}';
// The ranges of combining characters are meant one by one, not as parts of what comes before them.
/* eslint-disable no-misleading-character-class */
const IN_NAME = new RegExp(`[${CONTROLS}${INVISIBLES}]`, 'u');
const IN_ESCAPED_NAME = new RegExp(`[${CONTROLS}${INVISIBLES}\\\\]`, 'gu');
/* eslint-enable no-misleading-character-class */
const IN_LINE = new RegExp(`[${CONTROLS}]`, 'gu');
const OUTSIDE = 'a program outside picoclawd';
const SHORT = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '\\': '\\\\' };

function escaped(char) {
  const code = char.codePointAt(0);
  if (SHORT[char]) return SHORT[char];
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}

/** A name, or what a client says of itself: one line; where something is escaped its backslashes are, too. */
function shown(text) {
  const given = String(text);
  return IN_NAME.test(given) ? given.replace(IN_ESCAPED_NAME, escaped) : given;
}

/** A file's text, or a diff: line breaks and tabs stay. */
function shownText(text) {
  return String(text).replace(IN_LINE, (char) => (char === '\n' || char === '\t' ? char : escaped(char)));
}

/** One row of a file's history. */
function versionLine(row) {
  const tool = `${shown(row.client || row.session_id || '-')} (${shown(row.tool || '-')})`;
  const who = row.action === 'external' ? OUTSIDE : tool;
  const task = row.objective ? `: ${shown(row.objective)}` : '';
  const lost = row.restorable ? '' : '  (cannot be restored)';
  const when = shown(row.changed_at).slice(0, 19).replace('T', ' '); // a local time in the form of ISO 8601
  return `v${row.version}  ${when}  ${shown(row.action)}  by ${who}${task}${lost}`;
}

/** Who an event is by; `own` are the ids of this editor's sessions. */
function author(by, own) {
  if (typeof by !== 'object' || by === null) return OUTSIDE;
  if (own.includes(by.session_id)) return `you (${shown(by.tool)})`;
  const name = by.client ? shown(by.client) : 'an agent without a name';
  return `${name} (${shown(by.tool)}, session ${shown(by.session_id)})`;
}

/** A request for approval whole: the call, what the agent claims, and the diff. */
function described(request) {
  const rows = [
    `${shown(request.id)}  ${shown(request.call)}`,
    `  reason     ${shown(request.reason)}`,
    `  path       ${shown(request.path)}`,
    `  params     ${shown(JSON.stringify(request.params))}`,
    `  session    ${shown(request.session_id)}`,
    `  client     ${shown(request.client)}  (claimed)`,
    `  objective  ${shown(request.objective)}  (claimed)`,
  ];
  const diff = request.diff ? shownText(request.diff).trimEnd().split('\n') : [];
  return [...rows, ...diff.map((row) => `    ${row}`)].join('\n');
}

module.exports = { OUTSIDE, author, described, shown, shownText, versionLine };
