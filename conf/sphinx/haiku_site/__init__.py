"""How one source becomes a site in several languages; a folder for each stage, in their order.

``execute`` runs the notebooks, ``translate`` puts another language into what they have become,
``content`` has what only this site shows, ``notebooks`` writes the lessons as notebooks, and
``finish`` turns the pages of all languages into one folder that may be published.
"""

from pathlib import Path

SPHINX = Path(__file__).resolve().parents[1]
ROOT = SPHINX.parents[1]
