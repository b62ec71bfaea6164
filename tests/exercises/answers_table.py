"""The right and wrong answers of each exercise: ``answers/NAME.py``, which are data.

``# right: what is different`` begins an answer that passes, and ``# wrong: name of the idea`` one
that fails with the message of that idea.
"""

import re
from pathlib import Path

from haiku_state.exercises import tasks

ANSWERS = Path(__file__).parent / "answers"
NAMES = tasks.ORDER


def answers(name):
    """Yield for each answer: right or wrong, what it is, and its text."""
    text = (ANSWERS / f"{name}.py").read_text(encoding="utf-8")
    pieces = re.split(r"^# (right|wrong): (.+)\n", text, flags=re.M)
    assert not pieces[0].strip(), f"{name}: something stands before the first answer"
    for kind, title, code in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        yield kind, title, code.strip("\n") + "\n"
