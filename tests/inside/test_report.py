"""A report as text, as HTML and as JSON, in both languages."""

import dataclasses
import html.parser
import json
import linecache
import re
import sys

import pytest
from support.chinese import ZH
from support.terminal import width

from haiku_state.inside import report as module
from haiku_state.inside.advice import advice
from haiku_state.inside.report import EFFECTS, KINDS, Finding, Report

SOURCE = "def tick(x):\n    counter.n += 1\n    return x * counter.n * scale\n"
FORMS = {
    "mutation": [
        *("attribute", "class attribute", "global", "container", "dict key", "default"),
        *("argument", "caller", "object"),
    ],
    "hidden input": ["random", "clock", "environment", "file", "iterator", "input", "system"],
    "output": ["print", "log", "file"],
    "frozen value": ["number", "big array"],
    "leak": ["attribute", "tracer", "cache", "unknown"],
    "retrace": [
        *("shape", "dtype", "weak type", "static value", "new function", "structure", "missing"),
        *("rank", "key", "static object"),
    ],
    "reference": ["read", "write", ""],
    "effect": ["io_callback", "debug_callback", "pure_callback"],
}
EVERY = tuple(
    Finding(kind, "counter.n", "", 0, form, "0", "1", 1234567)
    for kind, forms in FORMS.items()
    for form in forms
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SOURCE)
    return str(path)


@pytest.fixture
def report(file):
    finding = Finding("mutation", "counter.n", file, 2, "attribute", "0", "1")
    finding = dataclasses.replace(finding, advice=advice("mutation", "attribute", "counter.n"))
    note = Finding("frozen value", "scale", file, 3, "number", "2.0", "2.0")
    return Report("tick", (finding,), (note,), ("what happens inside numpy.dot",))


TEXT = """\
`tick` is impure: 1 finding

mutation: counter.n  train.py:2
  2 | counter.n += 1
  0 → 1
  jit runs this line only while it traces: later calls to the compiled program do not
  change `counter.n`.
  Take `counter.n` as an argument and return its new value along with the output; the
  caller passes that value to the next call.
  such as
    def step(x):
        global count
        count += 1
        return x * count
  instead
    def step(count, x):
        count = count + 1
        return x * count, count
  in Haiku
    def step(x):
        count = hk.get_state("count", [], init=jnp.zeros) + 1
        hk.set_state("count", count)
        return x * count

Notes: this call does not change these values, and jit would not see a later change.

frozen value: scale  train.py:3
  3 | return x * counter.n * scale
  2.0

What could not be seen:
  - what happens inside numpy.dot
  - branches that this call did not take, and calls with other arguments"""


def test_report__the_text_says_what_and_where_and_what_to_write_instead(report):
    assert str(report) == TEXT
    assert repr(report) == TEXT
    assert not report.pure


def test_report__the_text_is_chinese_for_a_reader_of_chinese(report, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", ZH)
    text = str(report)
    assert "修改外部状态：counter.n" in text
    assert "counter.n += 1" in text
    assert 'hk.set_state("count", count)' in text
    assert not re.search(r"\bjit runs\b|\bTake\b", text)


def test_report__a_pure_function_is_no_more_than_what_was_seen():
    report = Report("f")
    assert report.pure
    assert str(report).startswith("No impurity was found in `f`.")
    assert "branches that this call did not take" in str(report)


def test_report__an_error_is_told(file):
    report = Report("f", error=TypeError("cannot add\nmore lines"))
    assert "error: TypeError\n  cannot add\n" in str(report)
    assert "more lines" not in str(report)
    assert json.loads(report.to_json())["error"] == "TypeError: cannot add"
    assert "<code>cannot add</code>" in report._repr_html_()
    assert Report("f", error=KeyError()).text().count("KeyError") == 1


@pytest.mark.parametrize("language", ["en", ZH])
def test_report__every_kind_and_form_has_a_text(language, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    text = str(Report("f", EVERY))
    assert "{" not in text.replace("[(0,", "")
    assert max(map(width, text.splitlines())) <= 88
    assert not re.search("^ *[，。：；、！？）”]", text, re.MULTILINE)
    assert "1.23 MB" in text
    for kind, forms in FORMS.items():
        assert kind in KINDS
        assert kind in EFFECTS
        assert {key.split("/")[1] for key in EFFECTS if key.startswith(f"{kind}/")} <= {*forms}


def test_report__an_unknown_form_has_the_text_of_its_kind():
    text = str(Report("f", (Finding("leak", "self.h", "", 0, "something new"),)))
    assert "UnexpectedTracerError" in text


def test_report__shows_a_value_that_is_known_on_one_side_only():
    text = str(Report("f", (Finding("leak", "self.h", "", 0, "", "", "a tracer float32[3]"),)))
    assert "  ? → a tracer float32[3]\n" in text


def test_report__a_cell_of_a_notebook_is_quoted():
    linecache.cache["<ipython-input-1>"] = (10, None, ["total += 1\n"], "<ipython-input-1>")
    finding = Finding("mutation", "total", "<ipython-input-1>", 1, "global")
    assert "  1 | total += 1\n" in str(Report("f", (finding,)))


def test_report__a_source_that_is_gone_is_not_quoted():
    text = str(Report("f", (Finding("mutation", "total", "gone.py", 7, "global"),)))
    assert "mutation: total  gone.py:7\n" in text
    assert " | " not in text


def test_report__colors_are_for_terminals(report, monkeypatch):
    pytest.importorskip("rich")
    colored = report.text(color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == TEXT
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert report.text() == TEXT  # pytest's output is no terminal
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert report.text() == colored
    assert str(report) == TEXT
    monkeypatch.setenv("NO_COLOR", "1")
    assert report.text() == TEXT


def test_report__without_rich_there_are_no_colors(report, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    assert report.text() == TEXT


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.classes, self.names = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.names.append(tag)
        self.classes += dict(attrs).get("class", "").split()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize(("language", "lang"), [("en", "en"), (ZH, "zh-CN")])
def test_report__the_html_is_well_formed_and_keeps_to_itself(report, language, lang, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    text = report._repr_html_()
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert all(name.startswith("hs-") for name in tags.classes)
    assert f'<div class="hs-report" lang="{lang}">' in text
    style = re.search("<style>(.*?)</style>", text, re.DOTALL)[1]
    selectors = re.findall(r"(?:^|[}{])\s*([^{}@]+)\{", style)
    assert all(".hs-report" in part for group in selectors for part in group.split(","))
    assert 'html[data-theme="dark"]' in style
    assert "prefers-color-scheme:dark" in style
    assert "http" not in text


def test_report__nothing_of_the_users_is_read_as_html(tmp_path):
    evil = "<script>alert(1)</script>"
    path = tmp_path / "evil.py"
    path.write_text(f"x['{evil}'] = '<b>'\n")
    finding = Finding("mutation", f"x['{evil}']", str(path), 1, "dict key", evil, '"<i>"')
    text = Report(evil, (finding,), (finding,), (evil,), ValueError(evil))._repr_html_()
    tags = Tags()
    tags.feed(text)
    assert {*tags.names} <= {"div", "style", "p", "span", "code", "pre"}
    assert "&lt;script&gt;" in text


def test_report__the_json_is_stable_and_english(report, monkeypatch):
    text = report.to_json()
    monkeypatch.setenv("HAIKU_STATE_LANG", ZH)
    assert report.to_json() == text
    content = json.loads(text)
    assert list(content) == sorted(content)
    assert (content["pure"], content["function"], content["error"]) == (False, "tick", None)
    [finding] = content["findings"]
    assert (finding["kind"], finding["name"], finding["line"]) == ("mutation", "counter.n", 2)
    told = finding["advice"]
    assert (told["is_argument"], told["is_result"], told["example"]) == (True, True, "state")
    assert told["words"].startswith("Take `counter.n` as an argument")
    assert content["unseen"] == ["what happens inside numpy.dot"]


def test_explain__findings_are_equal_whatever_is_advised():
    finding = Finding("mutation", "total", "", 0)
    assert finding == dataclasses.replace(finding, advice="another")
