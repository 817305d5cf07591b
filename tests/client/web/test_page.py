import base64
import hashlib
import re

from picoclawd.client.web import page


def test_the_policy_allows_the_one_script_and_the_one_style_and_nothing_else() -> None:
    html = page.load().body.decode()
    (policy,) = [value for name, value in page.load().headers if name == "Content-Security-Policy"]
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    for kind in ("script", "style"):
        (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == rules["frame-ancestors"] == rules["form-action"] == rules["base-uri"] == "'none'"
    assert "unsafe" not in policy


def test_the_page_has_no_markup_out_of_data_no_inline_handlers_and_nothing_from_elsewhere() -> None:
    html = page.load().body.decode()
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc"):
        assert way not in html
    assert not re.findall(r"<[a-z]+[^>]*\s(?:on[a-z]+|style)=", html)
    assert not re.findall(r"(?:src|href)=|https?://|@import|url\(", html)
