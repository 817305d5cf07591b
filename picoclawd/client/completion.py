"""`picoclawctl completion SHELL`: a script that completes commands, options and their values, out of the parser."""

import shlex

from picoclawd.client import definitions, grammar, output
from picoclawd.client.failures import OK
from picoclawd.client.grammar import Command, Word

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse

SHELLS = ("bash", "zsh", "fish")

_HOW = {
    "bash": "Put it into ~/.local/share/bash-completion/completions/picoclawctl, or source it in ~/.bashrc.",
    "zsh": "Put it into a directory of $fpath as _picoclawctl, before compinit runs.",
    "fish": "Put it into ~/.config/fish/completions/picoclawctl.fish.",
}


def run(args: "argparse.Namespace", parser: "argparse.ArgumentParser") -> int:
    """Print the script; where to put it goes to stderr."""
    commands = list(grammar.commands(parser))
    output.show_text({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](commands))
    output.complain(_HOW[args.shell])
    return OK


def bash(commands: list[Command]) -> str:
    """For bash 4 and newer; needs nothing of the package bash-completion."""
    names = " ".join(command.name for command in commands)
    arms = "\n".join(_bash_arm(command) for command in commands)
    return f"""# bash completion of picoclawctl
_picoclawctl() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} words= values= files=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W {shlex.quote(names)} -- "$cur"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{arms}
  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$values" -- "$cur"))
       if [ -n "$files" ]; then COMPREPLY+=($(compgen -f -- "$cur")); fi ;;
  esac
}}
complete -o filenames -F _picoclawctl picoclawctl
"""


def _bash_arm(command: Command) -> str:
    options = " ".join(flag for option in command.options for flag in option.flags)
    lines = [f"    {command.name})", f"      words={shlex.quote(options)}"]
    values = [value for argument in command.arguments for value in _values(argument)]
    if values:
        lines.append(f"      values={shlex.quote(' '.join(values))}")
    if any(argument.is_file for argument in command.arguments):
        lines.append("      files=1")
    lines.append("      case $prev in")
    for option in command.options:
        if option.metavar:
            wanted = shlex.quote(" ".join(_values(option)))
            lines.append(f"        {'|'.join(option.flags)}) values={wanted} files={'1' if option.is_file else ''} ;;")
    lines += ["      esac ;;"]
    return "\n".join(lines)


def zsh(commands: list[Command]) -> str:
    """For zsh, as a function that compinit finds."""
    names = "\n".join(f"    {shlex.quote(f'{command.name}:{_colons(command.help)}')}" for command in commands)
    arms = "\n".join(_zsh_arm(command) for command in commands)
    return f"""#compdef picoclawctl
_picoclawctl() {{
  local -a commands=(
{names}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=${{words[2]}}
  shift words
  (( CURRENT-- ))
  case $command in
{arms}
  esac
}}
if [ "$funcstack[1]" = _picoclawctl ]; then _picoclawctl "$@"; else compdef _picoclawctl picoclawctl; fi
"""


def _zsh_arm(command: Command) -> str:
    specs: list[str] = []
    for option in command.options:
        for flag in option.flags:
            value = f":{_colons(option.metavar)}:{_zsh_values(option)}" if option.metavar else ""
            specs.append(f"*{flag}[{_brackets(option.help)}]{value}")
    for argument in command.arguments:
        mark = "*" if argument.many else "" if argument.required else ":"
        specs.append(f"{mark}:{_colons(argument.metavar)}:{_zsh_values(argument)}")
    return f"    {command.name}) _arguments {' '.join(map(shlex.quote, specs))} ;;"


def _zsh_values(word: Word) -> str:
    if values := _values(word):
        return f"({' '.join(values)})"
    return "_files" if word.is_file else " "


def fish(commands: list[Command]) -> str:
    """For fish 3 and newer."""
    lines = ["# fish completion of picoclawctl", "complete -c picoclawctl -f"]
    for command in commands:
        lines.append(
            f"complete -c picoclawctl -n __fish_use_subcommand -a {command.name} -d {shlex.quote(command.help)}"
        )
        seen = f"complete -c picoclawctl -n '__fish_seen_subcommand_from {command.name}'"
        words = map(_fish_word, (*command.options, *command.arguments))
        lines += [f"{seen}{word}" for word in words if word]
    return "\n".join(lines) + "\n"


def _fish_word(word: Word) -> str:
    parts = "".join(f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in word.flags)
    values = _values(word)
    if values:
        parts += f" {'-x ' if word.flags else ''}-a {shlex.quote(' '.join(values))}"
    elif word.is_file:
        parts += " -r -F" if word.flags else " -F"
    elif word.flags and word.metavar:
        parts += " -x"
    return f"{parts} -d {shlex.quote(word.help)}" if word.help and word.flags else parts


def _values(word: Word) -> list[str]:
    """What may stand there, where that is known: choices, and the daemon's methods."""
    if not word.flags and word.metavar == "METHOD":
        return [str(row["name"]) for row in definitions.load().values()]
    if not word.flags and word.metavar == "TOOL":
        return [str(row["name"]) for row in definitions.load().values() if "hints" in row]
    return word.choices


def _colons(text: str) -> str:
    return text.replace(":", "\\:")


def _brackets(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
