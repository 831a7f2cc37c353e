"""Work on many things with threads, and hand out the results in order."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")
R = TypeVar("R")


def default_jobs() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    tasks: Iterable[T],
    work: Callable[[T], R],
    *,
    jobs: int,
    weight: Callable[[T], int],
    max_weight: int,
) -> Iterator[tuple[T, R]]:
    """Yield each task with its result, in the order of the tasks.

    Args:
        tasks: What to work on.
        work: Called in a thread for each.
        jobs: Threads.
        weight: What a task holds from its start until its result is taken.
        max_weight: Tasks are not started beyond this weight, except to keep every thread busy.

    Raises:
        Exception: The first that `work` raises, once it is that task's turn.
    """
    pending: deque[tuple[T, Future[R], int]] = deque()
    held = 0
    with ThreadPoolExecutor(jobs, thread_name_prefix="bloomify") as pool:
        try:
            for task in tasks:
                load = weight(task)
                while len(pending) > jobs and held + load > max_weight:
                    done, future, freed = pending.popleft()
                    yield done, future.result()
                    held -= freed
                pending.append((task, pool.submit(work, task), load))
                held += load
            while pending:
                done, future, _ = pending.popleft()
                yield done, future.result()
        finally:
            for _, future, _ in pending:
                future.cancel()
