"""Emacs, as the tests drive it."""

from pathlib import Path

from tests.editors.driven import CONTRIB, HERE, Driven, Editor

PACKAGE = CONTRIB / "emacs"


def command(program: str) -> list[str]:
    """Start it with nothing but the package."""
    return [program, "--batch", "-Q", "-L", str(PACKAGE), "-l", str(HERE / "drive.el")]


class Emacs(Editor):
    """See Editor."""

    def __init__(self, driven: Driven) -> None:
        super().__init__(driven)
        self.lisp = driven.run

    def open(self, path: bytes) -> None:
        self.lisp(f"(progn (set-buffer (find-file-noselect {_name(path)})) nil)")

    def text(self, path: bytes) -> str:
        return str(self.lisp(f"(with-current-buffer (get-file-buffer {_name(path)}) (buffer-string))"))

    def type(self, text: str) -> None:
        self.lisp(f"(progn (undo-boundary) (goto-char (point-min)) (insert {literal(text)}) nil)")

    def save(self) -> None:
        self.lisp("(progn (let ((make-backup-files nil)) (save-buffer)) nil)")

    def undo(self) -> None:
        self.lisp("(progn (primitive-undo 2 buffer-undo-list) nil)")

    def drop(self) -> None:
        self.lisp("(progn (set-buffer-modified-p nil) (kill-buffer) nil)")

    def log(self) -> str:
        return str(self.lisp('(mapconcat #\'identity (reverse drive-messages) "\\n")'))

    def command(self, name: str, *words: str) -> None:
        number = name in ("diff", "restore")
        arguments = " ".join(word if number else literal(word) for word in words)
        call = f"(save-current-buffer (picoclawd-{name} {arguments}) nil)"
        self.lisp(f'(condition-case fault {call} (user-error (message "%s" (error-message-string fault)) nil))')

    def answers(self, yes: bool) -> None:
        self.lisp(f"(progn (fset 'y-or-n-p (lambda (&rest _) {'t' if yes else 'nil'})) nil)")

    def view(self, title: str) -> str:
        code = f"""
            (let ((buffer (seq-find (lambda (each)
                                      (string-prefix-p {literal("*picoclawd " + title)} (buffer-name each)))
                                    (buffer-list))))
              (if buffer (with-current-buffer buffer (substring-no-properties (buffer-string))) ""))
        """
        return str(self.lisp(code))

    def results(self) -> list[tuple[str, int]]:
        rows = [line.split(":")[:2] for line in self.view("search").splitlines()]
        return [(Path(name).name, int(line_no)) for name, line_no in rows]

    def go_to(self, title: str, text: str) -> None:
        self.lisp(
            f'(progn (switch-to-buffer "*picoclawd {title}*") (goto-char (point-min)) (search-forward {literal(text)}))'
        )

    def deny_here(self, title: str) -> None:
        self.lisp(
            f'(with-current-buffer "*picoclawd {title}*"'
            ' (condition-case nil (call-interactively (key-binding "d")) (user-error nil)) nil)'
        )

    def found(self) -> str:
        return self.view("search")

    def shown(self, text: str) -> str:
        return str(self.lisp(f"(picoclawd--shown {literal(text)})"))


def literal(text: str) -> str:
    """A Lisp string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _name(path: bytes) -> str:
    """A file name of any bytes."""
    octal = "".join(f"\\{byte:03o}" for byte in path)
    return f'(decode-coding-string "{octal}" (or file-name-coding-system default-file-name-coding-system \'utf-8))'
