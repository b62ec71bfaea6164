"""The example modules: impure to look at, pure after ``hk.transform_with_state``."""

import haiku_state.compat as _compat  # noqa: F401  # names versions that do not match
from haiku_state.modules.batch_norm import BatchNorm as BatchNorm
from haiku_state.modules.classifier import Classifier as Classifier
from haiku_state.modules.counter import Counter as Counter
from haiku_state.modules.moving_average import ExponentialMovingAverage as ExponentialMovingAverage
from haiku_state.modules.moving_average import MovingAverage as MovingAverage
from haiku_state.modules.regression import LinearRegression as LinearRegression
