"""The still picture, the page, and the widget: what leaves the program as HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import traitlets

from mcpsim.recording import Recording
from mcpsim.widgets import Player, display_bundle, standalone_html, still_html, still_svg
from mcpsim.widgets.still import MAX_SHOWN
from mcpsim.widgets.view import player_data

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "title", "desc", "rect", "g", "path", "circle", "text"}
AROUND = {"figure", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "p", "ul", "li"}


class Tags(HTMLParser):
    """The elements of a page, their attributes, and the text of each cell."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


# ------------------------------------------------------------------------------------------ still picture


def test_the_svg_is_well_formed_and_has_a_text_alternative(recording):
    root = ElementTree.fromstring(still_svg(recording))
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert desc is not None
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert "Sequence diagram" in (desc.text or "")
    assert {element.tag for element in root.iter()} <= {SVG + tag for tag in DRAWN}


def test_nothing_in_a_message_becomes_an_element_or_an_attribute(recording):
    found = Tags(still_html(recording))
    assert {tag for tag, _ in found.tags} <= DRAWN | AROUND
    for _, attributes in found.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("href", "src")]


def test_the_table_says_everything_that_the_picture_shows(made):
    recording = made.legacy_handshake()
    texts = Tags(still_html(recording)).texts
    for step in player_data(recording)["steps"]:
        # What the audit found there stands behind it, in the same cell.
        assert any(text.startswith(step["what"].replace("`", "")) for text in texts)
        assert any(step["label"] in text for text in texts)


def test_the_figure_has_a_name(made):
    tags = Tags(still_html(made.dropped())).tags
    assert tags[0] == (
        "figure",
        {
            "role": "img",
            "aria-label": "Sequence diagram: Messages that get lost, 8 steps between client, server. "
            "The same is below as a table.",
            "style": "margin:0",
        },
    )


def test_ids_differ_between_pictures(made):
    pages = [still_html(made.MADE[name]()) for name in sorted(made.MADE)]
    ids = [set(re.findall(r'id="([^"]+)"', page)) for page in pages]
    assert all(len(each) == 2 for each in ids)
    assert len(set.union(*ids)) == 2 * len(pages)


def test_a_long_recording_is_cut_and_says_so(made):
    page = still_html(made.long())
    assert page.count("<tr>") == MAX_SHOWN + 1
    assert page.count("1,940 more steps are in the recording and not shown here.") == 2
    assert len(page) < 120_000


def test_lost_messages_end_in_a_cross(made):
    def crosses(recording: Recording) -> int:
        return still_svg(recording).count('stroke-width="3"')

    assert crosses(made.modern_progress()) == 0
    # The lost report, and the handler that was stopped.
    assert crosses(made.dropped()) == 2


def test_kinds_differ_by_more_than_colour(made):
    found = still_svg(made.legacy_handshake())
    without_colour = re.sub(r"#[0-9a-f]{6}", "", found)
    shafts = set(
        re.findall(r'<path d="M\d+ \d+L\d+ \d+"[^>]*?(?:stroke-dasharray="([^"]*)")?/>', without_colour)
    )
    assert {"", "9 4", "2 4", "1 5"} <= shafts


# ----------------------------------------------------------------------------------------------- the page


def parts(page: str) -> dict[str, str]:
    found = re.search(
        r"<style>(?P<style>.*?)</style>"
        r'.*<script type="application/json" id="mcpsim-data">(?P<data>.*?)</script>'
        r'.*<script type="module">(?P<module>.*?)</script>',
        page,
        re.DOTALL,
    )
    assert found is not None
    return found.groupdict()


def test_the_page_holds_the_data(recording):
    found = json.loads(parts(standalone_html(recording))["data"])
    assert found["data"] == json.loads(json.dumps(player_data(recording)))


def test_the_page_has_two_scripts_and_none_of_them_from_a_message(recording):
    tags = Tags(standalone_html(recording)).tags
    assert [attributes.get("type") for tag, attributes in tags if tag == "script"] == [
        "application/json",
        "module",
    ]
    assert [tag for tag, _ in tags] == [
        *("html", "head", "meta", "meta", "meta", "title", "style", "body"),
        *("main", "h1", "div", "script", "script"),
    ]  # fmt: skip


def test_the_page_of_a_long_recording_has_its_steps_in_pieces(made):
    tags = Tags(standalone_html(made.long(900), cursor=700)).tags
    named = [attributes["id"] for tag, attributes in tags if tag == "script" and "id" in attributes]
    assert named == ["mcpsim-data", *(f"mcpsim-piece-{name}" for name in (0, 1, 2, "rest", "findings"))]


def test_the_page_allows_itself_nothing_but_its_own_code(made):
    page = standalone_html(made.dropped())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for name in ("module", "style"):
        digest = base64.b64encode(hashlib.sha256(parts(page)[name].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_the_code_asks_for_nothing_and_writes_no_markup(made):
    code = parts(standalone_html(made.empty()))["module"]
    for word in ("fetch(", "XMLHttpRequest", "import(", "import ", "innerHTML", "outerHTML", "insertAdjacent",
                 "document.write", "eval(", "Function(", "WebSocket"):  # fmt: skip
        assert word not in code, word


def test_the_page_opens_at_the_step_that_was_named(made):
    for asked, found in ((3, 3), (0, 0), (99, 8), (-1, 0)):
        assert json.loads(parts(standalone_html(made.dropped(), cursor=asked))["data"])["cursor"] == found


# --------------------------------------------------------------------------------------------- the widget


def test_the_widget_can_be_compared_by_nbval(recording):
    assert repr(Player(recording)) == repr(Player(recording))
    assert " at 0x" not in repr(Player(recording))


def test_the_bundle_has_the_widget_the_picture_and_the_text(made):
    recording = made.dropped()
    bundle = display_bundle(recording)
    assert bundle["text/html"] == still_html(recording)
    assert bundle["text/plain"] == recording.transcript()
    assert set(bundle) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}


def test_the_stored_text_of_a_long_run_is_bounded(made):
    lines = display_bundle(made.long())["text/plain"].split("\n")
    assert len(lines) == 201
    assert lines[-1] == "… 1,800 more lines"


def test_the_cursor_stays_within_the_recording(made):
    player = Player(made.dropped())
    assert (player.cursor, player.steps) == (1, 8)
    for asked, found in ((5, 5), (99, 8), (-3, 0)):
        player.cursor = asked
        assert player.cursor == found
    assert Player(made.dropped(), cursor=4).cursor == 4
    assert Player(made.empty()).cursor == 0


def test_another_recording_takes_the_place(made):
    player = Player(made.legacy_handshake(), cursor=13)
    player.recording = made.dropped()
    assert (player.recording.title, player.steps, player.cursor) == ("Messages that get lost", 8, 8)
    assert player.data == player_data(made.dropped())


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_a_speed_that_makes_no_sense_is_refused(made, speed):
    player = Player(made.empty())
    with pytest.raises(traitlets.TraitError, match="speed must be more than 0"):
        player.speed = speed


def test_the_recording_is_sent_once(made, monkeypatch):
    sent: list[set[str]] = []
    monkeypatch.setattr(
        Player, "_send", lambda self, message, buffers=None: sent.append(set(message["state"]))
    )
    player = Player(made.long(200))
    player.comm.kernel = object()  # As if there were a front end.
    sent.clear()
    for step in (2, 3, 4):
        player.cursor = step
    player.playing = True
    assert sent == [{"cursor"}, {"cursor"}, {"cursor"}, {"playing"}]
