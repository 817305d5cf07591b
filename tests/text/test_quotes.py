import pytest

from picoclawd.text.quotes import Kind, Style, holds_quotes, restyle, straight, style_of

NOWHERE: dict[Kind, Style | None] = {"double": None, "single": None}


def test_straightening_keeps_every_character_but_the_curl() -> None:
    assert straight("“a” ‘b’ «c» \"d\" 'e'") == "\"a\" 'b' «c» \"d\" 'e'"


@pytest.mark.parametrize(("text", "holds"), [("“", True), ("a's", True), ("«a»", False), ("", False)])
def test_a_quote_of_either_style_is_seen(text: str, holds: bool) -> None:
    assert holds_quotes(text) is holds


@pytest.mark.parametrize(
    ("text", "style"), [("“a”", "curly"), ('"a"', "straight"), ('“a" b', "curly"), ("'a'", None), ('“ " "', "straight")]
)
def test_the_style_is_that_of_most_quotes(text: str, style: Style | None) -> None:
    assert style_of(text, "double") == style


@pytest.mark.parametrize(
    ("region", "old", "new", "result"),
    [
        pytest.param("“x”", '"x"', '"y"', "“y”", id="one by one"),
        pytest.param('“x” "y" “z”', '"x" "y" "z"', '"x" "Y" "z"', '“x” "Y" “z”', id="a mixed region keeps each"),
        pytest.param("“x”", '"x"', '"x", ("y") and "z"', "“x”, (“y”) and “z”", id="new quotes open and close"),
        pytest.param("‘tis x", "'tis x", "'tis don't", "‘tis don’t", id="an apostrophe closes"),
        pytest.param('"x"', "“x”", "“x” “y”", '"x" "y"', id="into straight ones"),
        pytest.param("“x”", '"x"', "it's", "it's", id="a kind that the file has nowhere stays as given"),
        pytest.param("“x”", '"x"', "x", "x", id="without quotes"),
        pytest.param("“x” a", '"x" a', '"x" b', "“x” b", id="what both begin with keeps the file's characters"),
        pytest.param("a “x”", 'a "x"', 'b "x"', "b “x”", id="what both end with does too"),
        pytest.param("“”", '""', '"', "“", id="fewer quotes"),
    ],
)
def test_a_replacement_takes_the_style_of_what_it_replaces(region: str, old: str, new: str, result: str) -> None:
    assert restyle(region, old, new, " ", NOWHERE) == result


def test_a_kind_that_the_region_lacks_follows_the_rest_of_the_file() -> None:
    curly: dict[Kind, Style | None] = {"double": "curly", "single": "curly"}
    assert restyle("“x”", '"x"', "it's", " ", curly) == "it’s"


def test_the_character_in_front_tells_whether_a_quote_opens() -> None:
    assert restyle("’ ‘", "' '", "' ''", "a", NOWHERE)[0] == "’"
    assert restyle("x‘", "x'", "'y'", "n", {"double": None, "single": "curly"})[0] == "’"
    assert restyle("x‘", "x'", "'y'", "", {"double": None, "single": "curly"})[0] == "‘"
