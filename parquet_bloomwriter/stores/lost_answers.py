"""Requests whose answer may be lost: what became of them, and how they are carried out once.

A store that breaks the connection may have carried the request out. If it is repeated then, the
repetition is refused because the first one was carried out: a lost answer looks like a conflict. So
each attempt has a random id, which the new object carries, in its metadata or in its text; and
whenever the answer is not plain success, the store is asked what is there before anything else is
done. If that carries our id, we won.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from parquet_bloomwriter.errors import StoreProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from parquet_bloomwriter.stores.base import State


class NoAnswer(Exception):
    """The store did not say whether it carried out a request, or said what cannot be true.

    `__cause__` says how it failed, or else the text.
    """

    @property
    def is_last(self) -> bool:
        """Return whether repeating the request makes no sense."""
        return bool(getattr(self.__cause__, "is_last", False))


class Refusal(Exception):
    """The store answered that it did not carry out a request."""

    code = ""
    """Error code of the store, if it has such codes."""

    is_absent = False
    """Whether the object does not exist."""

    is_precondition = False
    """Whether a condition of the request did not hold."""

    is_conflict = False
    """Whether another request for the same object was under way."""

    is_busy = False
    """Whether the store did nothing because it is overloaded."""

    is_final = True
    """Whether the store did nothing, and would refuse the request again."""

    is_forbidden = False
    """Whether the caller lacks the permission for the request."""


S = TypeVar("S", bound="State")


def publish_once(  # noqa: C901, PLR0913  all that can become of a request, and its errors
    send: Callable[[], S],
    look: Callable[[], S | None],
    *,
    tries: Iterable[object],
    attempt: str,
    is_before: Callable[[S | None], bool],
    changed: Callable[[], Exception],
    refused: Callable[[Refusal], Exception],
    unknown: Callable[[BaseException | None], Exception],
) -> S:
    """Make a conditional request; if its answer is lost, find out whether it was carried out.

    Args:
        send: Makes the request once; raises Refusal, or NoAnswer.
        look: Returns what is there, None for nothing.
        tries: Yields before each try, after a pause.
        attempt: The id that the new object carries.
        is_before: Whether what is there is what the request replaces.
        changed: Returns the error for an object of another program.
        refused: Returns the error for a refusal for another reason than a condition.
        unknown: Returns the error if it cannot be found out.
    """
    doubt: BaseException | None = None
    answer: Refusal | None = None
    for _ in tries:
        is_last, answer = False, None
        try:
            return send()
        except NoAnswer as error:
            doubt, is_last = error.__cause__ or error, error.is_last
        except Refusal as error:
            if error.is_busy:
                answer = error
                continue
            doubt, answer = (doubt, error) if error.is_final else (error, None)
        is_condition = answer is None or answer.is_precondition or answer.is_conflict
        try:
            found = look()
        except StoreProblem as error:
            if doubt is None and answer is not None and not answer.is_precondition:
                raise refused(answer) from answer
            raise unknown(doubt or error) from error
        if found is not None and found.attempt == attempt:
            return found
        if not is_before(found):
            raise changed() from doubt
        if answer is not None and not is_condition:
            if doubt is not None:  # A request before this one may yet be carried out.
                raise unknown(doubt) from answer
            raise refused(answer) from answer
        if is_last:
            break
    if doubt is None and answer is not None:
        raise refused(answer) from answer
    raise unknown(doubt or answer) from doubt
