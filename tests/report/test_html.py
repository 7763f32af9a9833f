"""The HTML report: one file, no network, nothing of a machine becomes markup."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from boardops.report.html import render
from boardops.report.json import render as render_json
from boardops.score import Result
from tests.report import samples

VOID = {"meta", "br", "rect"}


class Page(HTMLParser):
    """The elements of a page, checked for balance as they come."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.script = ""
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            assert not name.startswith("on"), "no handlers"
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")
            assert name not in {"src", "srcset", "action", "data"}
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] == "script":
            self.script += data
        elif self.stack and self.stack[-1] != "style":
            self.words.append(data)


EXPECTED_TAGS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "main",
    "section",
    "article",
    "p",
    "h1",
    "h2",
    "ul",
    "ol",
    "li",
    "a",
    "b",
    "strong",
    "span",
    "code",
    "dl",
    "dt",
    "dd",
    "details",
    "summary",
    "div",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "rect",
    "br",
    "script",
}


@pytest.mark.parametrize("sample", samples.ALL, ids=lambda sample: sample.__name__)
def test_a_sound_page_that_needs_no_network(sample: Callable[[], Result]) -> None:
    text = render(sample())
    page = Page(text)
    assert page.tags <= EXPECTED_TAGS
    assert "default-src 'none'" in text
    assert not re.search(r"url\(|@import|https?://(?!json-schema)", text.split("<script", 1)[0])
    assert len(page.ids) == len(set(page.ids))
    assert all(link.removeprefix("#") in page.ids for link in page.links)


@pytest.mark.parametrize("sample", samples.ALL, ids=lambda sample: sample.__name__)
def test_the_json_is_embedded_whole(sample: Callable[[], Result]) -> None:
    script = Page(render(sample())).script
    assert json.loads(script) == json.loads(render_json(sample()))


def test_nothing_of_a_machine_becomes_markup() -> None:
    text = render(samples.hostile())
    assert "<script>alert" not in text and "<b>\\u202e" not in text
    assert "\u202e" not in text
    page = Page(text)
    assert any(samples.SCRIPT in word for word in page.words), "it is shown as text"


def test_every_board_has_a_cell_and_a_card() -> None:
    result = samples.faulty()
    page = Page(render(result))
    for board in result.boards:
        assert f"board-{board.key}" in page.ids
        assert f"#board-{board.key}" in page.links


def test_the_waterfall_adds_up() -> None:
    text = render(samples.faulty())
    for board in samples.faulty().boards:
        card = text[text.index(f'id="board-{board.key}"') :].partition("</section>")[0]
        points = [float(word) for word in re.findall(r'class="number">−([\d.]+)<', card)]
        assert board.score is not None
        assert sum(points) == pytest.approx(100 - board.score)


def test_a_score_never_stands_without_its_coverage() -> None:
    for sample in samples.ALL:
        for match in re.finditer(r"score [\d.]+ of 100( at \d+% coverage)?", render(sample()).split("<script", 1)[0]):
            assert match[1], match[0]


def test_unknowns_have_their_own_line() -> None:
    words = " ".join(Page(render(samples.unseen())).words)
    assert "unknown" in words and "the driver answered with an error" in words


def test_a_run_that_saw_nothing_is_a_page_too() -> None:
    words = " ".join(Page(render(samples.nothing())).words)
    assert "No such file or directory" in words and "Nothing was read." in words


def test_many_boards_fold_the_ready_ones() -> None:
    text = render(samples.many())
    assert text.count('<section class="card') == 2, "the narrow board and the host"
    assert "119 ready boards" in text
    assert len(text) < 8_000_000
