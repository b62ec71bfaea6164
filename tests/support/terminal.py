"""What a text is in a terminal: how wide, and whether it is Chinese."""

import re
import unicodedata


def width(line):
    """Return the columns of a line, of which a Chinese character takes two."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "FW") for letter in line)


def has_chinese(text):
    """Return whether a Chinese character is in a text."""
    return re.search("[一-鿿]", text) is not None
