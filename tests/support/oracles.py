"""What the answers should be, in float64 NumPy and in closed form."""

import numpy as np


def batch_norm(x, axes, eps=1e-5, scale=1.0, offset=0.0, mean=None, var=None):
    """Output, mean and variance; the statistics of the batch unless they are given."""
    x = np.asarray(x, np.float64)
    mean = x.mean(axes, keepdims=True) if mean is None else np.asarray(mean, np.float64)
    var = np.square(x - mean).mean(axes, keepdims=True) if var is None else np.float64(var)
    return scale * (x - mean) / np.sqrt(var + eps) + offset, mean, var


def exponential_average(values, decay):
    """The mean of the values so far, value ``i`` of ``t`` weighted by ``decay**(t - i)``."""
    values = np.asarray(values, np.float64)
    weights = np.float64(decay) ** np.arange(len(values))[::-1]
    return np.tensordot(weights, values, 1) / weights.sum()


def least_squares(inputs, targets):
    """The weights and the bias of the best line."""
    inputs = np.asarray(inputs, np.float64)
    ones = np.ones((len(inputs), 1))
    solution, *_ = np.linalg.lstsq(np.hstack([inputs, ones]), np.float64(targets), rcond=None)
    return solution[:-1], solution[-1]


def squared_error_gradient(inputs, targets, w, b):
    """The gradient of the mean squared error of ``inputs @ w + b`` by ``w`` and ``b``."""
    inputs, targets = np.float64(inputs), np.float64(targets)
    error = inputs @ np.float64(w) + np.float64(b) - targets
    return 2 * inputs.T @ error / len(targets), 2 * error.mean()


def r2(prediction, targets):
    """The share of the targets' variance that the prediction explains."""
    targets = np.float64(targets)
    return 1 - np.square(prediction - targets).mean() / targets.var()
