"""What processes tell each other is text, whatever they are given to tell."""

import pathlib

from haiku_state import exchange


class Store:
    """The key-value store of JAX, as one of two processes sees it; the other has written."""

    def __init__(self, other):
        self.other, self.texts = other, {}

    def key_value_set(self, key, text):
        assert isinstance(text, str)
        self.texts[key] = text
        self.texts[key.rpartition("/")[0] + "/000000001"] = self.other

    def wait_at_barrier(self, name, wait):
        """Pass: the other one is there."""

    def key_value_dir_get(self, name):
        return [(key, text) for key, text in self.texts.items() if key.startswith(name)]

    def key_value_delete(self, name):
        self.texts.clear()


def test_values_of_all__tells_a_path_as_text_and_never_runs_what_comes(monkeypatch):
    """The folder of the checkpoints is among the settings that all processes must share."""
    store = Store('{"folder": "run", "loss": NaN}')
    monkeypatch.setattr(exchange, "key_value_store", lambda: (store, 0))
    given = {"folder": pathlib.Path("run"), "shape": (2, 3)}
    mine, other = exchange.values_of_all(given, 1)
    assert mine == {"folder": "run", "shape": [2, 3]}
    assert other["folder"] == "run"
    assert "pickle" not in vars(exchange)
