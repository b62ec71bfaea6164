"""Seen: why a function is impure, where its state goes, what jit writes, what has changed."""

import haiku_state.compat as _compat  # noqa: F401  # names versions that do not match
from haiku_state.inside.advice import Advice as Advice
from haiku_state.inside.compare import Comparison as Comparison
from haiku_state.inside.compare import compare as compare
from haiku_state.inside.flow import record_flow as record_flow
from haiku_state.inside.flow_data import FlowEvent as FlowEvent
from haiku_state.inside.flow_data import FlowLeaf as FlowLeaf
from haiku_state.inside.flow_data import FlowModule as FlowModule
from haiku_state.inside.flow_picture import Flow as Flow
from haiku_state.inside.history import History as History
from haiku_state.inside.history_data import LeafSummary as LeafSummary
from haiku_state.inside.purity import assert_pure as assert_pure
from haiku_state.inside.purity import explain as explain
from haiku_state.inside.purity import explain_retrace as explain_retrace
from haiku_state.inside.report import Finding as Finding
from haiku_state.inside.report import Report as Report
from haiku_state.inside.trace import record_trace as record_trace
from haiku_state.inside.trace_data import Trace as Trace
from haiku_state.inside.trace_data import TraceSource as TraceSource
from haiku_state.inside.trace_data import TraceStep as TraceStep
from haiku_state.inside.trace_data import TraceValue as TraceValue
