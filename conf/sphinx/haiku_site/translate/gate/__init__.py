"""The translation gate: it names each message that is not translated, or not soundly."""
