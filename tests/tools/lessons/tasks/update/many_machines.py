# %% 1
four = train_in(4)
[rows] = {stop - start for seen in four for start, stop, _ in seen["rows"]}
says(f"Each process holds {rows} rows", "stays below 1e-5")
assert max(distance(seen, alone) for seen in four) < 1e-5

# %% 2
program = (folder / "train.py").read_text()
assert program.count("jax.random.key(0)") == 1
seeded = program.replace("key(0)", "key(jax.process_index())")
(folder / "train.py").write_text(seeded)
codes, _, errors = launch("train.py", 2, "-1")
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
both, single = train_in(2)[0]["losses"], train_in(1)[0]["losses"]
says("The losses equal those of a single process")
np.testing.assert_allclose(both, single, rtol=1e-5)
assert abs(both[-1] - alone["losses"][-1]) > 1e-3
(folder / "train.py").write_text(program)
