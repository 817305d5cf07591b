'use strict';
// What VS Code shows of it: messages, pick lists, and read-only documents. VS Code itself reloads files that are saved.

const path = require('node:path');
const vscode = require('vscode');

const { Client, holds, realpath } = require('./client');
const { OUTSIDE, author, described, shown, shownText, versionLine } = require('./text');

const SCHEME = 'picoclawd';
const ANSWERS = { once: 'Approve', task: 'Approve for its task', deny: 'Deny' };
const SEARCH_LIMIT = 1000; // rows of one page, the most that find_files gives

const clients = new Map(); // by the directory that a workspace folder is
const documents = new Map(); // by the path of their URI: the text of what is shown read-only
const lastAuthor = new Map(); // by real path

/** Run a command; what goes wrong is a message. */
function guarded(action) {
  return async (...args) => {
    try {
      return await action(...args);
    } catch (fault) {
      vscode.window.showWarningMessage(`picoclawd: ${shown(fault.message)}`);
      return undefined;
    }
  };
}

function clientOf(real) {
  const all = [...clients.values()];
  return all.filter((each) => holds(each.workspace, real)).sort((a, b) => b.workspace.length - a.workspace.length)[0];
}

/** The file of the editor in front, and the client of its daemon. */
function here() {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.document.uri.scheme !== 'file') throw new Error('no file is in front: go to one first');
  const real = realpath(editor.document.uri.fsPath);
  const client = clientOf(real) ?? [...clients.values()][0];
  if (!client) throw new Error('open a folder first: its daemon is the one that is spoken to');
  return { client, document: editor.document, line: editor.selection.active.line, real };
}

function label(client, real) {
  return shown(holds(client.workspace, real) ? path.relative(client.workspace, real) : real);
}

async function showText(title, text, language) {
  const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}` });
  documents.set(uri.path, text);
  changed.fire(uri);
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.languages.setTextDocumentLanguage(document, language);
  await vscode.window.showTextDocument(document, { preview: true });
}

const changed = new vscode.EventEmitter();

async function who() {
  const { client, document, line, real } = here();
  const history = await client.call('file_history', { path: real, limit: 1 });
  const [row] = history.data.versions;
  const since = lastAuthor.get(real) === OUTSIDE ? `; since then changed by ${OUTSIDE}` : '';
  let text = `${label(client, real)}: ${row ? versionLine(row) : 'no tool has changed it'}${since}`;
  if (!document.isDirty) {
    const blame = await client.call('history.blame', { path: real });
    const from = blame.data.lines[line];
    const isKnown = from && from.version;
    const change = isKnown ? `v${from.version} by ${shown(from.client || '-')}` : 'from before, or from outside';
    text += `; line ${line + 1}: ${change}`;
  }
  vscode.window.showInformationMessage(text);
}

async function history() {
  const { client, document, real } = here();
  const found = await client.call('file_history', { path: real });
  const items = found.data.versions.map((row) => ({ label: versionLine(row), version: row.version }));
  const title = `History of ${label(client, real)}`;
  const placeHolder = 'A version to compare with the disk';
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder });
  if (!chosen) return;
  const compared = await client.call('file_history', { mode: 'read', version: chosen.version, path: real });
  await showText(`${label(client, real)} v${chosen.version}.diff`, shownText(compared.content), 'diff');
  const question = `Restore version ${chosen.version} of ${label(client, real)}?`;
  if ((await vscode.window.showInformationMessage(question, 'Restore')) !== 'Restore') return;
  if (document.isDirty) throw new Error('the file has unsaved text: save it, or revert it, then restore');
  const done = await client.call('restore_file', { version: chosen.version, path: real });
  vscode.window.showInformationMessage(`picoclawd: ${shown(done.content.split('\n')[1] ?? '')}`);
}

/** Show a request whole, then ask; the answer counts for the digest that was shown. */
async function decide(client, request) {
  await showText(`${request.id}.diff`, described(request), 'diff');
  const items = request.answers.map((answer) => ({ label: ANSWERS[answer], answer }));
  const chosen = await vscode.window.showQuickPick(items, { title: shown(request.call), ignoreFocusOut: true });
  if (!chosen) return;
  const told = await client.call('approvals.answer', { id: request.id, digest: request.digest, answer: chosen.answer });
  const warning = told.warning ? ` Warning: ${shown(told.warning)}` : '';
  vscode.window.showInformationMessage(`${chosen.label}: ${shown(request.call)}.${warning}`);
}

async function approvals() {
  const waiting = [];
  for (const client of clients.values()) {
    const { pending } = await client.call('approvals.list');
    for (const request of pending) {
      waiting.push({ label: shown(request.call), description: shown(request.client), client, request });
    }
  }
  if (waiting.length === 0) {
    vscode.window.showInformationMessage('picoclawd: nothing waits for an answer');
    return;
  }
  const chosen = await vscode.window.showQuickPick(waiting, { title: 'Calls that wait for you' });
  if (chosen) await decide(chosen.client, chosen.request);
}

async function search() {
  const client = [...clients.values()][0];
  if (!client) throw new Error('open a folder first: its daemon is the one that is spoken to');
  const prompt = 'A regular expression (RE2)';
  const pattern = await vscode.window.showInputBox({ title: 'Search the workspace', prompt });
  if (!pattern) return;
  const queries = [{ pattern, file_pattern: '**/*' }];
  const found = await client.call('find_files', { queries, mode: 'search', output: 'content', limit: SEARCH_LIMIT });
  const rows = found.data.results.filter((row) => row.line);
  const place = (row) => `${shown(row.path)}:${row.line}`;
  const items = rows.map((row) => ({ label: shown(row.text.trim()), description: place(row), row }));
  const chosen = await vscode.window.showQuickPick(items, { title: `${rows.length} lines`, matchOnDescription: true });
  if (!chosen) return;
  const uri = vscode.Uri.file(path.join(client.workspace, chosen.row.path));
  const at = new vscode.Position(chosen.row.line - 1, 0);
  await vscode.window.showTextDocument(uri, { selection: new vscode.Range(at, at) });
}

async function status() {
  const how = (client) => (client.state === 'open' ? 'connected' : client.why);
  const rows = [...clients.values()].map((client) => `${shown(client.place)}: ${how(client)}`);
  vscode.window.showInformationMessage(`picoclawd: ${rows.join('; ') || 'no folder is open'}`);
}

function onChanged(client, params) {
  const real = path.join(client.workspace, params.path);
  const by = author(params.by, [...clients.values()].map((each) => each.sessionId));
  lastAuthor.set(real, by);
  if (by === OUTSIDE) return; // this window's own save is that, too; of a conflict VS Code tells at the next save
  const isIt = (each) => each.uri.scheme === 'file' && realpath(each.uri.fsPath) === real;
  const document = vscode.workspace.textDocuments.find(isIt);
  if (!document) return;
  if (!document.isDirty) {
    vscode.window.setStatusBarMessage(`${label(client, real)}: changed by ${by}`, 10_000);
    return;
  }
  const text = `${label(client, real)} was changed by ${by}. Your unsaved text is kept.`;
  vscode.window.showWarningMessage(text, 'Compare').then((answer) => {
    if (answer) vscode.commands.executeCommand('workbench.files.action.compareWithSaved', document.uri);
  });
}

async function onAsked(client, params) {
  const asked = `${shown(params.call)} waits for you; asked by ${shown(params.client || 'an agent without a name')}`;
  if ((await vscode.window.showInformationMessage(asked, 'Show')) !== 'Show') return;
  const { pending } = await client.call('approvals.list');
  const request = pending.find((each) => each.id === params.id);
  if (!request) throw new Error('the call waits no more');
  await decide(client, request);
}

function watch(folder) {
  const place = folder.uri.fsPath;
  if (folder.uri.scheme !== 'file' || clients.has(place)) return;
  const client = new Client(place, 'VS Code');
  clients.set(place, client);
  client.on('event', (method, params) => {
    if (method === 'file.changed' && params.path) onChanged(client, params);
    else if (method === 'approval.requested') guarded(onAsked)(client, params);
  });
  client.on('lost', (why) => vscode.window.setStatusBarMessage(`picoclawd: ${why}. Trying again.`, 10_000));
  client.on('fault', (fault) => vscode.window.showWarningMessage(`picoclawd: ${shown(fault.message)}`));
}

function mark(document, isUnsaved) {
  if (document.uri.scheme !== 'file') return;
  for (const client of clients.values()) client.mark(realpath(document.uri.fsPath), isUnsaved);
}

function activate(context) {
  const { workspace } = vscode;
  const folders = () => {
    const open = workspace.workspaceFolders ?? [];
    open.forEach(watch);
    for (const [place, client] of clients) {
      if (open.some((folder) => folder.uri.fsPath === place)) continue;
      client.stop();
      clients.delete(place);
    }
  };
  folders();
  workspace.textDocuments.forEach((document) => document.isDirty && mark(document, true));
  const actions = Object.entries({ who, history, approvals, search, status });
  const commands = actions.map(([name, act]) => vscode.commands.registerCommand(`picoclawd.${name}`, guarded(act)));
  context.subscriptions.push(
    changed,
    workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changed.event,
      provideTextDocumentContent: (uri) => documents.get(uri.path) ?? '',
    }),
    workspace.onDidCloseTextDocument((document) => {
      if (document.uri.scheme === SCHEME) documents.delete(document.uri.path);
      else mark(document, false);
    }),
    workspace.onDidChangeTextDocument((event) => mark(event.document, event.document.isDirty)),
    workspace.onDidSaveTextDocument((document) => mark(document, document.isDirty)),
    workspace.onDidChangeWorkspaceFolders(folders),
    ...commands,
  );
}

function deactivate() {
  for (const client of clients.values()) client.stop();
  clients.clear();
}

module.exports = { activate, deactivate };
