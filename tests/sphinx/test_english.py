"""The English of the pages and of the source has the words that a reader expects."""

import re

import pytest
from support.lesson_cells import DOCS

ROOT = DOCS.parent
TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(file for file in sorted(DOCS.rglob("*.md")) if "locale" not in file.parts),
    *sorted((DOCS / "api").glob("*.rst")),
    *sorted((ROOT / "haiku_state").rglob("*.py")),
    *sorted((ROOT / "conf/sphinx").rglob("*.py")),
]
NOT = (
    "array|scalar|dict|JSON|identifier|static|container|step|such dict|precision|change|loop|"
    "operation|transformation|copy|state|integer"
)
OTHER = "name|shape|dtype|type|kind|weak|length|model|settings|run|train state|constant|part|one"
AND = (
    "it must be|rng is|was not|these are not|JAX has started|JAX uses|Python has|"
    r"the environment has|this JAX|the gradient would|no key|none (is|of them)|\{first\}"
)
# what may not be found (a space also stands for a line break), and what to write instead
RULES = {
    "say": (r"[\w`\")},] say[.,;:)]", "'such as' before the example"),
    "word": (r"\bwithout a word\b", "silently"),
    "no": (rf"(?<=[^\s#\"])(?<![Tt]here) (is|are) no ({NOT})", "is not a, are not"),
    "archaic": (
        r"\b(shall|anew|afresh|for ever|[Mm]end(s|ed|ing)?|[Ww]hoever)\b|\b[Bb]esides,",
        "should, again, forever, fix, you, also",
    ),
    "other": (rf"\b(has|have|with|of|is|are) (another|other) ({OTHER})s?\b", "different"),
    "and": (rf", and ({AND})", "'but' for a contrast"),
    "measured": (r"\bmeasured (set|one)\b|that was (not )?measured|was measured with", "tested"),
    "part": (r"\b(test|training) part\b", "test set, training set"),
    "spelling": (r"\bspellings?\b", "form"),
    "whole": (r"\b(is|none is|of them is|may be|newest) whole\b", "intact, complete"),
    "bit": (r"\bbit by bit\b", "bit for bit"),
}
EXEMPT = {
    ("say", "errors say"): "it is the verb",
    ("say", "they say"): "it is the verb",
    ("and", "and no key is used twice"): "a second claim, not a contrast",
    ("and", "and rng is always required"): "a second claim, not a contrast",
}


@pytest.mark.parametrize("name", RULES)
def test_english__the_words_are_plain_and_technical(name):
    pattern, instead = RULES[name]
    rule = re.compile(pattern.replace(" ", r"[\s#\"]+"))
    hits, unused = [], {phrase for rule_name, phrase in EXEMPT if rule_name == name}
    phrases = frozenset(unused)
    for file in TEXTS:
        text = file.read_text(encoding="utf-8")
        for hit in rule.finditer(text):
            around = " ".join(text[max(hit.start() - 30, 0) : hit.end() + 30].split())
            if exempt := {phrase for phrase in phrases if phrase in around}:
                unused -= exempt
            else:
                line = text.count("\n", 0, hit.start()) + 1
                hits.append(f"{file.relative_to(ROOT)}:{line}: {hit[0]!r}: write {instead}")
    assert not hits, "\n".join(hits)
    assert not unused, f"no longer needed in EXEMPT: {sorted(unused)}"
