"""The translation gate against injected defects: each is caught, and named by file and message."""

from pathlib import Path

import pytest
from catalogs import check_catalog, check_catalogs, check_current, read_glossary

ROOT = Path(__file__).parents[2]
TERMS = read_glossary(ROOT / "docs/glossary.csv")

MYST = {
    "Call `apply` with `params`, see $x^2$.": "用 `params` 调用 `apply`，参见 $x^2$。",
    "The **state** is *not* a parameter.": "**状态** *不是* 参数。",
    "Read [the lesson](lesson.md) first.": "请先读 [这一课](lesson.md)。",
    "A {term}`pure function` has no side effects.": ("{term}`纯函数 <pure function>` 没有副作用。"),
    "See {func}`jit_update` for more.": "详见 {func}`jit_update`。",
    "As shown before [^note] it fails.": "如前所述 [^note]，它会失败。",
    "Press <kbd>Enter</kbd> to go on.": "按 <kbd>Enter</kbd> 继续。",
    "It runs on 4 devices, 100 times.": "在 4 个设备上运行 100 次。",
    "Is the gradient right?": "梯度对吗？",
    "The output is:": "输出为：",
    "![A plot](plot.png) of the losses.": "损失的 ![曲线图](plot.png)。",
    "A jaxpr is a transformation of code.": "jaxpr 是代码的变换。",
    "3. The counter": "3\\. 计数器",
}
RST = {
    "Take ``params`` and :math:`x^2`.": "接收 ``params`` 和 :math:`x^2`。",
    "See :func:`jit_update` for *all*.": "*全部* 见 :func:`jit_update`。",
    "Optax, `Getting started <https://optax.example/>`__.": (
        "Optax，`入门 <https://optax.example/>`__。"
    ),
}

# name, English, the bad Chinese, what the gate shall say
DEFECTS = [
    ("not translated", "The output is:", "", "not translated"),
    ("copied", "The **state** is *not* a parameter.", "The **state** is *not* a parameter.", "not in Chinese"),
    ("code dropped", "Call `apply` with `params`, see $x^2$.", "调用 `apply`，参见 $x^2$。", "missing: code `params`"),
    ("code translated", "Call `apply` with `params`, see $x^2$.", "用 `参数` 调用 `apply`，参见 $x^2$。", "missing: code `params`"),
    ("code added", "The output is:", "`输出` 为：", "not in the original: code"),
    ("code with full-width ticks", "Call `apply` with `params`, see $x^2$.", "用 `params` 调用 ｀apply｀，参见 $x^2$。", "missing: code `apply`"),
    ("tick lost", "Call `apply` with `params`, see $x^2$.", "用 `params 调用 `apply`，参见 $x^2$。", "missing: code"),
    ("formula changed", "Call `apply` with `params`, see $x^2$.", "用 `params` 调用 `apply`，参见 $x^3$。", "missing: formula $x^2$"),
    ("formula dropped", "Call `apply` with `params`, see $x^2$.", "用 `params` 调用 `apply`。", "missing: formula $x^2$"),
    ("formula broken", "Call `apply` with `params`, see $x^2$.", "用 `params` 调用 `apply`，参见 $x^2。", "missing: formula $x^2$"),
    ("strong dropped", "The **state** is *not* a parameter.", "状态 *不是* 参数。", "missing: strong"),
    ("emphasis dropped", "The **state** is *not* a parameter.", "**状态** 不是参数。", "missing: em"),
    ("punctuation in bold", "The **state** is *not* a parameter.", "**状态：**这 *不是* 参数。", "markup shown to the reader: '**'"),
    ("bold not closed", "The **state** is *not* a parameter.", "**状态 *不是* 参数。", "missing: strong"),
    ("link dropped", "Read [the lesson](lesson.md) first.", "请先读这一课。", "missing: link lesson.md"),
    ("link retargeted", "Read [the lesson](lesson.md) first.", "请先读 [这一课](other.md)。", "not in the original: link other.md"),
    ("link broken", "Read [the lesson](lesson.md) first.", "请先读 [这一课] (lesson.md)。", "missing: link lesson.md"),
    ("full-width link", "Read [the lesson](lesson.md) first.", "请先读 [这一课]（lesson.md）。", "missing: link lesson.md"),
    ("reference link", "Read [the lesson](lesson.md) first.", "请先读 [这一课][lesson]。", "markup shown to the reader: ']['"),
    ("term without target", "A {term}`pure function` has no side effects.", "{term}`纯函数` 没有副作用。", "missing: role term pure function"),
    ("term dropped", "A {term}`pure function` has no side effects.", "纯函数没有副作用。", "missing: role term pure function"),
    ("role renamed", "See {func}`jit_update` for more.", "详见 {class}`jit_update`。", "missing: role func jit_update"),
    ("role translated", "See {func}`jit_update` for more.", "详见 {函数}`jit_update`。", "missing: role func jit_update"),
    ("role's target translated", "See {func}`jit_update` for more.", "详见 {func}`即时更新`。", "missing: role func jit_update"),
    ("space in a role", "See {func}`jit_update` for more.", "详见 {func} `jit_update`。", "missing: role func jit_update"),
    ("footnote dropped", "As shown before [^note] it fails.", "如前所述，它会失败。", "missing: "),
    ("raw HTML dropped", "Press <kbd>Enter</kbd> to go on.", "按 Enter 继续。", "missing: raw HTML <kbd>"),
    ("raw HTML added", "The output is:", "输出<br>为：", "not in the original: raw HTML <br>"),
    ("raw HTML not closed", "Press <kbd>Enter</kbd> to go on.", "按 <kbd>Enter<kbd> 继续。", "missing: raw HTML </kbd>"),
    ("image dropped", "![A plot](plot.png) of the losses.", "损失的曲线图。", "missing: image plot.png"),
    ("image replaced", "![A plot](plot.png) of the losses.", "损失的 ![曲线图](图.png)。", "missing: image plot.png"),
    ("number changed", "It runs on 4 devices, 100 times.", "在 8 个设备上运行 100 次。", "numbers"),
    ("number dropped", "It runs on 4 devices, 100 times.", "在 4 个设备上运行多次。", "numbers"),
    ("question lost", "Is the gradient right?", "梯度是对的。", "ends in '。' where the original ends in '?'"),
    ("cut off", "It runs on 4 devices, 100 times.", "在 4 个设备上运行 100", "ends in '0'"),
    ("half-width punctuation", "Call `apply` with `params`, see $x^2$.", "用 `params` 调用它, 即 `apply`，参见 $x^2$。", "autocorrect writes"),
    ("half-width brackets", "Is the gradient right?", "梯度(导数)对吗？", "half-width punctuation"),
    ("straight quotes", "Is the gradient right?", "\"梯度\"对吗？", "half-width punctuation"),
    ("no space before Latin", "A jaxpr is a transformation of code.", "代码的变换记为jaxpr。", "autocorrect writes"),
    ("space in Chinese", "Is the gradient right?", "梯度 对吗？", "a space where Chinese has none"),
    ("space before punctuation", "Is the gradient right?", "梯度对吗 ？", "autocorrect writes"),
    ("list instead of text", "The output is:", "- 输出为：", "blocks ul li p instead of p"),
    ("heading instead of text", "The output is:", "# 输出为：", "blocks h1 instead of p"),
    ("quote instead of text", "The output is:", "> 输出为：", "blocks blockquote p instead of p"),
    ("code block instead of text", "The output is:", "    输出为：", "blocks code instead of p"),
    ("heading that reads as a list", "3. The counter", "3. 计数器", "blocks ol li p instead of p"),
    ("two paragraphs", "The output is:", "输出\n\n为：", "blocks p p instead of p"),
    ("glossary term missed", "Is the gradient right?", "导数对吗？", "'gradient' is '梯度' in the glossary"),
    ("forbidden word", "A jaxpr is a transformation of code.", "jaxpr 是代码的变换，即转换。", "never '转换'"),
    ("zero-width space", "The output is:", "输出\u200b为：", "markup shown to the reader: '\\u200b'"),
    ("replacement character", "The output is:", "输出\ufffd为：", "markup shown to the reader: '\ufffd'"),
    ("white space at the end", "The output is:", "输出为： ", "leading or trailing white space"),
    ("escaped markup", "The **state** is *not* a parameter.", "\\**状态** *不是* 参数。", "missing: strong"),
]  # fmt: skip
RST_DEFECTS = [
    ("RST code dropped", "Take ``params`` and :math:`x^2`.", "接收 params 和 :math:`x^2`。", "missing: code ``params``"),
    ("RST code glued", "Take ``params`` and :math:`x^2`.", "接收``params``和 :math:`x^2`。", "missing: code ``params``"),
    ("RST code with one tick", "Take ``params`` and :math:`x^2`.", "接收 `params` 和 :math:`x^2`。", "missing: code ``params``"),
    ("RST role glued", "Take ``params`` and :math:`x^2`.", "接收 ``params`` 和:math:`x^2`。", "missing: formula x^2"),
    ("RST role changed", "See :func:`jit_update` for *all*.", "*全部* 见 :class:`jit_update`。", "missing: role func jit_update"),
    ("RST unknown role", "See :func:`jit_update` for *all*.", "*全部* 见 :函数:`jit_update`。", "missing: role func jit_update"),
    ("RST emphasis open", "See :func:`jit_update` for *all*.", "*全部 见 :func:`jit_update`。", "broken markup"),
    ("RST link changed", "Optax, `Getting started <https://optax.example/>`__.", "Optax，`入门 <https://other.example/>`__。", "missing: link https://optax.example/"),
    ("RST link open", "Optax, `Getting started <https://optax.example/>`__.", "Optax，`入门 <https://optax.example/>__。", "broken markup"),
]  # fmt: skip


def write(file: Path, messages: dict[str, str], *, flags: str = "") -> dict[str, int]:
    """Write a catalog, and give the line of each message."""
    lines = ['msgid ""', 'msgstr "Content-Type: text/plain; charset=utf-8\\n"', ""]
    where = {}
    for msgid, msgstr in messages.items():
        lines += [flags] if flags else []
        where[msgid] = len(lines) + 1
        lines += [f"{key} {quote(text)}" for key, text in (("msgid", msgid), ("msgstr", msgstr))]
        lines.append("")
    file.write_text("\n".join(lines), encoding="utf-8")
    return where


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@pytest.mark.parametrize(("sound", "is_rst"), [(MYST, False), (RST, True)], ids=["myst", "rst"])
def test_sound_translations_pass(tmp_path, sound, is_rst):
    write(tmp_path / "page.po", sound)
    assert check_catalog(tmp_path / "page.po", is_rst, TERMS) == []


@pytest.mark.parametrize(
    ("sound", "is_rst", "english", "bad", "says"),
    [pytest.param(MYST, False, *d[1:], id=d[0]) for d in DEFECTS]
    + [pytest.param(RST, True, *d[1:], id=d[0]) for d in RST_DEFECTS],
)
def test_a_defect_is_named_by_file_line_and_message(tmp_path, sound, is_rst, english, bad, says):
    assert english in sound
    file = tmp_path / "page.po"
    where = write(file, sound | {english: bad})
    problems = check_catalog(file, is_rst, TERMS)
    assert {(p.file, p.line, p.message) for p in problems} == {(file, where[english], english)}
    assert any(says in p.what for p in problems), [p.what for p in problems]
    assert str(problems[0]).startswith(f"{file}:{where[english]}: ")


def test_fuzzy(tmp_path):
    write(tmp_path / "page.po", {"The output is:": "输出为："}, flags="#, fuzzy")
    (problem,) = check_catalog(tmp_path / "page.po", False, TERMS)
    assert problem.what == "fuzzy: readers would get English"


def test_obsolete(tmp_path):
    file = tmp_path / "page.po"
    write(file, {"The output is:": "输出为："})
    file.write_text(file.read_text() + '\n#~ msgid "Gone"\n#~ msgstr "没了"\n')
    (problem,) = check_catalog(file, False, TERMS)
    assert problem.what.startswith("obsolete")
    assert problem.message == "Gone"


@pytest.mark.parametrize("text", ["<<<<<<< ours\n", "open\n"])
def test_not_a_catalog(tmp_path, text):
    file = tmp_path / "page.po"
    file.write_text(text)
    (problem,) = check_catalog(file, False, TERMS)
    assert problem.what.startswith("not a catalog: ")
    assert problem.line == 1


def test_an_exemption_from_the_glossary(tmp_path):
    file = tmp_path / "page.po"
    exemption = "# glossary: gradient is a colour gradient"
    write(file, {"Is the gradient right?": "渐变对吗？"}, flags=exemption)
    assert check_catalog(file, False, TERMS) == []
    write(file, {"Is the gradient right?": "梯度对吗？"}, flags=exemption)
    (problem,) = check_catalog(file, False, TERMS)
    assert problem.what == "the exemption of 'gradient' is not needed"


def test_the_longest_term_is_matched_first(tmp_path):
    write(tmp_path / "page.po", {"A batch normalization.": "批归一化。"})
    assert check_catalog(tmp_path / "page.po", False, TERMS) == []


@pytest.mark.parametrize(
    ("extracted", "says"),
    [
        ({"Kept": "", "New": ""}, "not in the catalog: run `tox -e catalogs`"),
        ({}, "no longer on the page: run `tox -e catalogs`"),
    ],
    ids=["new", "removed"],
)
def test_a_catalog_that_is_not_current(tmp_path, extracted, says):
    locale, templates = tmp_path / "locale", tmp_path / "templates"
    messages = locale / "zh_CN/LC_MESSAGES"
    messages.mkdir(parents=True)
    templates.mkdir()
    write(messages / "page.po", {"Kept": "保留"})
    if extracted:
        write(templates / "page.pot", extracted)
    (problem,) = check_current(templates, locale, tmp_path / "scratch")
    assert (problem.file, problem.what) == (messages / "page.po", says)
    assert (messages / "page.po").read_text().count("msgid") == 2


def test_a_removed_message_in_a_page_that_stays(tmp_path):
    locale, templates = tmp_path / "locale", tmp_path / "templates"
    messages = locale / "zh_CN/LC_MESSAGES"
    messages.mkdir(parents=True)
    templates.mkdir()
    write(messages / "page.po", {"Kept": "保留", "Gone": "没了"})
    write(templates / "page.pot", {"Kept": ""})
    (problem,) = check_current(templates, locale, tmp_path / "scratch")
    assert (problem.message, problem.what.split(":")[0]) == ("Gone", "no longer on the page")


def test_the_catalogs_of_the_site_pass():
    problems = check_catalogs(ROOT / "docs/locale", ROOT / "docs", ROOT / "docs/glossary.csv")
    assert problems == []
