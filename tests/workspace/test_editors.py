"""Editors: unsaved text keeps everybody else's edits away, until it is saved or its editor is gone."""

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.workspace.actors import Actor, Kind, Role
from picoclawd.workspace.editors import MARKS_MAX, Editors

VIM = Actor("s-9", Role.OPERATOR, Kind.AGENT, "vim", 1)
EMACS = Actor("s-8", Role.OPERATOR, Kind.AGENT, "emacs", 2)
AGENT = Actor("s-1", Role.AGENT, Kind.AGENT, "bot", 3)
PATH = b"/w/f.txt"


def clock() -> float:
    return 1_000.0


def refused(editors: Editors, who: Actor = AGENT) -> Fault:
    with pytest.raises(Fault) as caught:
        editors.check(who, PATH, "f.txt")
    assert caught.value.slug is Slug.OPEN_IN_EDITOR
    return caught.value


def test_an_edit_of_unsaved_text_is_refused_and_hears_who_has_it_since_when() -> None:
    editors, vim = Editors(clock), object()
    editors.check(AGENT, PATH, "f.txt")
    editors.dirty(VIM, vim, PATH)
    fault = refused(editors)
    assert "vim" in fault.message
    assert fault.retryable
    assert (fault.data["by"], fault.data["since"]) == ({"session_id": "s-9", "client": "vim"}, 1_000.0)
    editors.check(AGENT, b"/w/other.txt", "other.txt")


def test_the_editor_itself_may_save_and_no_other_operator() -> None:
    editors = Editors()
    editors.dirty(VIM, object(), PATH)
    editors.check(VIM, PATH, "f.txt")
    refused(editors, EMACS)


def test_clean_takes_off_the_own_mark_only() -> None:
    editors, vim, emacs = Editors(), object(), object()
    editors.dirty(VIM, vim, PATH)
    editors.dirty(EMACS, emacs, PATH)
    editors.clean(VIM, vim, PATH)
    assert "emacs" in refused(editors).message
    editors.clean(EMACS, emacs, PATH)
    editors.clean(EMACS, emacs, PATH)
    editors.check(AGENT, PATH, "f.txt")


def test_marks_go_with_their_connection() -> None:
    editors, vim, emacs = Editors(), object(), object()
    editors.dirty(VIM, vim, PATH)
    editors.dirty(VIM, vim, b"/w/g.txt")
    editors.dirty(EMACS, emacs, b"/w/g.txt")
    editors.disconnect(vim)
    editors.check(AGENT, PATH, "f.txt")
    mark = editors.mark(b"/w/g.txt")
    assert mark is not None
    assert mark.client == "emacs"


def test_a_read_gets_one_line_about_it() -> None:
    editors, vim = Editors(clock), object()
    assert editors.notice(PATH) is None
    editors.dirty(VIM, vim, PATH)
    line = editors.notice(PATH)
    assert line is not None
    assert "vim has unsaved changes" in line
    assert "\n" not in line


def test_a_mark_set_twice_is_one_mark_with_its_first_time() -> None:
    times = iter([1.0, 2.0])
    editors, vim = Editors(lambda: next(times)), object()
    editors.dirty(VIM, vim, PATH)
    editors.dirty(VIM, vim, PATH)
    mark = editors.mark(PATH)
    assert mark is not None
    assert mark.since == 1.0
    editors.clean(VIM, vim, PATH)
    assert editors.mark(PATH) is None


def test_agents_mark_nothing() -> None:
    editors = Editors()
    for method in (editors.dirty, editors.clean):
        with pytest.raises(Fault) as caught:
            method(AGENT, object(), PATH)
        assert caught.value.slug is Slug.OPERATOR_ONLY
    assert editors.mark(PATH) is None


def test_a_connection_marks_a_thousand_files_and_no_more() -> None:
    editors, vim = Editors(), object()
    for number in range(MARKS_MAX):
        editors.dirty(VIM, vim, b"/w/%d" % number)
    with pytest.raises(Fault) as caught:
        editors.dirty(VIM, vim, b"/w/more")
    assert caught.value.slug is Slug.OVERLOADED
    editors.dirty(VIM, object(), b"/w/more")
