"""Small pieces that training is put together from: each wraps a loss function or an optimizer."""

from haiku_state.pieces.accumulation import accumulate as accumulate
from haiku_state.pieces.averaging import average_params as average_params
from haiku_state.pieces.averaging import averaged_params as averaged_params
from haiku_state.pieces.averaging import reestimate_state as reestimate_state
from haiku_state.pieces.freezing import freeze_params as freeze_params
from haiku_state.pieces.freezing import freeze_state as freeze_state
from haiku_state.pieces.precision import mixed_precision as mixed_precision
from haiku_state.pieces.scaling import scale_loss as scale_loss
