"""Names what is not translated, or not soundly: ``python -m haiku_site.translate.gate``."""

import sys

from haiku_site import ROOT
from haiku_site.translate.gate.catalogs import check_catalogs

DOCS = ROOT / "docs"

if __name__ == "__main__":
    problems = check_catalogs(DOCS / "locale", DOCS, DOCS / "glossary.csv")
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(bool(problems))
