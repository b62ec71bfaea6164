"""Try the laws of ``check_module`` on our modules, on Haiku's networks and on its other modules.

python tests/tools check_modules [NAME …]

A NAME selects the modules whose names contain it; the deep ResNets take most of the time. A line
has how many laws a module keeps, breaks and need not keep, the seconds, and what broke each law.
"""

import argparse
import os
import time

if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"

import haiku as hk
import jax.numpy as jnp
import numpy as np

import haiku_state as hs

RNG = np.random.default_rng(0)
X = RNG.normal(3, 2, (8, 6)).astype(np.float32)
IMAGES = RNG.normal(0, 1, (8, 32, 32, 3)).astype(np.float32)
SMALL = RNG.normal(0, 1, (8, 6, 6, 2)).astype(np.float32)
STEPS = RNG.normal(0, 1, (5, 4, 6)).astype(np.float32)  # time, examples, features
FRAMES = RNG.normal(0, 1, (5, 4, 6, 6, 2)).astype(np.float32)
NORMAL = hk.initializers.RandomNormal()
PARAMS = {"linear": {"w": X, "b": X[0]}}


def calls(module, *args, **kwargs):
    """Return a function that makes a module and calls it."""
    return lambda *inputs: module(*args, **kwargs)(*inputs)


def trains(module, *args, **kwargs):
    """Return one that also passes ``is_training``."""
    return lambda *inputs, is_training: module(*args, **kwargs)(*inputs, is_training)


def unrolls(core, *args, **kwargs):
    """Return one that unrolls a recurrent core."""

    def unrolled(*steps):
        made = core(*args, **kwargs)
        xs = steps if len(steps) > 1 else steps[0]
        return hk.dynamic_unroll(made, xs, made.initial_state(steps[0].shape[1]))

    return unrolled


def mlp(x, is_training):
    return hk.nets.MLP([8, 5])(x, *([0.2, hk.next_rng_key()] if is_training else []))


def spectral_norm(x, is_training):
    w = hk.get_parameter("w", [6, 3], init=NORMAL)
    return x @ hk.SpectralNorm()(w, update_stats=is_training)


SHARED = {"cross_replica_axis": "devices"}
NORM = {"create_scale": True, "create_offset": True, "decay_rate": 0.9}
SHORT = {"blocks_per_group": [1] * 4, "num_classes": 10, "channels_per_group": [16] * 4}
DEEP = [name for name in hk.nets.__all__ if name.startswith("ResNet") and name != "ResNet"]
CASES = {
    "hs.Counter": (hs.Counter,),
    "hs.MovingAverage": (calls(hs.MovingAverage), X),
    "hs.ExponentialMovingAverage": (calls(hs.ExponentialMovingAverage, 0.9), X),
    "hs.BatchNorm": (trains(hs.BatchNorm, **NORM), X),
    "hs.BatchNorm, shared": (trains(hs.BatchNorm, **NORM, **SHARED), X),
    "hs.LinearRegression": (trains(hs.LinearRegression), X),
    "hs.LinearRegression, shared": (trains(hs.LinearRegression, True, **SHARED), X),
    "hs.Classifier": (trains(hs.Classifier, [8], 5), X),
    "hs.Classifier, shared": (trains(hs.Classifier, [8], 5, **SHARED), X),
    "hk.BatchNorm": (trains(hk.BatchNorm, **NORM), X),
    "hk.BatchNorm, shared": (trains(hk.BatchNorm, **NORM, **SHARED), X),
    "hk.ExponentialMovingAverage": (calls(hk.ExponentialMovingAverage, 0.9), X),
    "hk.EMAParamsTree": (calls(hk.EMAParamsTree, 0.9), PARAMS),
    "hk.SpectralNorm": (spectral_norm, X),
    "hk.SNParamsTree": (calls(hk.SNParamsTree, ignore_regex=".*b$"), PARAMS),
    "hk.nets.VectorQuantizer": (trains(hk.nets.VectorQuantizer, 6, 8, 0.25), X),
    "hk.nets.VectorQuantizerEMA": (trains(hk.nets.VectorQuantizerEMA, 6, 8, 0.25, 0.9), X),
    "hk.nets.MLP": (mlp, X),
    "hk.nets.MobileNetV1": (trains(hk.nets.MobileNetV1, num_classes=10), IMAGES),
    "hk.nets.ResNet": (trains(hk.nets.ResNet, **SHORT, resnet_v2=True), IMAGES),
    **{f"hk.nets.{name}": (trains(getattr(hk.nets, name), 10), IMAGES) for name in DEEP},
    "hk.LayerNorm": (calls(hk.LayerNorm, -1, True, True), X),
    "hk.RMSNorm": (calls(hk.RMSNorm, -1), X),
    "hk.GroupNorm": (calls(hk.GroupNorm, 3), X),
    "hk.InstanceNorm": (calls(hk.InstanceNorm, True, True), SMALL),
    "hk.MultiHeadAttention": (calls(hk.MultiHeadAttention, 2, 4, w_init=NORMAL), *[STEPS] * 3),
    "hk.layer_stack": (lambda x: hk.layer_stack(3)(lambda x: jnp.tanh(hk.Linear(6)(x)))(x), X),
    "hk.Embed": (calls(hk.Embed, 8, 3), np.arange(8)),
    "hk.Conv2D": (calls(hk.Conv2D, 3, 3), SMALL),
    "hk.VanillaRNN": (unrolls(hk.VanillaRNN, 5), STEPS),
    "hk.LSTM": (unrolls(hk.LSTM, 5), STEPS),
    "hk.GRU": (unrolls(hk.GRU, 5), STEPS),
    "hk.DeepRNN": (unrolls(lambda: hk.DeepRNN([hk.LSTM(5), jnp.tanh, hk.GRU(4)])), STEPS),
    "hk.ResetCore": (unrolls(lambda: hk.ResetCore(hk.LSTM(5))), STEPS, STEPS[..., 0] > 1),
    "hk.Conv2DLSTM": (unrolls(hk.Conv2DLSTM, (6, 6), 3, 3), FRAMES),
}


def main(words):
    """Print one line for each module that one of the words selects, and for all without words."""
    print(f"{'module':28}kept broken not applicable seconds")
    for name in [name for name in CASES if not words or any(word in name for word in words)]:
        start, axis = time.perf_counter(), "devices" if "shared" in name else None
        report = hs.testing.check_module(*CASES[name], axis_name=axis)
        outcomes = [result.outcome for result in report.results]
        kept, broken, skipped = (outcomes.count(each) for each in ("kept", "broken", "skipped"))
        seconds, found = time.perf_counter() - start, "; ".join(map(str, report.broken))
        print(f"{name:28}{kept:4}{broken:7}{skipped:15}{seconds:8.1f} {found}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("names", nargs="*", metavar="NAME")
    main(parser.parse_args().names)
