"""The translation that the tests try: its code, for those that show a text of it."""

ZH = "zh_CN"
