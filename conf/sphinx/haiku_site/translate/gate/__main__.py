"""Names what is not translated, or not soundly: ``python -m haiku_site.translate.gate``."""

import sys

from haiku_site import ROOT
from haiku_site.translate.gate.catalogs import check_catalogs, check_package

DOCS = ROOT / "docs"

if __name__ == "__main__":
    problems = check_catalogs(DOCS / "locale", DOCS, DOCS / "glossary.csv")
    problems += check_package(ROOT / "haiku_state/locale", DOCS / "glossary.csv")
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(bool(problems))
