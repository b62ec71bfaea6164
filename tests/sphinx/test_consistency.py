"""What holds across the catalogs, against injected defects in a course of two lessons."""

import pytest
from haiku_site.translate.gate.catalogs import check_catalogs
from support.chinese import ZH

GLOSSARY = """english,chinese,note,meaning,gloss,match
tracer,追踪器,,A stand-in.,tracer,
carry,carry,,What is handed on.,,(?:the|a) carry
lower,降级 / 降,,To translate.,lower,lowering
"""
TOCTREE = "# {}\n\n```{{lessons}}\n{}\n```\n\n```{{toctree}}\n:hidden:\n\n{}\n```\n"
PAGES = {
    "glossary.csv": GLOSSARY,
    "index.md": TOCTREE.format("Home", "part/second", "Part <part/index>\nReference <reference>"),
    "part/index.md": TOCTREE.format("Part", "part/second", "second\nfirst"),
    "part/second.md": "",
    "part/first.md": "",
    "reference.md": "# Reference\n\nA tracer.\n",
}
# "second" is the first lesson of the part
CATALOGS = {
    "index": {"Home": "主页", "A tracer.": "追踪器。"},
    "part/index": {"Part": "部分"},
    "part/second": {
        "Lesson 1: The tracer": "第 1 课：追踪器",
        "The *tracer* is a stand-in.": "*追踪器*（tracer）是替身。",
        "Lowering is next.": "接下来是降级（lower，又译降低）。",
        "Give the carry.": "返回 carry。",
    },
    "part/first": {
        "Lesson 2: From here": "第 2 课：由此开始",
        "A tracer.": "追踪器。",
        "[The tracer](second.md#x), [here](x.md).": "[追踪器](second.md#x)、[这里](x.md)。",
        "Give the carry.": "返回 carry。",
    },
    "reference": {"Reference": "参考", "A tracer.": "追踪器。"},
}


@pytest.fixture
def docs(tmp_path):
    for name, text in PAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for page, messages in CATALOGS.items():
        lines = ['msgid ""', 'msgstr "Content-Type: text/plain; charset=utf-8\\n"']
        for english, chinese in messages.items():
            lines += ["", f'msgid "{english}"', f'msgstr "{chinese}"']
        file = tmp_path / f"locale/{ZH}/LC_MESSAGES/{page}.po"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def check(docs):
    return check_catalogs(docs / "locale", docs, docs / "glossary.csv")


def test_check_consistency__a_consistent_course_passes(docs):
    assert check(docs) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "says"),
    [
        ("part/second", "返回 carry", "给出 carry", 13, "first.po:13 has '返回 carry。'"),
        ("part/first", "[追踪器]", "[替身]", 10, "the title of second.md#x is '追踪器'"),
        ("part/second", "课：追踪器", "课：那个追踪器", None, "is '那个追踪器'"),
        ("part/second", "*（tracer）", "*", 7, "the first 'tracer' of the course has no 追踪器（t"),
        (
            "part/second",
            "（lower，",
            "（low，",
            10,
            "the first 'Lowering' of the course has no 降级",
        ),
    ],
)
def test_check_consistency__a_defect_is_named_by_file_and_line(docs, file, old, new, line, says):
    catalog = docs / f"locale/{ZH}/LC_MESSAGES/{file}.po"
    text = catalog.read_text(encoding="utf-8")
    assert old in text
    catalog.write_text(text.replace(old, new), encoding="utf-8")
    problems = check(docs)
    found = [problem for problem in problems if says in problem.what]
    assert found, problems
    assert line is None or (found[0].file, found[0].line) == (catalog, line)


def test_check_consistency__a_row_of_the_glossary_that_no_message_has_is_named(docs):
    glossary = docs / "glossary.csv"
    glossary.write_text(GLOSSARY + "host,主机,,A machine.,,\n", encoding="utf-8")
    (problem,) = check(docs)
    assert (problem.file, problem.line, problem.what) == (glossary, 5, "no message has this term")
