from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio.definitions._docstring import DocText, read_docstring
from tests.requirements import requirement

GOOGLE = """Search the library.

    Finds books by title: whole words only.
    Case does not matter.

    Args:
        query (str): What to look for, such as
            ``title:foo``.
        limit: At most this many. Defaults to 10.
        *rest: More words.

    Returns:
        list: The titles.

    Raises:
        ValueError: The query is empty.
    """

NUMPY = """Search the library.

    Finds books by title: whole words only.
    Case does not matter.

    Parameters
    ----------
    query : str
        What to look for, such as
        ``title:foo``.
    limit : int, optional
        At most this many. Defaults to 10.
    *rest
        More words.

    Returns
    -------
    list
        The titles.
    """

REST = """Search the library.

    Finds books by title: whole words only.
    Case does not matter.

    :param str query: What to look for, such as
        ``title:foo``.
    :param limit: At most this many. Defaults to 10.
    :type limit: int
    :param rest: More words.
    :returns: The titles.
    :raises ValueError: The query is empty.
    """

EXPECTED = DocText(
    "Search the library.\n\nFinds books by title: whole words only.\nCase does not matter.",
    {
        "query": "What to look for, such as ``title:foo``.",
        "limit": "At most this many. Defaults to 10.",
        "rest": "More words.",
    },
)


@requirement("contracts.docstring")
@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_each_style_gives_the_same_texts(text: str) -> None:
    assert read_docstring(text, ["query", "limit", "rest"]) == EXPECTED
    assert read_docstring(text, ["limit"]).parameters == {"limit": "At most this many. Defaults to 10."}


@requirement("contracts.docstring")
@pytest.mark.parametrize(
    ("text", "description"),
    [
        (None, ""),
        ("", ""),
        ("   \n  ", ""),
        ("One line.", "One line."),
        ("First.\n    Second: with a colon.\n\n    * a\n    * b", "First.\nSecond: with a colon.\n\n* a\n* b"),
        ("See https://example.com/a:b for\n    more: yes.", "See https://example.com/a:b for\nmore: yes."),
    ],
)
def test_plain_prose_is_the_description_as_it_stands(text: str | None, description: str) -> None:
    assert read_docstring(text, ["a"]) == DocText(description)


@requirement("contracts.docstring")
@pytest.mark.parametrize("style", ["google", "numpy", "rest"])
def test_a_docstring_of_parameters_alone_gives_their_texts(style: str) -> None:
    text = {
        "google": "Args:\n    a: first",
        "numpy": "Parameters\n----------\na : int\n    first",
        "rest": ":param a: first",
    }[style]
    assert read_docstring(text, ["a"]) == DocText("", {"a": "first"})


@requirement("contracts.docstring")
def test_sections_that_help_a_model_stay_in_the_description() -> None:
    text = """Add two numbers.

    Note:
        Overflow is no concern.

    Args:
        a: first

    Example:
        >>> add(1, 2)
        3
    """
    read = read_docstring(text, ["a"])
    assert read.description == (
        "Add two numbers.\n\nNote:\n    Overflow is no concern.\n\nExample:\n    >>> add(1, 2)\n    3"
    )
    assert read.parameters == {"a": "first"}


@requirement("contracts.docstring")
def test_lists_and_paragraphs_in_a_text_keep_their_shape() -> None:
    text = """Pick.

    Args:
        mode: One of
            - fast
            - slow

            Slow is exact.
        other: x
    """
    assert read_docstring(text, ["mode", "other"]).parameters == {
        "mode": "One of\n- fast\n- slow\n\nSlow is exact.",
        "other": "x",
    }


@requirement("contracts.docstring")
def test_the_headings_that_people_use_are_known() -> None:
    for heading in ("Args", "Arguments", "Parameters", "Params", "Keyword Args", "Other Parameters", "Attributes"):
        assert read_docstring(f"T.\n\n{heading}:\n    a: first", ["a"]) == DocText("T.", {"a": "first"}), heading
        rule = "-" * len(heading)
        numpy = f"T.\n\n{heading}\n{rule}\na : int\n    first"
        if not heading.startswith(("Arg", "Param", "Key")) or heading == "Parameters":
            assert read_docstring(numpy, ["a"]) == DocText("T.", {"a": "first"}), heading


@requirement("contracts.docstring")
def test_several_names_may_share_a_text() -> None:
    assert read_docstring("T.\n\nParameters\n----------\na, b : int\n    both", ["a", "b"]) == DocText(
        "T.", {"a": "both", "b": "both"}
    )


@requirement("contracts.docstring")
@given(
    st.lists(st.sampled_from([*"ab:-\n (),*", "Args:", "Parameters\n---", ":param a:", "    "]), max_size=60).map(
        "".join
    )
)
def test_any_text_can_be_read(text: str) -> None:
    read = read_docstring(text, ["a", "b"])
    assert set(read.parameters) <= {"a", "b"}
    assert all(read.parameters.values())
