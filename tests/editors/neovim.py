"""Neovim, as the tests drive it."""

from pathlib import Path
from typing import Any

from tests.editors.driven import CONTRIB, HERE, Driven, Editor

PLUGIN = CONTRIB / "nvim"


def command(program: str) -> list[str]:
    """Start it with nothing but the plugin."""
    load = f"set runtimepath+={PLUGIN}"
    return [program, "--headless", "--clean", "--cmd", load, "-c", f"luafile {HERE / 'drive.lua'}"]


class Neovim(Editor):
    """See Editor."""

    def __init__(self, driven: Driven) -> None:
        super().__init__(driven)
        self.lua = driven.run

    def open(self, path: bytes) -> None:
        self.lua(f"vim.cmd('buffer ' .. vim.fn.bufadd({literal(path)}))")  # :edit takes no newline in a name

    def text(self, path: bytes) -> str:
        lines = self.lua(f"return vim.api.nvim_buf_get_lines({_buffer(path)}, 0, -1, false)")
        return "".join(f"{line}\n" for line in lines)

    def type(self, text: str) -> None:
        self.lua(f"vim.api.nvim_buf_set_text(0, 0, 0, 0, 0, vim.split({literal(text.encode())}, '\\n'))")

    def save(self) -> None:
        self.lua("vim.cmd('silent write')")

    def undo(self) -> None:
        self.lua("vim.cmd('silent undo')")

    def drop(self) -> None:
        self.lua("vim.cmd('bwipeout!')")

    def log(self) -> str:
        return str(self.lua("return table.concat(require('picoclawd').log, '\\n')"))

    def command(self, name: str, *words: str) -> None:
        self.lua(f"vim.cmd({literal(' '.join([f'Picoclaw{name.title()}', *words]).encode())})")

    def answers(self, yes: bool) -> None:
        self.lua(f"vim.fn.confirm = function() return {1 if yes else 2} end")

    def view(self, title: str) -> str:
        code = f"""
            for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              if vim.api.nvim_buf_get_name(buf):find({literal(title.encode())}, 1, true)
                  and vim.bo[buf].buftype == "nofile" then
                return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\\n")
              end
            end
            return ""
        """
        return str(self.lua(code))

    def results(self) -> list[tuple[str, int]]:
        rows: list[dict[str, Any]] = self.lua("return vim.fn.getqflist()")
        names = [self.lua(f"return vim.fn.bufname({row['bufnr']})") for row in rows]
        return [(Path(name).name, row["lnum"]) for name, row in zip(names, rows, strict=True)]

    def go_to(self, title: str, text: str) -> None:
        self.lua(f"assert(vim.fn.search('\\\\V' .. {literal(text.encode())}, 'w') > 0)")

    def deny_here(self, title: str) -> None:
        self.lua("vim.cmd('normal d')")

    def found(self) -> str:
        code = """
            local buf = vim.fn.getqflist({ qfbufnr = 1 }).qfbufnr
            return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\\n")
        """
        return str(self.lua(code))

    def shown(self, text: str) -> str:
        return str(self.lua(f"return require('picoclawd').shown({literal(text.encode())})"))


def literal(data: bytes) -> str:
    """A Lua string of any bytes."""
    return '"' + "".join(f"\\{byte:03d}" for byte in data) + '"'


def _buffer(path: bytes) -> str:
    return f"vim.fn.bufnr('^' .. vim.fn.escape({literal(path)}, '\\\\[]*?,{{}}') .. '$')"
