"""The language of the texts that the package prints: English, or Simplified Chinese."""

import functools
import gettext
import locale
import os
from pathlib import Path

DOMAIN = "haiku_state"
FOLDER = Path(__file__).parent / "locale"


def deferred(text: str) -> str:
    """Mark a text for the catalog, and leave its translation to the moment when it is shown."""
    return text


def translated(text: str) -> str:
    """Give a marked text in the reader's language.

    Args:
      text: the English, as it stands in the source.

    Returns:
      The Chinese, if ``HAIKU_STATE_LANG`` begins with ``zh`` or is not set and the locale does;
      else the English.

    Example:
      >>> import os
      >>> from haiku_state.language import translated
      >>> os.environ["HAIKU_STATE_LANG"] = "en"
      >>> translated("the replicas differ:{paths}")
      'the replicas differ:{paths}'

    References:
      Python's documentation, `gettext <https://docs.python.org/3/library/gettext.html>`__.
    """
    return _catalog(_wanted().lower().startswith("zh")).gettext(text)


def _wanted() -> str:
    # the order of gettext's own search; LANGUAGE may list several, the first one counts
    for variable in ("HAIKU_STATE_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            return value
    try:
        return locale.getlocale()[0] or "en"
    except ValueError:  # a locale that Python does not know must not hide the error itself
        return "en"


@functools.cache
def _catalog(chinese: bool) -> gettext.NullTranslations:
    languages = ["zh_CN"] if chinese else []
    return gettext.translation(DOMAIN, FOLDER, languages, fallback=not chinese)
