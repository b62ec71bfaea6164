"""What state does, made visible."""

from haiku_state.explain.flow import record_flow as record_flow
from haiku_state.explain.flow_data import Flow as Flow
from haiku_state.explain.flow_data import FlowEvent as FlowEvent
from haiku_state.explain.flow_data import FlowLeaf as FlowLeaf
from haiku_state.explain.flow_data import FlowModule as FlowModule
