"""What `explain` has found. (The lead's stand-in, until the real one is merged)."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Finding:
    kind: str
    name: str
    file: str
    line: int
    form: str = ""
    before: str = ""
    after: str = ""
    size: int = 0


@dataclasses.dataclass(frozen=True)
class Report:
    function: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    unseen: tuple[str, ...] = ()
    error: BaseException | None = None

    @property
    def pure(self) -> bool:
        return not self.findings
