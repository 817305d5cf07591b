"""The page that is served, and the headers of every answer."""

import base64
import hashlib
import re
from importlib import resources

from picoclawd.client.web.messages import Answer

_FILE = "page.html"
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)
_NOTHING_ELSE = (
    "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
)
POLICY = ("Content-Security-Policy", f"{_NOTHING_ELSE}; sandbox")  # of answers that are no page


def load() -> Answer:
    """The page as it is shipped. Its policy names the hashes of its one script and its one style, so that nothing else
    in it could run: no attribute, and nothing that got into it from a file's name."""
    html = resources.files("picoclawd.client.web").joinpath(_FILE).read_text(encoding="utf-8")
    return Answer(200, html.encode(), "text/html; charset=utf-8", (("Content-Security-Policy", policy(html)),))


def policy(html: str) -> str:
    """The Content-Security-Policy for a page with inline script and style."""
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, text in _INLINE.findall(html):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
    return f"{_NOTHING_ELSE}; script-src {' '.join(hashes['script'])}; style-src {' '.join(hashes['style'])}"
