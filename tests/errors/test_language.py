"""The texts that the package prints: one language or the other, whole, and up to date."""

import locale
import string
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from haiku_site.translate.exercise_texts import METHODS
from haiku_site.translate.gate.catalogs import check_catalog, read_glossary
from haiku_site.translate.languages import sites
from support.chinese import ZH

import haiku_state
from haiku_state.errors import MissingKeyError
from haiku_state.errors.language import FOLDER, _catalog, code_of, translated

PACKAGE = Path(haiku_state.__file__).parent
SITE = sites()[code_of("zh")]
PO = FOLDER / SITE.of.code / "LC_MESSAGES/haiku_state.po"
GLOSSARY = Path(__file__).parents[2] / "docs/glossary.csv"
VARIABLES = ("HAIKU_STATE_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
ENGLISH = (
    "a pure function draws random numbers only from the key that it is given: pass a key as rng"
)
CHINESE = "纯函数的随机数只能来自传给它的密钥：请传入一个密钥作为 rng"


def read(file):
    with file.open("rb") as stream:
        return (read_po if file.suffix == ".po" else read_mo)(stream)


def entries(catalog):
    return {message.id: message.string for message in catalog if message.id}


CHOICES = [
    ({}, "en"),
    ({"HAIKU_STATE_LANG": "zh"}, "zh"),
    ({"HAIKU_STATE_LANG": ZH}, "zh"),
    ({"HAIKU_STATE_LANG": "zh-CN.UTF-8"}, "zh"),
    ({"HAIKU_STATE_LANG": "ZH_hans"}, "zh"),
    ({"HAIKU_STATE_LANG": "klingon"}, "en"),
    ({"HAIKU_STATE_LANG": "en", "LANG": f"{ZH}.UTF-8"}, "en"),
    ({"HAIKU_STATE_LANG": "", "LANG": f"{ZH}.UTF-8"}, "zh"),
    ({"LANG": f"{ZH}.UTF-8"}, "zh"),
    ({"LANG": "C.UTF-8"}, "en"),
    ({"LC_ALL": f"{ZH}.UTF-8", "LANG": "en_US.UTF-8"}, "zh"),
    ({"LC_ALL": "en_US.UTF-8", "LC_MESSAGES": f"{ZH}.UTF-8"}, "en"),
    ({"LC_MESSAGES": f"{ZH}.UTF-8", "LANG": "en_US.UTF-8"}, "zh"),
    ({"LANGUAGE": f"{ZH}:en", "LC_ALL": "en_US.UTF-8"}, "zh"),
]


@pytest.mark.parametrize(("environment", "language"), CHOICES)
def test_errors__the_environment_chooses_the_language(environment, language, monkeypatch):
    monkeypatch.setattr(locale, "getlocale", lambda: (None, None))
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert translated(ENGLISH) == {"en": ENGLISH, "zh": CHINESE}[language]


@pytest.mark.parametrize(("name", "expected"), [(ZH, CHINESE), ("en_US", ENGLISH)])
def test_errors__without_variables_the_locale_chooses_the_language(name, expected, monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(locale, "getlocale", lambda: (name, "UTF-8"))
    assert translated(ENGLISH) == expected


def test_errors__a_locale_that_python_does_not_know_hides_no_error(monkeypatch):
    def fail():
        raise ValueError("unknown locale: UTF-8")

    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(locale, "getlocale", fail)
    assert translated(ENGLISH) == ENGLISH


def test_errors__speak_chinese_and_leave_the_code_alone(monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", ZH)
    assert str(MissingKeyError()) == (
        f"要生成随机数，但 rng 是 None。\n  原因：{CHINESE}\n"
        "  详见：python -m haiku_state read haiku/pure_pair"
    )


def test_errors__a_language_without_a_catalog_speaks_english():
    assert _catalog.__wrapped__("xx").gettext("train_state") == "train_state"


def test_errors__the_catalog_has_every_text_of_the_source_and_no_other():
    found = extract_from_dir(PACKAGE, METHODS, keywords={"_": None})
    marked = {text for _, _, text, _, _ in found}
    assert marked == set(entries(read(PO))), "run `tox -e catalogs`"


def test_errors__the_compiled_catalog_is_that_of_the_text():
    assert entries(read(PO.with_suffix(".mo"))) == entries(read(PO)), "run `tox -e catalogs`"


def test_errors__every_translation_passes_the_gate_of_the_site():
    assert check_catalog(PO, False, read_glossary(GLOSSARY, SITE), SITE) == []


def placeholders(text):
    return sorted(
        (name, spec, conversion)
        for _, name, spec, conversion in string.Formatter().parse(text)
        if name is not None
    )


def test_errors__a_translation_has_the_placeholders_of_the_original():
    for english, chinese in entries(read(PO)).items():
        assert placeholders(chinese) == placeholders(english)


def test_errors__a_sentence_has_one_translation_in_the_package_and_on_the_site():
    package = {english: text for english, text in entries(read(PO)).items() if " " in english}
    for catalog in sorted(GLOSSARY.parent.glob("locale/**/*.po")):
        shared = {
            english: text for english, text in entries(read(catalog)).items() if english in package
        }
        assert shared == {english: package[english] for english in shared}, catalog


def test_errors__the_gate_sees_an_untranslated_text(tmp_path):
    file = tmp_path / "haiku_state.po"
    file.write_text(PO.read_text(encoding="utf-8").replace(CHINESE, ""), encoding="utf-8")
    [problem] = check_catalog(file, False, read_glossary(GLOSSARY, SITE), SITE)
    assert (problem.what, problem.message) == ("not translated", ENGLISH)
    assert isinstance(read(PO), Catalog)
