"""Seen: why a function is impure, where its state goes, and how a train state changed."""

from haiku_state.explain.flow import record_flow as record_flow
from haiku_state.explain.flow_data import Flow as Flow
from haiku_state.explain.flow_data import FlowEvent as FlowEvent
from haiku_state.explain.flow_data import FlowLeaf as FlowLeaf
from haiku_state.explain.flow_data import FlowModule as FlowModule
from haiku_state.explain.history import History as History
from haiku_state.explain.history import LeafSummary as LeafSummary
from haiku_state.explain.purity import assert_pure as assert_pure
from haiku_state.explain.purity import explain as explain
from haiku_state.explain.purity import explain_retrace as explain_retrace
from haiku_state.explain.report import Finding as Finding
from haiku_state.explain.report import Report as Report
