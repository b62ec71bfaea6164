"""How the lessons' figures are drawn."""

import io

import matplotlib
from haiku_site import SPHINX
from haiku_site.execute import figures
from matplotlib.figure import Figure


def drawn():
    settings = SPHINX / "matplotlibrc"
    stream = io.BytesIO()
    with matplotlib.rc_context(fname=settings):
        figure = Figure()
        figure.subplots().plot([0, 1], label="loss")
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue().decode()


def test_figures__are_the_same_on_each_run_and_show_the_page_behind_them():
    assert drawn() == drawn()
    assert "fill: #ffffff" not in drawn()
    assert "<text" not in drawn()  # paths, which no machine's fonts change


def test_figures__words_are_legible_on_a_phone():
    settings = matplotlib.rc_params_from_file(SPHINX / "matplotlibrc", use_default_template=False)
    width = 72 * settings["figure.figsize"][0]
    shown = 309  # pixels, on a page of 360
    sizes = [size for name, size in settings.items() if name.endswith(("size", "fontsize"))]
    words = [size for size in sizes if isinstance(size, float) and size > 6]  # not the ticks' lines
    assert len(words) >= 6
    assert min(words) * shown / width >= 10


def test_configure_kernels__they_are_told_the_style(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", "")
    monkeypatch.setenv("MATPLOTLIBRC", "")
    figures.configure_kernels(tmp_path)
    from IPython.paths import get_ipython_dir

    assert get_ipython_dir() == str(tmp_path)
    assert matplotlib.matplotlib_fname() == str(SPHINX / "matplotlibrc")
    assert "svg" in (tmp_path / "profile_default/ipython_kernel_config.py").read_text()
