"""How well tools are found among the 1,853 of the Berkeley data, with the words of the users."""

from __future__ import annotations

import msgspec
import pytest

from armory_trio import Toolbox
from benchmarks.search._data import Question, definitions, questions, tool_of
from benchmarks.search._quality import recall
from examples.demo.bfcl import data_folder
from tests.requirements import requirement


@requirement("toolbox.search.quality")
def test_words_alone_find_what_answers_the_question() -> None:
    folder = data_folder()
    toolbox = Toolbox(map(tool_of, definitions(folder)))
    even = questions(folder)[1::2]
    found = recall([[match.tool.name for match in toolbox.search(question.words)] for question in even], even)

    assert (len(toolbox), len(even)) == (1853, 1155)
    assert found.first >= 0.61
    assert found.five >= 0.83
    assert found.ten >= 0.89


def test_recall_is_the_mean_share_of_what_was_expected() -> None:
    asked = [
        Question("1", "", frozenset({"a"})),
        Question("2", "", frozenset({"b", "c"})),
        Question("3", "", frozenset({"d"})),
    ]
    rankings = [["a"], ["x", "c", "b"], ["1", "2", "3", "4", "5", "d"]]

    found = recall(rankings, asked)

    assert msgspec.structs.astuple(found) == pytest.approx((0.5, 2 / 3, 1))
