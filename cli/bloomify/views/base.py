"""How the reports of one verb are shown: what every view offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from bloomify.views.documents import Document

R_contra = TypeVar("R_contra", contravariant=True)


class View(Protocol[R_contra]):
    """How the reports of one verb are shown."""

    command: str
    """Name of the verb."""

    is_brief: bool
    """Whether the details are short enough to follow the headline of each of many files."""

    def headline(self, report: R_contra) -> str:
        """One line for one file."""
        ...

    def details(self, report: R_contra, *, columns: int | None) -> str:
        """What follows it if there is only this file, or nothing is written; may be empty."""
        ...

    def collect(self, report: R_contra) -> None:
        """Add to the summary of many files."""
        ...

    def summary(self, *, columns: int | None) -> str:
        """The table of all files together; may be empty."""
        ...

    def tally(self) -> str:
        """What was done to all files together, a few words."""
        ...

    def document(self, report: R_contra) -> Document:
        """The same for programs."""
        ...

    def overall(self) -> Document:
        """What programs are told of all files together."""
        ...

    @property
    def passed(self) -> bool:
        """Whether what was done to the files collected satisfies."""
        ...


class ReadingView:
    """What most views of these verbs have in common."""

    is_brief: bool = False

    def overall(self) -> Document:
        """Programs are told nothing of all files together."""
        return {}

    @property
    def passed(self) -> bool:
        """There is nothing to check."""
        return True
