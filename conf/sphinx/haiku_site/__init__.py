"""How one source becomes a site in several languages: a folder for each stage, and ``features``.

``execute`` runs the notebooks, ``translate`` puts another language into what they have become,
``notebooks`` writes the lessons as notebooks, and ``finish`` turns the pages of all languages into
one folder that may be published. ``features`` has a folder for each thing that a page can do.
"""

from pathlib import Path

SPHINX = Path(__file__).resolve().parents[1]
ROOT = SPHINX.parents[1]
