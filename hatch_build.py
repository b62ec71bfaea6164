"""What the build adds: compiled catalogs, and the address of the repository where one is set."""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class Catalogs(BuildHookInterface):
    """Compiles the package's catalogs, beside them: Git has only what people write."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files are collected, also for an editable installation."""
        from babel.messages.mofile import write_mo
        from babel.messages.pofile import read_po

        for source in sorted(Path(self.root, "haiku_state/locale").rglob("*.po")):
            with source.open("rb") as stream:
                catalog = read_po(stream, locale=source.parts[-3])
            with source.with_suffix(".mo").open("wb") as stream:
                write_mo(stream, catalog)


class Addresses(MetadataHookInterface):
    """Names the repository, whose address ``HAIKU_STATE_REPOSITORY`` is where a release is made."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the links that an index shows."""
        repository = os.environ.get("HAIKU_STATE_REPOSITORY", "").rstrip("/")
        metadata["urls"] = {
            name: f"{repository}{path}"
            for name, path in (
                ("Source", ""),
                ("Changelog", "/blob/main/CHANGELOG.md"),
                ("Issues", "/issues"),
            )
            if repository
        }
        if site := os.environ.get("HAIKU_STATE_SITE"):
            metadata["urls"]["Documentation"] = site
