"""The translation gate against injected defects: each is caught, and named by file and message."""

from pathlib import Path

import pytest
from haiku_site.translate.gate.catalogs import (
    check_catalog,
    check_catalogs,
    check_current,
    check_package,
    read_glossary,
    update_catalogs,
)
from haiku_site.translate.languages import sites
from support.chinese import ZH

from haiku_state.errors.language import code_of

ROOT = Path(__file__).parents[2]
SITE = sites()[code_of("zh")]
TERMS = read_glossary(ROOT / "docs/glossary.csv", SITE)

MYST = {
    "Call `apply` with `params`, see $x^2$.": "调用 `apply`，传入 `params`，参见 $x^2$。",
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
    "Here `init` comes before `apply`, $a$ before $b$.": "这里 `init` 在 `apply` 之前，$a$ 在 $b$ 之前。",
    "The state is an argument beside the params.": "状态是与参数并列的实参。",
    "Pass it as an argument.": "把它当作实参传给函数。",
    "A static argument recompiles.": "静态参数会重新编译。",
    "One minus two is not thirty-six.": "1 减 2 不是 36。",
    "It is 98 % of them.": "占 98%。",
    "Lowering, in place": "就地降级",
}
RST = {
    "Take ``params`` and :math:`x^2`.": "接收 ``params`` 和 :math:`x^2`。",
    "See :func:`jit_update` for *all*.": "*全部* 见 :func:`jit_update`。",
    "Optax, `Getting started <https://optax.example/>`__.": (
        "Optax，`入门 <https://optax.example/>`__。"
    ),
}

MESSAGE = 'msgid "The output is:"\nmsgstr "输出为："\n'

# name, English, the bad Chinese, what the gate shall say
DEFECTS = [
    ("not translated", "The output is:", "", "not translated"),
    ("copied", "The **state** is *not* a parameter.", "The **state** is *not* a parameter.", "not in Chinese"),
    ("code dropped", "Call `apply` with `params`, see $x^2$.", "调用 `apply`，参见 $x^2$。", "missing: code `params`"),
    ("code translated", "Call `apply` with `params`, see $x^2$.", "用 `参数` 调用 `apply`，参见 $x^2$。", "missing: code `params`"),
    ("code added", "The output is:", "`输出` 为：", "not in the original: code"),
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
    ("entity", "The output is:", "输出&nbsp;为：", "not in the original: '&nbsp;'"),
    ("comment not closed", "The output is:", "输出 <!-- 为：", "not in the original: '<!--'"),
    ("code in another order", "Here `init` comes before `apply`, $a$ before $b$.", "这里 `apply` 在 `init` 之前，$a$ 在 $b$ 之前。", "code in another order"),
    ("formulas in another order", "Here `init` comes before `apply`, $a$ before $b$.", "这里 `init` 在 `apply` 之前，$b$ 在 $a$ 之前。", "formula in another order"),
    ("argument alone", "Pass it as an argument.", "把它当作参数传给函数。", "参数 is of params"),
    ("argument as params", "The state is an argument beside the params.", "状态是与参数并列的参数。", "参数 is of params"),
    ("digits that are not in the words", "One minus two is not thirty-six.", "1 减 2 不是 35。", "numbers ['1', '2', '35'] instead of []"),
    ("digits twice", "One minus two is not thirty-six.", "1 减 1 不是 36。", "numbers"),
    ("space before %", "It is 98 % of them.", "占 98 %。", "a space before the sign of per cent: '8 %'"),
    ("word that drifts", "Lowering, in place", "原地降级", "'in place' is never '原地'"),
    ("drifts elsewhere", "Lowering, in place", "就地转译", "'Lowering' is '降级' in the glossary"),
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

# name, what stands in the file instead of what, in which line, and what the gate shall say
UNREADABLE = [
    ("not closed", '"输出为："', '"输出为：', 5, "not a catalog"),
    ("not closed, in English", 'is:"', "is:", 4, "not a catalog"),
    ("quote in the text", "输出", '输"出', 5, "not a catalog"),
    ("unknown escape", "输出", "输\\q出", 5, "not a catalog"),
    ("context", "msgid ", 'msgctxt "x"\nmsgid ', 4, "not a catalog"),
    ("plural", "msgstr ", 'msgid_plural "x"\nmsgstr ', 5, "not a catalog"),
    ("conflict", "msgid ", "<<<<<<< ours\nmsgid ", 4, "not a catalog"),
    ("conflict in a message", "msgstr ", "=======\nmsgstr ", 5, "not a catalog"),
    ("two translations", "msgstr ", 'msgstr "x"\nmsgstr ', 6, "msgstr twice in a row"),
    ("no translation", "msgid ", 'msgid "x"\nmsgid ', 5, "msgid twice in a row"),
    ("message twice", "msgid ", f"{MESSAGE}\nmsgid ", 8, "the same msgid as that of line 5"),
    ("byte order mark", None, "\ufeff", 1, "'\\ufeff' ZERO WIDTH NO-BREAK SPACE"),
    ("other end of line", "msgid ", "\r\nmsgid ", 4, "'\\r'"),
    ("not UTF-8", "输出", b"\xca\xe4", 5, "not UTF-8"),
    ("invisible", "输出", "输\u200b出", 5, "'\\u200b' ZERO WIDTH SPACE"),
    ("not decoded", "输出", "输\ufffd出", 5, "'\\ufffd' REPLACEMENT CHARACTER"),
    ("bidirectional", "msgid ", "# \u202e\nmsgid ", 4, "'\\u202e' RIGHT-TO-LEFT OVERRIDE"),
    ("private use", "输出", "输\ue000出", 5, "'\\ue000'"),
    ("Cyrillic in Latin", "输出", "b\u0430tch 输出", 5, "'\\u0430' CYRILLIC SMALL LETTER A"),
    ("Greek in Latin", "输出", "\u039fptax 输出", 5, "'\\u039f' GREEK CAPITAL LETTER OMICRON"),
    ("radical, not a word", "出", "\u2f25", 5, "'\\u2f25' KANGXI RADICAL WOMAN"),
    ("full-width Latin", "输出", "\uff21 输出", 5, "'\\uff21' FULLWIDTH LATIN CAPITAL LETTER A"),
    ("full-width tick", "输出", "｀输出｀", 5, "'\\uff40' FULLWIDTH GRAVE ACCENT"),
    ("no-break space", "输出", "输\xa0出", 5, "'\\xa0' NO-BREAK SPACE"),
    ("line separator", "输出", "输\u2028出", 5, "'\\u2028' LINE SEPARATOR"),
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
def test_check_catalog__sound_translations_pass(tmp_path, sound, is_rst):
    write(tmp_path / "page.po", sound)
    assert check_catalog(tmp_path / "page.po", is_rst, TERMS, SITE) == []


@pytest.mark.parametrize(
    ("sound", "is_rst", "english", "bad", "says"),
    [pytest.param(MYST, False, *d[1:], id=d[0]) for d in DEFECTS]
    + [pytest.param(RST, True, *d[1:], id=d[0]) for d in RST_DEFECTS],
)
def test_check_catalog__a_defect_is_named_by_file_line_and_message(
    tmp_path, sound, is_rst, english, bad, says
):
    assert english in sound
    file = tmp_path / "page.po"
    where = write(file, sound | {english: bad})
    problems = check_catalog(file, is_rst, TERMS, SITE)
    assert {(p.file, p.line, p.message) for p in problems} == {(file, where[english], english)}
    assert any(says in p.what for p in problems), [p.what for p in problems]
    assert str(problems[0]).startswith(f"{file}:{where[english]}: ")


def test_check_catalog__a_fuzzy_message_is_named(tmp_path):
    write(tmp_path / "page.po", {"The output is:": "输出为："}, flags="#, fuzzy")
    (problem,) = check_catalog(tmp_path / "page.po", False, TERMS, SITE)
    assert problem.what == "fuzzy: the English has changed"


def test_check_catalog__an_obsolete_message_is_named(tmp_path):
    file = tmp_path / "page.po"
    write(file, {"The output is:": "输出为："})
    file.write_text(file.read_text() + '\n#~ msgid "Gone"\n#~ msgstr "没了"\n')
    (problem,) = check_catalog(file, False, TERMS, SITE)
    assert (problem.line, problem.what.partition(":")[0]) == (1, "obsolete")  # of the whole file
    assert problem.message == "Gone"


@pytest.mark.parametrize(
    ("old", "new", "line", "says"), [pytest.param(*d[1:], id=d[0]) for d in UNREADABLE]
)
def test_check_catalog__what_is_none_is_named_by_file_and_line(tmp_path, old, new, line, says):
    catalog = tmp_path / f"locale/{ZH}/LC_MESSAGES/page.po"
    catalog.parent.mkdir(parents=True)
    header = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\n'
    old, new = (text if isinstance(text, bytes) else (text or "").encode() for text in (old, new))
    message = MESSAGE.encode()
    whole = header + message.replace(old, new) if old else new + header + message
    catalog.write_bytes(whole)
    problem = check_catalog(catalog, False, TERMS, SITE)[0]
    assert (problem.file, problem.line) == (catalog, line)
    assert says in problem.what
    # neither of the other readers dies of it
    assert check_current(tmp_path, tmp_path / "locale", tmp_path / "scratch") == []
    with pytest.raises(SystemExit, match=r"page\.po"):
        update_catalogs(tmp_path, tmp_path / "locale")


def test_check_catalog__a_look_at_another_order_is_marked_where_it_is_needed(tmp_path):
    file = tmp_path / "page.po"
    english, mark = "First `init`, then `apply`.", "# order: read"
    write(file, {english: "`apply` 在 `init` 之后。"}, flags=mark)
    assert check_catalog(file, False, TERMS, SITE) == []
    write(file, {english: "先 `init`，后 `apply`。"}, flags=mark)
    (problem,) = check_catalog(file, False, TERMS, SITE)
    assert problem.what == "the mark `order: read` is not needed"


def test_check_catalog__an_exemption_from_the_glossary_holds_where_it_is_needed(tmp_path):
    file = tmp_path / "page.po"
    exemption = "# glossary: gradient is a colour gradient"
    write(file, {"Is the gradient right?": "渐变对吗？"}, flags=exemption)
    assert check_catalog(file, False, TERMS, SITE) == []
    write(file, {"Is the gradient right?": "梯度对吗？"}, flags=exemption)
    (problem,) = check_catalog(file, False, TERMS, SITE)
    assert problem.what == "the exemption of 'gradient' is not needed"


def test_check_catalog__the_longest_term_is_matched_first(tmp_path):
    write(tmp_path / "page.po", {"A batch normalization.": "批归一化。"})
    assert check_catalog(tmp_path / "page.po", False, TERMS, SITE) == []


@pytest.mark.parametrize(
    ("extracted", "says"),
    [
        ({"Kept": "", "New": ""}, "not in the catalog: run `tox -e catalogs`"),
        ({}, "no longer on the page: run `tox -e catalogs`"),
    ],
    ids=["new", "removed"],
)
def test_check_current__a_new_message_and_a_removed_page_are_named(tmp_path, extracted, says):
    locale, templates = tmp_path / "locale", tmp_path / "templates"
    messages = locale / f"{ZH}/LC_MESSAGES"
    messages.mkdir(parents=True)
    templates.mkdir()
    write(messages / "page.po", {"Kept": "保留"})
    if extracted:
        write(templates / "page.pot", extracted)
    (problem,) = check_current(templates, locale, tmp_path / "scratch")
    assert (problem.file, problem.what) == (messages / "page.po", says)
    assert (messages / "page.po").read_text().count("msgid") == 2


def test_check_current__a_removed_message_in_a_page_that_stays_is_named(tmp_path):
    locale, templates = tmp_path / "locale", tmp_path / "templates"
    messages = locale / f"{ZH}/LC_MESSAGES"
    messages.mkdir(parents=True)
    templates.mkdir()
    write(messages / "page.po", {"Kept": "保留", "Gone": "没了"})
    write(templates / "page.pot", {"Kept": ""})
    (problem,) = check_current(templates, locale, tmp_path / "scratch")
    assert (problem.message, problem.what.split(":")[0]) == ("Gone", "no longer on the page")


def test_update_catalogs__a_merge_that_fails_is_not_taken_for_one(tmp_path, monkeypatch):
    (tmp_path / "locale/zh_CN/LC_MESSAGES").mkdir(parents=True)
    monkeypatch.setattr("sys.executable", "false")
    with pytest.raises(Exception, match="non-zero exit status"):
        update_catalogs(tmp_path, tmp_path / "locale")


def test_check_package__names_what_is_not_translated(tmp_path):
    file = tmp_path / ZH / "LC_MESSAGES/haiku_state.po"
    file.parent.mkdir(parents=True)
    for there, problems in (("行数", []), ("", ["not translated"])):
        write(file, {"the rows": there})
        found = check_package(tmp_path, ROOT / "docs/glossary.csv")
        assert [problem.what for problem in found] == problems


def test_check_catalogs__those_of_the_site_pass():
    problems = check_catalogs(ROOT / "docs/locale", ROOT / "docs", ROOT / "docs/glossary.csv")
    assert problems == []
