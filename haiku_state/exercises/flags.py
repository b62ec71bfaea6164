"""What a teacher may want to look at in an answer; nothing here decides whether it passes."""

import ast
from collections.abc import Iterator

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated

IMPORTS = _("imports `{name}` (line {line})")
READS = _("names the files of the exercises (line {line})")
LOOKS = _("looks at other frames or objects, with `{name}` (line {line})")
ASKS = _("asks whether it is traced, with `{name}` (line {line})")
RUNS = _("runs text as code, with `{name}` (line {line})")
CHANGES = _("changes `{name}` when it is called but not when it is traced")

CHECKER = "haiku_state.exercises"
LOOKING = {
    "_getframe", "_current_frames", "currentframe", "inspect.stack", "f_back", "tb_frame",
    "f_locals", "gc", "get_objects", "get_referrers", "get_referents", "settrace", "setprofile",
    "addaudithook", "ctypes", "sys.modules",
}  # fmt: skip
TRACED = {"Tracer", "is_concrete", "trace_state_clean", "ensure_compile_time_eval"}
RUNNING = {"exec", "eval", "compile", "__import__", "import_module", "run_path", "run_module"}


def flags(source: str, changed: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield what stands out in an answer, in the reader's language.

    Args:
      source: the answer.
      changed: the names of what it changes when it is called, and `explain` does not see.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    found = dict.fromkeys(text for node in ast.walk(tree) for text in _of_node(node))
    yield from found
    yield from (translated(CHANGES).format(name=name) for name in changed)


def _of_node(node: ast.AST) -> Iterator[str]:
    line = getattr(node, "lineno", 0)
    match node:
        case ast.Import(names=names):
            given = [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names):
            given = [f"{module}.{alias.name}" for alias in names]
        case ast.Attribute(attr=name, value=value):
            given = [name, f"{value.id}.{name}" if isinstance(value, ast.Name) else ""]
        case ast.Name(id=name):
            given = [name]
        case ast.Constant(value=str(text)):
            if "haiku_state" in text and ("exercises" in text or "course" in text):
                yield translated(READS).format(line=line)
            given = [text] if text in LOOKING | TRACED | RUNNING else []
        case _:
            return
    for name in given:
        last = name.rpartition(".")[2]
        if f"{name}.".startswith(f"{CHECKER}.") or name == "hs.exercises":
            yield translated(IMPORTS).format(name=name, line=line)
        elif last in LOOKING or name in LOOKING:
            yield translated(LOOKS).format(name=name, line=line)
        elif last in TRACED:
            yield translated(ASKS).format(name=name, line=line)
        elif last in RUNNING and name in (last, f"builtins.{last}", f"importlib.{last}"):
            yield translated(RUNS).format(name=name, line=line)
