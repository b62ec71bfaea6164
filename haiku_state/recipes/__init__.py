"""What training adds: each recipe wraps a loss function, an optimizer or an update."""

import haiku_state.compat as _compat  # noqa: F401  # names versions that do not match
from haiku_state.recipes.accumulation import accumulate as accumulate
from haiku_state.recipes.averaging import AveragedTrainState as AveragedTrainState
from haiku_state.recipes.averaging import average_params as average_params
from haiku_state.recipes.averaging import average_state as average_state
from haiku_state.recipes.averaging import averaged_params as averaged_params
from haiku_state.recipes.averaging import reestimate_state as reestimate_state
from haiku_state.recipes.freezing import freeze_params as freeze_params
from haiku_state.recipes.freezing import freeze_state as freeze_state
from haiku_state.recipes.loss_scale import make_scaled_update as make_scaled_update
from haiku_state.recipes.loss_scale import scale_loss as scale_loss
from haiku_state.recipes.precision import mixed_precision as mixed_precision
