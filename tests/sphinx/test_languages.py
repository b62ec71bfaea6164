"""A third language, by its record and its catalogs alone: the whole pipeline on a small site."""

import json
import re
import shutil

import nbformat
import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from haiku_site import ROOT
from haiku_site.translate.languages import sites

from haiku_state.errors.language import code_of

CHINESE = sites()[code_of("zh")]

RECORD = {
    "tag": "ja",
    "name": "日本語",
    "short": "日",
    "english_name": "Japanese",
    "script": "々ぁ-ゟァ-ヿ㐀-䶿一-鿿",
    "site": {
        "open_graph": "ja_JP",
        "mark": "日",
        "search_bar": "検索 …",
        "glossary": "japanese",
        "sound": "kana",
        "about": "Haiku で学ぶ JAX の状態。",
        "lost": ["ページがありません", "移動したかもしれません。", "ホーム", "検索"],
        "no_ideas": "の は を に",
        "letters": "、。：「」（）…“”",
        "not_at_line_start": "、。：」）…",
        "full_stops": {".": "。"},
    },
}
LESSON = """---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---
# A counter

A pure function returns its result alone.

```{code-cell} ipython3
count = 1 + 1  # one more
print("count", count)
```
"""
PAGES = {
    "index.md": "# State\n\nA counter counts.\n\n"
    "```{toctree}\n:hidden:\n\npure/index\nreference/glossary\napi/errors\nchangelog\nlicense\n```\n",
    "api/errors.md": "# Errors\n",
    "changelog.md": "# Changes\n",
    "license.md": "# License\n",
    "pure/index.md": "# Purity\n\nThere is one lesson.\n\n```{lessons}\n```\n\n"
    "```{notebooks} pure\n```\n\n```{toctree}\n:hidden:\n\ncounter\n```\n",
    "pure/counter.md": LESSON,
    "reference/glossary.md": "# Glossary\n\nThe words are here.\n\n"
    "```{bilingual-glossary} ../glossary.csv\n```\n",
    "glossary.csv": "english,chinese,pinyin,japanese,kana,note,meaning,gloss,match,taught\n"
    "pure function,纯函数,chún hán shù,純粋関数,じゅんすいかんすう,,"
    "It changes nothing.,,,pure/counter\n",
    "synonyms.csv": "",
    "search_words.csv": "place,en," + CHINESE.of.code + ",ja\n",
}
TEXTS = {
    "Errors": ("错误", "エラー"),
    "Changes": ("改动", "変更"),
    "License": ("许可证", "ライセンス"),
    "State": ("状态", "状態"),
    "A counter counts.": ("计数器会计数。", "カウンターは数えます。"),
    "Purity": ("纯函数性", "純粋性"),
    "There is one lesson.": ("这里有一课。", "レッスンがあります。"),
    "A counter": ("计数器", "カウンター"),
    "A pure function returns its result alone.": (
        "纯函数只返回结果。",
        "純粋関数は結果だけを返します。",
    ),
    "one more": ("再加一", "もう一つ"),
    "Glossary": ("术语表", "用語集"),
    "The words are here.": ("术语在这里。", "用語はここです。"),
    "It changes nothing.": ("它什么也不改变。", "何も変えません。"),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Copy the package and the pipeline, and add a small documentation and a language."""
    tree = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__", "*.zip")
    shutil.copytree(ROOT / "haiku_state", tree / "haiku_state", ignore=ignored)
    shutil.copytree(ROOT / "conf/sphinx", tree / "conf/sphinx")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for name, text in PAGES.items():
        (tree / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / "docs" / name).write_text(text, encoding="utf-8")
    record = tree / "haiku_state/locale/ja/language.json"
    record.parent.mkdir()
    record.write_text(json.dumps(RECORD, ensure_ascii=False), encoding="utf-8")
    translated(tree / "haiku_state/locale", "haiku_state.po")
    interface = f"{CHINESE.of.code}/LC_MESSAGES/sphinx.po"
    (tree / "docs/locale" / interface).parent.mkdir(parents=True)
    shutil.copy(ROOT / "docs/locale" / interface, tree / "docs/locale" / interface)
    translated(tree / "docs/locale", "sphinx.po")
    return tree


def translated(locale, name):
    """Write a Japanese catalog with the messages of the Chinese one."""
    with (locale / CHINESE.of.code / "LC_MESSAGES" / name).open("rb") as stream:
        catalog = read_po(stream)
    catalog.locale = "ja"
    catalog.add("Link to this heading")
    for message in catalog:
        if message.id:
            japanese = re.sub(r"\.$", "。", f"訳 {message.id.strip()}")
            message.string = TEXTS.get(message.id, ("", japanese))[1]
    file = locale / "ja/LC_MESSAGES" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as stream:
        write_po(stream, catalog)
    with file.with_suffix(".mo").open("wb") as stream:
        write_mo(stream, catalog)


def build(tree, user, *options):
    environment = {"PYTHONPATH": str(tree), "HAIKU_STATE_SITE": "https://example.org"}
    built = user.python("conf/sphinx/build.py", *options, cwd=tree, env=environment)
    assert built.returncode == 0, built.stdout + built.stderr


def translate_pages(tree):
    for number, language in enumerate((CHINESE.of.code, "ja")):
        for file in (tree / "docs/locale" / language).rglob("*.po"):
            if file.name == "sphinx.po":
                continue
            with file.open("rb") as stream:
                catalog = read_po(stream)
            for message in catalog:
                if message.id:
                    message.string = TEXTS[message.id][number]
            with file.open("wb") as stream:
                write_po(stream, catalog, width=0)


def test_languages__a_third_needs_its_record_and_its_catalogs_alone(tree, user, browser):
    build(tree, user, "--update-catalogs")
    translate_pages(tree)
    build(tree, user)
    site = tree / "build/site"
    page = (site / "ja/pure/counter.html").read_text(encoding="utf-8")
    assert '<html lang="ja"' in page
    alternates = re.findall(r'<link rel="alternate" hreflang="([^"]+)"', page)
    assert alternates == ["en", "ja", CHINESE.of.tag, "x-default"]
    assert "純粋関数は結果だけを返します。" in re.sub("<[^>]*>", "", page)
    for code, comment in (("en", "one more"), (CHINESE.of.code, "再加一"), ("ja", "もう一つ")):
        notebook = nbformat.read(site / code / "notebooks/pure/counter.ipynb", as_version=4)
        [cell] = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert f"# {comment}" in cell.source
        assert cell.outputs[0].text == "count 2\n"
    page = browser.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(error))
    page.goto((site / "en/pure/counter.html").as_uri())
    page.locator(".hs-parallel > summary:visible").click()
    choice, language = page.locator(".hs-parallel select:visible").all()
    choice.select_option("each")
    shown = page.locator("h1 + .hs-other")
    for name, tag, title in (("日本語", "ja", "カウンター"), ("简体中文", "zh-CN", "计数器")):
        if page.locator(".hs-parallel[open]").count() == 0:  # a click beside it has closed it
            page.locator(".hs-parallel > summary:visible").click()
        language.select_option(label=name)
        page.locator(f"h1 .hs-show[aria-label$={'Japanese' if tag == 'ja' else 'Chinese'}]").click()
        assert (shown.inner_text(), shown.get_attribute("lang")) == (title, tag)
    page.locator("a.language-switcher[lang=ja]").first.click()
    page.wait_for_url("**/ja/pure/counter.html")
    page.locator(".hs-parallel > summary:visible").click()
    page.locator(".hs-parallel select:visible").first.select_option("each")
    page.locator("h1 .hs-show").click()
    assert (shown.inner_text(), shown.get_attribute("lang")) == ("A counter", "en")
    page.goto((site / "ja/search.html").as_uri() + "?q=純粋関数")
    page.locator("#hs-found mark", has_text="純粋関数").first.wait_for()
    page.goto((site / "index.html").as_uri())
    page.wait_for_url("**/ja/index.html")  # the language that was chosen last
    assert problems == []
