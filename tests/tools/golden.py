"""Write tests/modules/golden.json anew: ``python tests/tools golden``."""

from support.module_table import GOLDEN, as_text, signatures

if __name__ == "__main__":
    GOLDEN.write_text(as_text(signatures()), encoding="utf-8")
