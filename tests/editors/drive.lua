-- Runs in the editor under test: evaluates what comes from the test's socket, a JSON line at a time.
local pipe = vim.loop.new_pipe(false)
local rest = ""

local function run(line)
  local asked = vim.json.decode(line)
  local chunk, fault = loadstring(asked.code)
  local ok, result = false, fault
  if chunk then
    ok, result = pcall(chunk)
  end
  pipe:write(vim.json.encode({ ok = ok, result = result }) .. "\n")
end

pipe:connect(vim.env.DRIVER_SOCKET, function(failed)
  assert(not failed, failed)
  pipe:read_start(function(_, chunk)
    if not chunk then
      return vim.schedule(function()
        vim.cmd("qall!")
      end)
    end
    rest = rest .. chunk
    for line in rest:gmatch("([^\n]*)\n") do
      vim.schedule(function()
        run(line)
      end)
    end
    rest = rest:match("[^\n]*$")
  end)
end)
