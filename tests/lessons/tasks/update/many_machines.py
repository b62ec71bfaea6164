# %% 1
codes, _, errors = launch_training(4, free_address())
assert codes == [0] * 4, errors
four = [report_of(index, 4) for index in range(4)]
[rows] = {stop - start for report in four for start, stop, _ in report["rows"]}
says(f"Each holds {rows} rows", "stays below 1e-5")
assert max(distance(report, alone) for report in four) < 1e-5

# %% 2
seed = "jax.random.key(0), jnp.zeros"
program = (folder / "train.py").read_text()
assert program.count(seed) == 1
(folder / "train.py").write_text(program.replace("key(0), jnp", "key(index), jnp"))
codes, _, errors = launch_training(2, free_address())
assert 0 not in codes, codes
says("Neither of the exit codes is 0")
assert all("ReplicaMismatchError" in text for text in errors), errors
says("raises a `ReplicaMismatchError` in both")
(folder / "train.py").write_text(program)

# %% 3
own = "own = slice(size * index // count, size * (index + 1) // count)"
program = (folder / "train.py").read_text()
assert program.count(own) == 1
(folder / "train.py").write_text(program.replace(own, "own = slice(0, 16)"))
codes, _, errors = launch_training(2, free_address())
assert codes == [0, 0], errors
both = report_of(0, 2)["losses"]
codes, _, errors = launch_training(1, free_address())
assert codes == [0], errors
says("The losses equal those of one process")
np.testing.assert_allclose(both, report_of(0, 1)["losses"], rtol=1e-5)
assert abs(both[-1] - alone["losses"][-1]) > 1e-3
(folder / "train.py").write_text(program)

# %% 4
codes, _, errors = launch_training(2, free_address(), loses=0)
assert codes[0] == 9
assert codes[1] != 0
says("Process 1 ends too, with an exit code that is not 0")
