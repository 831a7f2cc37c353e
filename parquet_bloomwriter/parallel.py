"""Tasks for several threads, whose results come in the order of the tasks."""

from __future__ import annotations

import heapq
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

T = TypeVar("T")
R = TypeVar("R")


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def in_order(
    tasks: Iterable[T],
    work: Callable[[T], R],
    *,
    jobs: int,
    weight: Callable[[T], int],
    max_weight: int,
) -> Iterator[Iterator[tuple[T, R]]]:
    """Start threads, and yield an iterator over tasks and results, in the order of the tasks.

    Args:
        tasks: The tasks.
        work: Called in a thread for each task.
        jobs: Threads.
        weight: Returns what a task holds from its start until its result is taken, such as bytes.
        max_weight: Tasks are not started beyond this weight, except to keep every thread busy.

    Raises:
        Exception: From the iterator, what `work` raises, when it is that task's turn.
    """
    waiting = iter(tasks)
    pending: deque[tuple[T, Future[R], int]] = deque()
    held = 0

    def start_more() -> None:
        nonlocal held
        while len(pending) < jobs or held < max_weight:
            for task in waiting:
                load = weight(task)
                pending.append((task, pool.submit(work, task), load))
                held += load
                break
            else:
                return

    def results() -> Iterator[tuple[T, R]]:
        nonlocal held
        while pending:
            task, future, load = pending.popleft()
            yield task, future.result()
            held -= load
            start_more()

    with ThreadPoolExecutor(jobs, thread_name_prefix="bloomify") as pool:
        try:
            start_more()
            yield results()
        finally:
            for _, future, _ in pending:
                future.cancel()


def balanced(items: Sequence[T], weights: Sequence[int], num_groups: int) -> list[list[T]]:
    """Deal items out to at most `num_groups` groups of about the same weight.

    The heaviest item is dealt first, each to the group that is lightest so far.

    Returns:
        The groups, the heaviest first; no group is empty.
    """
    groups: list[list[T]] = [[] for _ in range(min(max(1, num_groups), len(items)))]
    loads = [(0, number) for number in range(len(groups))]
    for place in sorted(range(len(items)), key=lambda place: -weights[place]):
        load, lightest = loads[0]
        groups[lightest].append(items[place])
        heapq.heapreplace(loads, (load + weights[place], lightest))
    return [groups[number] for _, number in sorted(loads, key=lambda one: (-one[0], one[1]))]
