"""Files and folders, read and written."""

import atexit
import contextlib
import csv
import io
import json
import os.path
import pickle
import shutil
import tempfile
from pathlib import Path, PurePath

import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


def _written(name):
    """Return a path that no case may really create."""
    return str(Path(tempfile.gettempdir()) / f"haiku_state-never-{name}")


FILES = Path(tempfile.mkdtemp(prefix="haiku_state-explain-"))  # to read from
atexit.register(shutil.rmtree, FILES, ignore_errors=True)
np.save(FILES / "scale.npy", np.float32(3.0))
(FILES / "scale.json").write_text('{"scale": 3.0}')
(FILES / "scale.txt").write_text("3.0\n")
with open(FILES / "scale.pickle", "wb") as _file:
    pickle.dump({"scale": 3.0}, _file)


@impure(x)
def file_open(x):
    with open(FILES / "scale.txt") as file:  # finds: hidden input open
        return x * float(file.read())


@impure(x)
def file_read_text(x):
    path = FILES / "scale.txt"
    return x * float(path.read_text())  # finds: hidden input path.read_text


@impure(x)
def file_json(x):
    with open(FILES / "scale.json") as file:  # finds: hidden input open
        config = json.load(file)
    return x * config["scale"]


@impure(x)
def file_numpy(x):
    return x * float(np.load(FILES / "scale.npy"))  # finds: hidden input np.load


@impure(x)
def file_pickle(x):
    path = FILES / "scale.pickle"
    with path.open("rb") as file:  # finds: hidden input path.open
        return x * pickle.load(file)["scale"]


@impure(x)
def file_loadtxt(x):
    scale = np.loadtxt(FILES / "scale.txt")  # finds: hidden input np.loadtxt
    return x * float(scale)


def _read_config(name):
    with open(FILES / f"{name}.json") as file:  # finds: hidden input open
        return json.load(file)


@impure(x)
def file_in_a_helper(x):
    return x * _read_config("scale")["scale"]


@impure(x)
def directory_listing(x):
    return x * len(os.listdir(FILES))  # finds: hidden input os.listdir


@impure(x)
def path_exists(x):
    if Path("some_file_never").exists():  # finds: hidden input Path('some_file_never').exists
        return x
    return x + 1


text_file = io.StringIO("1.0\n2.0\n")


@impure(x)
def stringio_readline(x):
    return x * float(text_file.readline())  # finds: hidden input text_file.readline


real_file = open(FILES / "scale.txt")  # noqa: SIM115
atexit.register(real_file.close)


@impure(x)
def open_file_read(x):
    return x * float(real_file.read())  # finds: hidden input real_file.read


log_file = io.StringIO()


@impure(x)
def write_to_an_open_file(x):
    log_file.write("step\n")  # finds: output log_file.write
    return x


rows_of_log = csv.writer(io.StringIO())


@impure(x)
def csv_row(x):
    rows_of_log.writerow([1, "loss"])  # finds: output rows_of_log.writerow
    return x


@impure(x)
def file_write(x):
    with open(_written("open.txt"), "w") as file:  # finds: output open
        file.write("loss\n")
    return x


@impure(x)
def file_append(x):
    with open(_written("append.txt"), "a") as file:  # finds: output open
        print("loss", file=file)
    return x


@impure(x)
def file_write_text(x):
    path = Path(_written("text.txt"))
    path.write_text(str(x.shape))  # finds: output path.write_text
    return x


@impure(x)
def file_json_dump(x):
    with open(_written("dump.json"), mode="w", encoding="utf-8") as file:  # finds: output open
        json.dump({"shape": x.shape}, file)
    return x


@impure(x)
def file_numpy_save(x):
    np.save(_written("array.npy"), np.zeros(3))  # finds: output np.save
    return x


@impure(x)
def file_remove(x):
    with contextlib.suppress(FileNotFoundError):
        os.remove(_written("removed.txt"))  # finds: output os.remove
    return x


@impure(x)
def directory_make(x):
    os.makedirs(_written("folder"), exist_ok=True)  # finds: output os.makedirs
    return x


@impure(x)
def path_touch(x):
    Path(
        "haiku_state-never-touched"
    ).touch()  # finds: output Path('haiku_state-never-touched').touch
    return x


@impure(x)
def path_mkdir(x):
    Path("haiku_state-never-made").mkdir()  # finds: output Path('haiku_state-never-made').mkdir
    return x


@pure(x)
def paths_without_files(x):
    path = PurePath("data") / "train.csv"
    return x * len(path.suffix) + len(os.path.join("a", "b")) + len(os.path.splitext("a.b")[1])


@pure(x)
def json_in_memory(x):
    shape = json.loads(json.dumps({"shape": list(x.shape)}))["shape"]
    return x.reshape(shape)
