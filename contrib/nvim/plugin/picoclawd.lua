-- picoclawd for Neovim, 0.7 and newer: agents' changes appear in your buffers, your unsaved text stays yours.
--
-- Put contrib/nvim on the 'runtimepath' (it is a plugin directory), or `:luafile` this file. It speaks to the
-- operator's socket of the daemon that serves a buffer's directory: $PICOCLAWD_OPERATOR_SOCKET, else the one that its
-- info.json names. `:PicoclawStatus` says which. Nothing to set up, no other plugin needed.
--
-- Every function that Neovim calls is `guarded`: what goes wrong is one line of message, never a traceback.

if package.loaded.picoclawd or vim.fn.has("nvim-0.7") == 0 then
  return
end

local uv = vim.uv or vim.loop
local api = vim.api

local CALL_TIMEOUT_MS = 60000 -- the longest that the daemon takes, a search of a large tree, is half of it
local RETRY_FIRST_MS = 100 -- a restart takes the daemon about that long
local RETRY_MAX_MS = 5000
local LINE_MAX_BYTES = 64 * 1024 * 1024 -- of one answer; the daemon's own bound is far below
local INFO_MAX_BYTES = 64 * 1024 -- an info.json is under 1 KiB
local SOCKET_PATH_MAX_BYTES = 107 -- sun_path, see unix(7)
local LOG_MAX = 200 -- messages that :PicoclawLog shows
local PARAMS_MAX_CHARS = 2000 -- of a call's params: more is a file's text, and its diff says what it does
local SEARCH_LIMIT = 1000 -- rows of one page, the most that find_files gives

local M = { log = {} }
package.loaded.picoclawd = M

-- Text: what comes from files and clients is escaped before it is shown -----------------------------------------------

local CONTROLS = {
  { 0x00, 0x1f }, { 0x7f, 0x9f }, { 0x61c, 0x61c }, { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x2069 },
}
local INVISIBLES = { -- as the daemon's text/display
  { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200d },
  { 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff9, 0xfffb },
  { 0xe0000, 0xe0fff },
}
local SHORT = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ["\\"] = "\\\\" }

local function in_ranges(code, ranges)
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then
      return true
    end
  end
  return false
end

-- How many bytes follow the first of a UTF-8 character; -1 for a byte that begins none.
local function following(first)
  if first < 0x80 then
    return 0
  end
  return (first < 0xc2 or first > 0xf4) and -1 or first < 0xe0 and 1 or first < 0xf0 and 2 or 3
end

-- The UTF-8 character at a byte index: its bytes and code point; of a byte that begins none, that byte and nil.
local function character(text, index)
  local first = text:byte(index)
  local more = following(first)
  local bytes = text:sub(index, index + math.max(more, 0))
  if more < 0 or #bytes <= more or not bytes:sub(2):match("^[\128-\191]*$") then
    return text:sub(index, index), nil
  end
  local code = more == 0 and first or first % 2 ^ (6 - more)
  for at = 2, #bytes do
    code = code * 64 + bytes:byte(at) % 64
  end
  local least = ({ [0] = 0, 0x80, 0x800, 0x10000 })[more]
  if code < least or code > 0x10ffff or (code >= 0xd800 and code <= 0xdfff) then
    return text:sub(index, index), nil
  end
  return bytes, code
end

local function escaped_code(code)
  return (code < 0x80 and "\\x%02x" or code < 0x10000 and "\\u%04x" or "\\U%08x"):format(code)
end

local function escape(text, kept, is_name)
  local plain, escaped, needed, index = {}, {}, false, 1
  while index <= #text do
    local bytes, code = character(text, index)
    local form = bytes
    if code == nil then
      form = ("\\x%02x"):format(bytes:byte())
    elseif bytes ~= kept and (in_ranges(code, CONTROLS) or (is_name and in_ranges(code, INVISIBLES))) then
      form = SHORT[bytes] or escaped_code(code)
    end
    needed = needed or form ~= bytes
    plain[#plain + 1] = form
    escaped[#escaped + 1] = bytes == "\\" and SHORT[bytes] or form
    index = index + #bytes
  end
  return table.concat(is_name and needed and escaped or plain)
end

-- A name, or what a client says of itself: one line; where something had to be escaped its backslashes are, too.
local function shown(text)
  text = tostring(text)
  return text:find("[^ -~]") and escape(text, nil, true) or text
end

M.shown = shown

-- A line of a file's text: tabs stay, as in any buffer.
local function shown_line(text)
  return text:find("[^ -~]") and escape(text, "\t", false) or text
end

local function shown_lines(text)
  local lines = vim.tbl_map(shown_line, vim.split(text, "\n", { plain = true }))
  while #lines > 1 and lines[#lines] == "" do
    lines[#lines] = nil
  end
  return lines
end

-- Messages ------------------------------------------------------------------------------------------------------------

-- The columns that a message may take.
local function room()
  return math.max(20, vim.o.columns - 13)
end

-- Show one line, cut so that it never asks for Enter in the middle of somebody's work; :PicoclawLog has it whole.
local function say(text, level)
  text = "picoclawd: " .. text:gsub("\n", " ")
  M.log[#M.log + 1] = os.date("%H:%M:%S ") .. text
  if #M.log > LOG_MAX then
    table.remove(M.log, 1)
  end
  local line = vim.fn.strdisplaywidth(text) <= room() and text or vim.fn.strcharpart(text, 0, room() - 1) .. "…"
  vim.notify(line, level or vim.log.levels.INFO)
end

local function warn(text)
  say(text, vim.log.levels.WARN)
end

-- A function that Neovim may call: a fault in it is a message. Results are dropped: an autocommand that returns
-- something deletes itself.
local function guarded(fn)
  return function(...)
    local ok, fault = pcall(fn, ...)
    if not ok then
      local text = shown(type(fault) == "table" and fault.message or tostring(fault):gsub("\n.*", ""))
      vim.schedule(function()
        warn(text)
      end)
    end
  end
end

-- Say why a call failed, in the daemon's words.
local function complain(fault)
  warn(shown(tostring(fault.message):gsub("\n", " ")))
end

-- Paths: bytes, absolute and real -------------------------------------------------------------------------------------

local function real_of(name)
  local real = uv.fs_realpath(name)
  if real then
    return real
  end
  local directory = uv.fs_realpath(vim.fn.fnamemodify(name, ":p:h"))
  return directory and (directory == "/" and "" or directory) .. "/" .. vim.fn.fnamemodify(name, ":t")
end

local function holds(workspace, real)
  return workspace ~= nil and (workspace == "/" or real == workspace or real:sub(1, #workspace + 1) == workspace .. "/")
end

-- A path as `path_bytes` takes it: every name can be said, also one that is not UTF-8.
local function encoded(path)
  return (path:gsub("[^%w%-._~/]", function(char)
    return ("%%%02X"):format(char:byte())
  end))
end

-- The path that a row of the daemon's names: `path_bytes` is there where `path` cannot say it.
local function row_path(row)
  if not row.path_bytes then
    return row.path
  end
  return (row.path_bytes:gsub("%%(%x%x)", function(hex)
    return string.char(tonumber(hex, 16))
  end))
end

-- Finding the daemon, as picoclawctl does -----------------------------------------------------------------------------

local function own_file(path)
  local stat = uv.fs_stat(path)
  return stat and stat.uid == uv.getuid() and stat or nil
end

local function read_info(path)
  local handle = own_file(path) and uv.fs_open(path, "r", 0)
  if not handle then
    return nil
  end
  local text = uv.fs_read(handle, INFO_MAX_BYTES, 0)
  uv.fs_close(handle)
  local ok, info = pcall(vim.json.decode, text or "")
  if not ok or type(info) ~= "table" or type(info.workspace) ~= "string" or type(info.sockets) ~= "table" then
    return nil
  end
  local workspace, socket = uv.fs_realpath(info.workspace) or info.workspace, info.sockets.operator
  return { workspace = workspace, socket = type(socket) == "string" and socket or "" }
end

local function daemons()
  local found = {}
  local function look(directory, tail)
    local scan = uv.fs_scandir(directory)
    while scan do
      local name = uv.fs_scandir_next(scan)
      if not name then
        break
      end
      found[#found + 1] = read_info(directory .. "/" .. name .. tail)
    end
  end
  local runtime, state = vim.env.XDG_RUNTIME_DIR, vim.env.XDG_STATE_HOME
  if runtime and runtime ~= "" then
    look(runtime .. "/picoclawd", "/info.json")
  end
  if not state or state == "" then
    state = (uv.os_homedir() or "") .. "/.local/state"
  end
  look(state .. "/picoclawd", "/run/info.json")
  return found
end

local function advice(place)
  return ("no daemon serves %s. Start one with: picoclawd serve --workspace %s"):format(shown(place), shown(place))
end

-- The daemon of a place: its key, workspace and socket; nil and the reason where there is none.
local function find(place)
  local named = vim.env.PICOCLAWD_OPERATOR_SOCKET
  if named and named ~= "" then
    return { key = "socket " .. named, socket = named }
  end
  local best
  for _, each in ipairs(daemons()) do
    if holds(each.workspace, place) and (not best or #each.workspace > #best.workspace) then
      best = each
    end
  end
  if not best then
    return nil, advice(place)
  end
  if best.socket == "" then
    local why = 'the daemon of %s has no operator socket: daemon.operator_socket is "" in its configuration'
    return nil, why:format(shown(best.workspace))
  end
  return { key = "workspace " .. best.workspace, workspace = best.workspace, socket = best.socket }
end

-- The link to one daemon ----------------------------------------------------------------------------------------------

local Link = {}
Link.__index = Link
local links = {} -- by key, for the life of the editor
local on_open, on_event -- set below: the buffers' part

function Link.new(endpoint)
  return setmetatable({
    key = endpoint.key,
    workspace = endpoint.workspace,
    state = "down", -- "down", "connecting", "open"
    why = nil, -- of "down": a sentence
    retry_ms = RETRY_FIRST_MS,
    retry = assert(uv.new_timer()),
    calls = {},
    last_id = 0,
    waiting = {},
    marks = {},
  }, Link)
end

function Link:send(method, params, done)
  self.last_id = self.last_id + 1
  local id, pipe = self.last_id, self.pipe
  self.calls[id] = done
  local request = { jsonrpc = "2.0", id = id, method = method, params = params or vim.empty_dict() }
  local ok, line = pcall(vim.json.encode, request)
  if not ok then
    return self:answer(id, { message = "this cannot be sent: it is not UTF-8" })
  end
  pipe:write(line .. "\n")
  vim.defer_fn(function()
    local late = "%s: the daemon has not answered in %d s. Look at: picoclawctl status"
    self:answer(id, { message = late:format(method, CALL_TIMEOUT_MS / 1000) })
  end, CALL_TIMEOUT_MS)
end

-- One call; `done(result)` where it succeeds, else `failed(fault)`, which says so by default.
function Link:call(method, params, done, failed)
  if self.state ~= "open" then
    return (failed or complain)({ message = self.why or "not connected" })
  end
  self:send(method, params, function(fault, result)
    if fault then
      return (failed or complain)(fault)
    end
    return done and done(result)
  end)
end

function Link:answer(id, fault, result)
  local done = self.calls[id]
  self.calls[id] = nil
  if done then
    guarded(done)(fault, result)
  end
end

function Link:take(line)
  local ok, message = pcall(vim.json.decode, line, { luanil = { object = true, array = true } })
  if not ok or type(message) ~= "table" then
    return self:close("what listens there does not speak JSON-RPC")
  end
  if message.id ~= nil then
    self:answer(message.id, message.error, message.result)
  elseif message.method then
    on_event(self, message.method, message.params or {})
  end
end

-- Why a socket is not connected to; nil where nothing speaks against it.
local function objection(path)
  if #path > SOCKET_PATH_MAX_BYTES then
    return ("the socket's path is longer than %d bytes: %s"):format(SOCKET_PATH_MAX_BYTES, shown(path))
  end
  local stat = uv.fs_stat(path)
  if not stat then
    return ("no daemon listens at %s. Start it with: picoclawd serve"):format(shown(path))
  end
  if stat.type ~= "socket" then
    return ("%s is no socket"):format(shown(path))
  end
  if stat.uid ~= uv.getuid() then
    return ("%s belongs to another user: it is not used"):format(shown(path))
  end
  return nil
end

-- Where the daemon listens now: after a restart it may be elsewhere.
function Link:endpoint()
  if not self.workspace or self.key:sub(1, 7) == "socket " then
    return { socket = self.key:sub(8) }
  end
  for _, each in ipairs(daemons()) do
    if each.workspace == self.workspace and each.socket ~= "" then
      return each
    end
  end
  return nil, advice(self.workspace)
end

function Link:connect()
  if self.state ~= "down" then
    return
  end
  self.retry:stop()
  local endpoint, why = self:endpoint()
  why = why or objection(endpoint.socket)
  if why then
    return self:close(why)
  end
  self.state, self.socket = "connecting", endpoint.socket
  local pipe = assert(uv.new_pipe(false))
  self.pipe = pipe
  pipe:connect(endpoint.socket, function(fault)
    vim.schedule(guarded(function()
      if self.pipe ~= pipe then
        return
      end
      if fault then
        local nobody = "nobody answers at %s (%s). Start the daemon with: picoclawd serve"
        return self:close(nobody:format(shown(endpoint.socket), fault))
      end
      self:listen(pipe)
      self:introduce()
    end))
  end)
end

function Link:listen(pipe)
  local rest, rest_bytes = {}, 0
  pipe:read_start(function(fault, chunk)
    if fault or not chunk then
      return vim.schedule(guarded(function()
        if self.pipe == pipe then
          self:close("the daemon ended the connection")
        end
      end))
    end
    rest[#rest + 1], rest_bytes = chunk, rest_bytes + #chunk
    if not chunk:find("\n", 1, true) and rest_bytes <= LINE_MAX_BYTES then
      return
    end
    local lines = vim.split(table.concat(rest), "\n", { plain = true })
    rest = { table.remove(lines) }
    rest_bytes = #rest[1]
    vim.schedule(guarded(function()
      for _, line in ipairs(lines) do
        if self.pipe == pipe then
          self:take(line)
        end
      end
      if rest_bytes > LINE_MAX_BYTES and self.pipe == pipe then
        self:close("an answer has no end")
      end
    end))
  end)
end

function Link:introduce()
  local function failed(fault)
    self:close("the daemon refused the connection: " .. shown(fault.message))
  end
  self:send("session.open", { client = "Neovim" }, function(fault, session)
    if fault then
      return failed(fault)
    end
    self.session_id = session.session_id
    self.workspace = self.workspace or uv.fs_realpath(session.workspace) or session.workspace
    self:send("events.subscribe", { kinds = { "file.changed", "approval.*" } }, function(refused)
      if refused then
        return failed(refused)
      end
      self:opened()
    end)
  end)
end

function Link:opened()
  self.state, self.why, self.retry_ms = "open", nil, RETRY_FIRST_MS
  if self.was_lost then
    say(("connected again to the daemon of %s"):format(shown(self.workspace)))
  end
  self.was_lost = false
  on_open(self)
  local waiting = self.waiting
  self.waiting = {}
  for _, each in ipairs(waiting) do
    guarded(each.ready)()
  end
end

-- End the connection, or the attempt, and try again later.
function Link:close(why)
  local was_open = self.state == "open"
  if self.pipe and not self.pipe:is_closing() then
    self.pipe:close()
  end
  local calls, waiting = self.calls, self.waiting
  self.pipe, self.state, self.why, self.calls, self.waiting, self.marks = nil, "down", why, {}, {}, {}
  if was_open then
    self.was_lost = true
    warn(("%s (%s). Trying again."):format(why, shown(self.workspace)))
  end
  for _, done in pairs(calls) do
    guarded(done)({ message = why .. ": what became of the call, :PicoclawHistory shows" })
  end
  for _, each in ipairs(waiting) do
    guarded(each.failed)({ message = why })
  end
  self.retry:start(self.retry_ms, 0, vim.schedule_wrap(guarded(function()
    self:connect()
  end)))
  self.retry_ms = math.min(self.retry_ms * 2, RETRY_MAX_MS)
end

local function link_at(place)
  local endpoint, why = find(place)
  if not endpoint then
    for _, link in pairs(links) do -- its daemon is away for now
      if holds(link.workspace, place) then
        return link
      end
    end
    return nil, why
  end
  local link = links[endpoint.key]
  if not link then
    link = Link.new(endpoint)
    links[endpoint.key] = link
    link:connect()
  end
  return link
end

-- Buffers: which files they hold, and what is known of these ----------------------------------------------------------

local files = {} -- by buffer: {real, stat, behind, who}
local unsaved = {} -- by buffer: the real path whose text is not saved
local inbox, flushing = {}, false
local OUTSIDE = "a program outside picoclawd"

local function is_file(buf)
  if not api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= "" then
    return false
  end
  local name = api.nvim_buf_get_name(buf)
  return name ~= "" and not name:match("^%a[%w+.-]*://")
end

-- Put the file's facts as they are now on record: the buffer was just read from it, or written to it.
local function note(buf)
  if not is_file(buf) then
    files[buf] = nil
    return
  end
  local real = real_of(api.nvim_buf_get_name(buf))
  local before = files[buf]
  local who = before and before.real == real and before.who or nil
  files[buf] = real and { real = real, stat = uv.fs_stat(real), who = who }
end

local function same(before, now)
  if not before or not now then
    return before == now
  end
  local same_time = before.mtime.sec == now.mtime.sec and before.mtime.nsec == now.mtime.nsec
  return same_time and before.size == now.size and before.ino == now.ino
end

-- Tell the daemon whether a path is unsaved here. One call at a time for a path: two may overtake each other.
local function settle(link, real)
  local wanted = false
  for _, each in pairs(unsaved) do
    wanted = wanted or each == real
  end
  local mark = link.marks[real] or { said = false }
  if link.state ~= "open" or mark.busy or mark.said == wanted or not holds(link.workspace, real) then
    return
  end
  mark.busy, mark.said = true, wanted
  link.marks[real] = mark
  local function next_step()
    mark.busy = false
    settle(link, real)
    if not mark.busy and not mark.said then
      link.marks[real] = nil
    end
  end
  link:call(wanted and "editor.dirty" or "editor.clean", { path_bytes = encoded(real) }, next_step, function(fault)
    local slug = fault.data and fault.data.error
    if link.marks[real] == mark and slug ~= "protected_path" and slug ~= "outside_workspace" then
      complain(fault)
    end
    next_step()
  end)
end

local refresh

local function sync(buf)
  local file = api.nvim_buf_is_valid(buf) and is_file(buf) and files[buf] or nil
  local now = file and vim.bo[buf].modified and file.real or nil
  local before = unsaved[buf]
  if before ~= now then
    unsaved[buf] = now
    for _, link in pairs(links) do
      for _, real in pairs({ before, now }) do
        settle(link, real)
      end
    end
  end
  if file and not now and file.behind then
    refresh(buf)
  end
end

local syncing = {}
local function sync_soon(buf)
  if not syncing[buf] then
    syncing[buf] = true
    vim.schedule(guarded(function()
      syncing[buf] = nil
      sync(buf)
    end))
  end
end

local function client_of(name)
  return name ~= "" and shown(name) or "an agent without a name"
end

local function who_of(by)
  if type(by) ~= "table" then
    return OUTSIDE
  end
  for _, link in pairs(links) do
    if link.session_id == by.session_id then
      return ("you (%s)"):format(shown(by.tool))
    end
  end
  return ("%s (%s, session %s)"):format(client_of(by.client), shown(by.tool), shown(by.session_id))
end

local function label(real)
  for _, link in pairs(links) do
    if link.workspace ~= "/" and holds(link.workspace, real) and real ~= link.workspace then
      return shown(real:sub(#link.workspace + 2))
    end
  end
  return shown(real)
end

-- Read an unmodified buffer again from the disk, if Neovim finds that it differs; undo still leads back. Returns
-- whether it did. Neovim's own note of the file decides: it is taken before the text is read, so nothing slips between.
local function reload(buf)
  if not files[buf].stat then -- the buffer was for a file to be: :checktime would only warn
    api.nvim_buf_call(buf, function()
      vim.cmd("silent edit")
    end)
    return true
  end
  local done = false
  local before = api.nvim_create_autocmd("FileChangedShell", {
    buffer = buf,
    callback = guarded(function()
      local loses = vim.bo[buf].modified or vim.v.fcs_reason == "deleted" or vim.v.fcs_reason == "conflict"
      vim.v.fcs_choice = loses and "" or "reload"
    end),
  })
  local after = api.nvim_create_autocmd("FileChangedShellPost", {
    buffer = buf,
    callback = guarded(function()
      done = not vim.bo[buf].modified
    end),
  })
  local ok, fault = pcall(vim.cmd, "silent checktime " .. buf)
  pcall(api.nvim_del_autocmd, before)
  pcall(api.nvim_del_autocmd, after)
  if not ok then
    error(fault, 0)
  end
  return done
end

-- Bring a buffer up to the disk, or say why not; a line for the person, or nil where there is nothing to say.
local function bring_up(buf)
  local file = files[buf]
  local now = uv.fs_stat(file.real)
  local who = file.who or "somebody while this editor was not connected"
  if not now then
    local was_there = file.stat ~= nil
    file.stat, file.behind = nil, nil
    local gone = "%s: gone from the disk, its text is still here, :PicoclawHistory brings it back; removed by %s"
    return was_there and gone:format(label(file.real), who) or nil
  end
  if not vim.bo[buf].modified then
    local reloaded = reload(buf)
    files[buf].stat, files[buf].behind = now, nil -- as it was before: what came meanwhile will be told, too
    return reloaded and ("%s: reloaded, changed by %s"):format(label(file.real), who) or nil
  end
  if same(file.behind or file.stat, now) then
    return nil
  end
  file.behind = now
  return ("%s: your unsaved text is kept, :PicoclawDiff shows both; changed by %s"):format(label(file.real), who)
end

function refresh(buf)
  local line = bring_up(buf)
  if line then
    say(line)
  end
end

local function refresh_all(bufs)
  local lines = {}
  for _, buf in ipairs(bufs) do
    if files[buf] and is_file(buf) then
      local ok, line = pcall(bring_up, buf)
      if ok then
        lines[#lines + 1] = line
      else -- Neovim is busy with something that forbids it, such as the command-line window
        vim.defer_fn(guarded(function()
          if files[buf] and is_file(buf) then
            refresh(buf)
          end
        end), 500)
      end
    end
  end
  if #lines == 1 then
    say(lines[1])
  elseif #lines > 1 then
    say(("%d files changed, :PicoclawLog names them"):format(#lines))
    for _, line in ipairs(lines) do
      M.log[#M.log + 1] = "  " .. line
    end
  end
end

local function flush()
  local changes = inbox
  inbox, flushing = {}, false
  local touched = {}
  for buf, file in pairs(files) do
    local change = changes[file.real]
    if change then
      local now = uv.fs_stat(file.real)
      if not (same(file.stat, now) and type(change.by) ~= "table") then -- else it is our own save that comes back
        file.who = who_of(change.by)
      end
      touched[#touched + 1] = buf
    end
  end
  table.sort(touched)
  refresh_all(touched)
end

local function attach(buf)
  note(buf)
  if not files[buf] then
    return
  end
  link_at(files[buf].real)
  if not vim.b[buf].picoclawd then
    vim.b[buf].picoclawd = true
    local function soon()
      sync_soon(buf)
    end
    api.nvim_buf_attach(buf, false, { on_lines = soon, on_reload = soon, on_detach = function()
      vim.schedule(guarded(function()
        if api.nvim_buf_is_valid(buf) then
          vim.b[buf].picoclawd = nil
        end
        sync(buf)
      end))
    end })
  end
  sync(buf)
end

-- Views: scratch buffers that show what the daemon says ---------------------------------------------------------------

local views = {} -- by title: {buf, rows by line, ...}

-- The first line of the row that the cursor was on, else the headline: a key never meets another row than was seen.
local function line_of(rows, row)
  for line = 1, row and table.maxn(rows) or 0 do
    if rows[line] and rows[line].id == row.id and rows[line].version == row.version then
      return line
    end
  end
  return 1
end

local function view(title, lines, rows, keys, filetype)
  local known = views[title]
  local buf = known and api.nvim_buf_is_valid(known.buf) and known.buf
  if not buf then
    buf = api.nvim_create_buf(false, true)
    vim.bo[buf].bufhidden = "wipe"
    pcall(api.nvim_buf_set_name, buf, "picoclawd://" .. title)
    vim.bo[buf].filetype = filetype or "picoclawd"
    for key, action in pairs(keys or {}) do
      vim.keymap.set("n", key, guarded(action), { buffer = buf, nowait = true, silent = true })
    end
    vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buf, nowait = true, silent = true })
  end
  local before = known and known.rows or {}
  rows = rows or {}
  local cursors = {}
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    cursors[window] = before[api.nvim_win_get_cursor(window)[1]]
  end
  views[title] = { buf = buf, rows = rows }
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_set_cursor(window, { line_of(rows, cursors[window]), 0 })
  end
  return buf
end

local function show(buf)
  local window = vim.fn.bufwinid(buf)
  if window ~= -1 then
    api.nvim_set_current_win(window)
  else
    vim.cmd("botright split")
    api.nvim_win_set_buf(0, buf)
  end
end

local function row_here(title)
  local rows = views[title] and views[title].rows or {}
  return rows[api.nvim_win_get_cursor(0)[1]]
end

-- Where a command is given: the file of this buffer or view, and the link to its daemon.
local function here()
  local place = vim.b.picoclawd_real
  if not place then
    local buf = api.nvim_get_current_buf()
    place = is_file(buf) and real_of(api.nvim_buf_get_name(buf)) or nil
  end
  return place
end

local function with_link(place, ready)
  local link, why = link_at(place)
  if not link then
    return warn(why)
  end
  if link.state == "open" then
    return ready(link)
  end
  table.insert(link.waiting, { ready = function() ready(link) end, failed = complain })
  link:connect()
end

local function with_file(ready)
  local real = here()
  if not real then
    return warn("this buffer holds no file: go to one first")
  end
  with_link(real, function(link)
    ready(link, real)
  end)
end

local function place_here()
  return here() or uv.fs_realpath(".") or "/"
end

-- Who, history, diff, restore -----------------------------------------------------------------------------------------

local function version_line(row)
  local author = ("%s (%s)"):format(shown(row.client or row.session_id or "-"), shown(row.tool or "-"))
  local who = row.action == "external" and OUTSIDE or author
  local task = row.objective and row.objective ~= "" and ": " .. shown(row.objective) or ""
  local lost = row.restorable and "" or "  (cannot be restored)"
  local when = shown(row.changed_at):sub(1, 19):gsub("T", " ")
  return ("v%d  %s  %-8s  by %s%s%s"):format(row.version, when, shown(row.action), who, task, lost)
end

-- An answer to a question: on one line where there is room for it, else in a view.
local function tell(title, parts)
  local text = table.concat(parts, "; ")
  say(text)
  if vim.fn.strdisplaywidth("picoclawd: " .. text) > room() then
    show(view(title, parts))
  end
end

function M.who()
  with_file(function(link, real)
    local buf, line_no = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1]
    local saved = files[buf] and files[buf].real == real and not vim.bo[buf].modified
    link:call("file_history", { path_bytes = encoded(real), limit = 1 }, function(history)
      local row = history.data.versions[1]
      local newest = row and version_line(row) or "no tool has changed it"
      local seen = files[buf] and files[buf].who
      local parts = { label(real) .. ": " .. newest, seen == OUTSIDE and "since then changed by " .. seen or nil }
      if not saved then
        return tell("who", parts)
      end
      link:call("history.blame", { path_bytes = encoded(real) }, function(blame)
        local line = blame.data.lines[line_no]
        local from = line and line.version and ("v%d by %s"):format(line.version, shown(line.client or "-"))
        parts[#parts + 1] = ("line %d: %s"):format(line_no, from or "from before, or from outside")
        tell("who", parts)
      end, function()
        tell("who", parts)
      end)
    end)
  end)
end

-- The buffer beside the text on disk, in Neovim's diff mode.
local function diff_with_disk(real)
  local stat = uv.fs_stat(real)
  if not stat then
    return warn(label(real) .. " is not on disk")
  end
  local lines, window, filetype = vim.fn.readfile(real), api.nvim_get_current_win(), vim.bo.filetype
  local buf = view("disk/" .. label(real), vim.tbl_map(function(line)
    return (line:gsub("\r$", ""))
  end, lines), nil, nil, filetype)
  vim.cmd("diffthis")
  if vim.fn.bufwinid(buf) == -1 then
    vim.cmd("vertical split")
    api.nvim_win_set_buf(0, buf)
  end
  api.nvim_win_call(vim.fn.bufwinid(buf), function()
    vim.cmd("diffthis")
  end)
  api.nvim_create_autocmd("BufWipeout", { buffer = buf, once = true, callback = guarded(function()
    if api.nvim_win_is_valid(window) then
      api.nvim_win_call(window, function()
        vim.cmd("diffoff")
      end)
    end
  end) })
end

-- A version against the disk as a diff; without one, the buffer's text against the disk.
function M.diff(version)
  if not version then
    local real = here()
    return real and diff_with_disk(real) or not real and warn("this buffer holds no file: go to one first")
  end
  with_file(function(link, real)
    link:call("file_history", { mode = "read", version = version, path_bytes = encoded(real) }, function(result)
      show(view("diff/" .. label(real), shown_lines(result.content), nil, nil, "diff"))
    end)
  end)
end

local function restore_now(link, real, version, force)
  link:call("restore_file", { version = version, path_bytes = encoded(real), force = force }, function(result)
    say(shown(result.content:gsub("^[^\n]*\n", "")))
  end)
end

-- Take the file back to a version: shows what it would do, and asks, unless `unasked`.
function M.restore(version, force, unasked)
  with_file(function(link, real)
    for buf, path in pairs(unsaved) do
      if path == real then
        local first = "%s has unsaved text in buffer %d: write it, or drop it with :edit!, then restore"
        return warn(first:format(label(real), buf))
      end
    end
    if unasked then
      return restore_now(link, real, version, force)
    end
    local wish = { version = version, path_bytes = encoded(real), force = force, _meta = { dry_run = true } }
    link:call("restore_file", wish, function(result)
      show(view("restore/" .. label(real), shown_lines(result.content), nil, nil, "diff"))
      vim.cmd("redraw")
      if vim.fn.confirm(("Restore version %d of %s?"):format(version, label(real)), "&Yes\n&No", 2) == 1 then
        restore_now(link, real, version, force)
      else
        say("nothing was restored")
      end
    end)
  end)
end

function M.history()
  with_file(function(link, real)
    link:call("file_history", { path_bytes = encoded(real) }, function(result)
      local title = "history/" .. label(real)
      local lines, rows = { "# <Enter> diff with the disk   r restore   q close" }, {}
      for _, row in ipairs(result.data.versions) do
        lines[#lines + 1] = version_line(row)
        rows[#lines] = row
      end
      if #lines == 1 then
        lines[2] = "# No tool has changed this file."
      end
      local function on_row(action)
        return function()
          local row = row_here(title)
          return row and action(row.version)
        end
      end
      local buf = view(title, lines, rows, { ["<CR>"] = on_row(M.diff), r = on_row(M.restore) })
      vim.b[buf].picoclawd_real = real
      show(buf)
    end)
  end)
end

-- Approvals: a request can be answered once it was shown --------------------------------------------------------------

local seen = {} -- by id: {link, digest, call}

local function described(request)
  local params = shown(vim.json.encode(request.params))
  if #params > PARAMS_MAX_CHARS then
    params = params:sub(1, PARAMS_MAX_CHARS) .. "… (more: picoclawctl approvals --json)"
  end
  local lines = {
    ("%s  %s"):format(shown(request.id), shown(request.call)),
    "  reason     " .. shown(request.reason),
    "  path       " .. shown(request.path),
    "  params     " .. params,
    "  session    " .. shown(request.session_id),
    "  client     " .. shown(request.client) .. "  (claimed)",
    "  objective  " .. shown(request.objective) .. "  (claimed)",
  }
  for _, line in ipairs(request.diff ~= "" and request.diff and shown_lines(request.diff) or {}) do
    lines[#lines + 1] = "    " .. line
  end
  return lines
end

local APPROVALS = "approvals"
local render_approvals

local function answer_here(given)
  return function()
    local row = row_here(APPROVALS)
    if row then
      M.answer(row.id, given)
    end
  end
end

-- Ask every daemon what waits; `done` when all have answered.
local function pending(done)
  local open, found = {}, {}
  for _, link in pairs(links) do
    if link.state == "open" then
      open[#open + 1] = link
    end
  end
  local left = #open
  local function one_less()
    left = left - 1
    if left == 0 then
      table.sort(found, function(a, b)
        return a.requested_at < b.requested_at
      end)
      done(found)
    end
  end
  for _, link in ipairs(open) do
    link:call("approvals.list", nil, function(result)
      for _, request in ipairs(result.pending) do
        request.link = link
        found[#found + 1] = request
      end
      one_less()
    end, function(fault)
      complain(fault)
      one_less()
    end)
  end
end

function render_approvals(found)
  local lines, rows = { "# a approve   t approve for its task   d deny   q close" }, {}
  seen = {}
  for _, request in ipairs(found) do
    local link = request.link
    request.link = nil
    seen[request.id] = { link = link, digest = request.digest, call = request.call }
    for _, line in ipairs(described(request)) do
      lines[#lines + 1] = line
      rows[#lines] = request
    end
  end
  if #found == 0 then
    lines[2] = "# Nothing waits for an answer."
  end
  return view(APPROVALS, lines, rows, { a = answer_here("once"), t = answer_here("task"), d = answer_here("deny") })
end

function M.approvals(done)
  with_link(place_here(), function()
    pending(function(found)
      show(render_approvals(found))
      return done and done()
    end)
  end)
end

local function renew_approvals()
  local known = views[APPROVALS]
  if known and api.nvim_buf_is_valid(known.buf) then
    pending(render_approvals)
  end
end

local ANSWERED = { once = "approved", task = "approved for its task", deny = "denied" }

function M.answer(wanted, given)
  local id
  for each in pairs(seen) do
    if each == wanted or each == "a-" .. wanted then
      id = each
    end
  end
  if not id then
    return M.approvals(function()
      warn(("%s was not shown to you yet, or waits no more: read the list, then answer"):format(shown(wanted)))
    end)
  end
  local request = seen[id]
  request.link:call("approvals.answer", { id = id, digest = request.digest, answer = given }, function(told)
    local warning = told.warning and ". Warning: " .. shown(told.warning) or ""
    say(("%s: %s%s"):format(ANSWERED[given], shown(request.call), warning))
    seen[id] = nil
    renew_approvals()
  end)
end

-- Search --------------------------------------------------------------------------------------------------------------

-- The lines of the quickfix window; each names its file as the workspace calls it, escaped.
function M.quickfix_text(info)
  local lines = {}
  local items = vim.fn.getqflist({ id = info.id, items = 1 }).items
  for index = info.start_idx, info.end_idx do
    local item = items[index]
    lines[#lines + 1] = ("%s|%d| %s"):format(label(real_of(vim.fn.bufname(item.bufnr)) or ""), item.lnum, item.text)
  end
  return lines
end

vim.cmd([[
  function! PicoclawdQuickfixText(info) abort
    return luaeval('require("picoclawd").quickfix_text(_A)', a:info)
  endfunction
]])

function M.search(pattern)
  with_link(place_here(), function(link)
    local queries = { { pattern = pattern, file_pattern = "**/*" } }
    local wish = { queries = queries, mode = "search", output = "content", limit = SEARCH_LIMIT }
    link:call("find_files", wish, function(result)
      local items = {}
      for _, row in ipairs(result.data.results) do
        if row.line then
          local filename = link.workspace .. "/" .. row_path(row)
          items[#items + 1] = { filename = filename, lnum = row.line, text = shown_line(row.text) }
        end
      end
      local title = "picoclawd: " .. shown(pattern)
      vim.fn.setqflist({}, " ", { title = title, items = items, quickfixtextfunc = "PicoclawdQuickfixText" })
      if #items > 0 then
        vim.cmd("botright copen")
      end
      local foot = result.content:match("%[[^\n]*%]%s*$") or ""
      say(("%d lines match %s %s"):format(#items, shown(pattern), shown(vim.trim(foot))))
    end)
  end)
end

-- What the daemon tells unasked ---------------------------------------------------------------------------------------

function on_open(link)
  for _, real in pairs(unsaved) do
    settle(link, real)
  end
  refresh_all(vim.tbl_keys(files)) -- what changed while nobody listened
  renew_approvals()
end

function on_event(link, method, params)
  if method == "file.changed" and params.path then
    inbox[(link.workspace == "/" and "" or link.workspace) .. "/" .. row_path(params)] = params
    if not flushing then
      flushing = true
      vim.schedule(guarded(flush)) -- once for all that came in one piece
    end
  elseif method == "resync" then
    refresh_all(vim.tbl_keys(files))
    renew_approvals()
  elseif method == "approval.requested" then
    local waits = "%s waits for you, :PicoclawApprovals shows it; asked by %s"
    say(waits:format(shown(params.call), client_of(params.client)))
    renew_approvals()
  elseif method == "approval.answered" or method == "approval.withdrawn" then
    seen[params.id] = nil
    renew_approvals()
  end
end

function M.status()
  local lines = {}
  local _, why = link_at(place_here())
  for _, link in pairs(links) do
    local how = ({ open = "connected", connecting = "connecting" })[link.state] or "not connected: " .. (link.why or "")
    lines[#lines + 1] = ("%s: %s"):format(link.workspace and shown(link.workspace) or shown(link.key:sub(8)), how)
  end
  if #lines == 0 then
    lines[1] = why
  end
  say(table.concat(lines, "; "))
end

-- Commands and autocommands -------------------------------------------------------------------------------------------

local function number_of(word)
  return tonumber((word:gsub("^v", "")))
end

local function command(name, options, action)
  api.nvim_create_user_command("Picoclaw" .. name, guarded(action), options)
end

local function ids()
  return vim.tbl_keys(seen)
end

command("Status", { desc = "Which daemon this editor is connected to" }, function() M.status() end)
command("Log", { desc = "What picoclawd said, whole" }, function()
  show(view("log", vim.list_extend({ "# The newest is last." }, M.log)))
end)
command("Who", { desc = "Who changed this file, and this line" }, function() M.who() end)
command("History", { desc = "The recorded versions of this file" }, function() M.history() end)
command("Diff", { nargs = "?", desc = "This buffer, or a version, against the disk" }, function(opts)
  if opts.args == "" then
    return M.diff()
  end
  local version = number_of(opts.args)
  return version and M.diff(version) or not version and warn("a version is a number that :PicoclawHistory shows")
end)
local restoring = "Take this file back to a version; ! does not ask"
command("Restore", { nargs = "+", bang = true, desc = restoring }, function(opts)
  local version = number_of(opts.fargs[1])
  if not version or (opts.fargs[2] and opts.fargs[2] ~= "force") then
    return warn("usage: :PicoclawRestore VERSION [force]; :PicoclawHistory shows the versions")
  end
  M.restore(version, opts.fargs[2] == "force", opts.bang)
end)
command("Approvals", { desc = "The calls that wait for you" }, function() M.approvals() end)
local allowing = "Allow a call that was shown; `task` for its whole task"
command("Approve", { nargs = "+", complete = ids, desc = allowing }, function(opts)
  M.answer(opts.fargs[1], opts.fargs[2] == "task" and "task" or "once")
end)
command("Deny", { nargs = 1, complete = ids, desc = "Deny a call that was shown" }, function(opts)
  M.answer(opts.args, "deny")
end)
command("Search", { nargs = 1, desc = "Search the workspace (RE2) into the quickfix list" }, function(opts)
  M.search(opts.args)
end)

local group = api.nvim_create_augroup("picoclawd", { clear = true })

local function on(events, action)
  api.nvim_create_autocmd(events, { group = group, callback = guarded(function(event)
    action(event.buf)
  end) })
end

on({ "BufReadPost", "BufNewFile", "BufFilePost", "BufWritePost" }, attach)
on({ "BufEnter", "FocusGained", "CursorHold" }, function(buf)
  if files[buf] then -- a daemon that was started since is found here
    link_at(files[buf].real)
  else
    attach(buf)
  end
end)
on({ "BufModifiedSet", "TextChanged", "TextChangedI" }, sync_soon)
on("OptionSet", function() -- :set nomodified
  if vim.fn.expand("<amatch>") == "modified" then
    sync_soon(api.nvim_get_current_buf())
  end
end)
on("BufUnload", sync_soon)
on("BufWipeout", function(buf)
  files[buf] = nil
  sync_soon(buf)
end)
on("VimLeavePre", function()
  for _, link in pairs(links) do
    link.retry:stop()
    if link.pipe and not link.pipe:is_closing() then
      link.pipe:close()
    end
  end
end)

for _, buf in ipairs(api.nvim_list_bufs()) do
  guarded(attach)(buf)
end
