"""Changes of the source that change no result: ``tests/tools/mutants.py`` does not count them.

It cannot follow what several processes do together either: those changes name the test that does.

For each reason, the file and a regular expression for the lines that differ, as ``-`` and ``+``.
"""

EQUIVALENT: dict[str, list[tuple[str, str]]] = {
    "no outcome of a law comes before broken": [
        ("testing/check.py", r"\+if result.outcome <= \"broken\":"),
    ],
    "an address that is looked up twice is found twice": [
        ("haiku_site/finish/check_site.py", r"-@functools.cache"),
    ],
    "a translation is of its catalog": [
        ("haiku_site/translate/cells.py", r"\+.*message.lineno if message else "),
    ],
    "a build without eight devices fails": [
        ("haiku_site/features/error_cards/calls.py", r"\+if not __name__ == "),
    ],
    "all shards of an array have one shape": [
        ("storage/arrays.py", r"\+.* shards\[ ?-?1\].data.shape"),
    ],
    "test_restore_checkpoint__what_two_processes_have_saved_one_restores notices it": [
        ("storage/checkpoint.py", r"\+sums\[path\] = column\[0\] if "),
    ],
    "test_save_checkpoint__processes_that_save_different_checkpoints_say_so notices it": [
        ("storage/checkpoint.py", r"\+processes.agree\("),
    ],
    "what is muted twice is put back twice": [
        ("storage/checkpoint.py", r"\+if self._running > 2:"),
    ],
    "the name is random anyway": [
        ("storage/arrays.py", r"\+part = target.with_name"),
    ],
    "only the second of the two is taken": [
        ("inside/trace.py", r"\+return min\(found, .*default=\( ?-?\d, \(\)\)"),
    ],
    "the width of a letter is an estimate": [
        ("inside/flow_picture.py", r"\+return sum\( 1[13].5 if ord"),
    ],
    "float32 is cast to float32": [
        ("recipes/precision.py", r"\+return is_float\(leaf\) and .* < 5"),
    ],
    "all members of an ensemble are at the same step": [
        ("storage/checkpoint.py", r"np.ravel\(step\)\[ ?-?1\]"),
    ],
    "JSON is written in ASCII": [
        ("storage/checkpoint.py", r"write_text\(text, \*\*\{\}\)"),
        ("haiku_site/execute/kernels.py", r"write_text\(json.dumps\(named\), \*\*\{\}\)"),
    ],
    "in one process an array is saved and restored the same, by NumPy or by JAX": [
        ("storage/leaves.py", r"\+is_copied = .* > 0"),
        ("storage/leaves.py", r"\+is_of_one_process = .* > 0"),
        ("storage/leaves.py", r"\+is_copied = data.is_fully_replicated or "),
        ("storage/checkpoint.py", r"\+if len\(data.sharding.device_set\) > "),
    ],
    "test_restore_checkpoint__what_lies_on_devices_comes_back_there notices it on JAX 0.6": [
        ("storage/leaves.py", r"\+is_copied = .* < 1"),
        ("storage/leaves.py", r"\+return np.asarray\(data\) if not is_copied"),
    ],
    "the modules that are looked at have no params": [
        ("pure/pair.py", r"_refuse_stacked, params=True"),
    ],
    "the dtypes were compared before": [
        ("storage/checkpoint.py", r"ArrayRestoreArgs\(sharding=data.sharding, \*\*\{\}\)"),
    ],
    "one call is all that the thread is for": [
        ("storage/checkpoint.py", r"ThreadPoolExecutor\(\*\*\{\}\)"),
    ],
    "there is at least one process": [
        ("storage/leaves.py", r"\+.*process_count\(\) != 1"),
    ],
    "all rows of a stack have one shape, and only the shape is looked at": [
        ("update/scan.py", r"first = .* rows\[ ?-1\]"),
    ],
    "nobody passes the number of traces": [
        ("update/runner.py", r"trace_count: int = .*\*\*\{\}"),
    ],
    "test_runner__train_states_that_differ_between_processes_are_named notices it": [
        ("update/mesh.py", r"\+return count > 2 and "),
    ],
    "it takes more memory or time": [
        ("recipes/accumulation.py", r"\+.*jax.checkpoint\(one_loss, \*\*\{\}\)"),
        ("storage/checkpoint.py", r"^-del nested"),
        ("storage/leaves.py", r"@.*jax.jit"),
        ("update/runner.py", r"^-self._made = "),
        ("exercises/sandbox/child.py", r"\+for draw in \[\]:"),
    ],
    "Python flushes stderr at the end of each line": [
        ("commands/parser.py", r"\+print\(line, file=sys.stderr, \*\*\{\}\)"),
        ("processes/start.py", r"\+print\(line, file=sys.stderr, \*\*\{\}\)"),
    ],
    "the tested sets are for Python 3.10 and newer, of two digits": [
        ("commands/doctor/versions.py", r"\+pythons = .* \*\*\{\}\)"),
    ],
    "a process that is alone loses none": [
        ("processes/watch.py", r"\+index, count = .* else \( ?-?\d, 1\)"),
    ],
    "the thread ends with its context": [
        ("processes/watch.py", r"\+threading.Thread\(target=watch._wait, .*\*\*\{\}\)"),
    ],
    "nothing is connected in between": [
        ("haiku_site/features/search/__init__.py", r"\+.* _note, priority= ?9\d\d\)"),
    ],
    "the error names the module, and not its size": [
        ("haiku_site/features/error_cards/calls.py", r'\+return hk.Linear\( ?\d, name="head"'),
        ("haiku_site/features/error_cards/calls.py", r"\+HAIKUS = .* False, True, 0.9\)"),
    ],
}
