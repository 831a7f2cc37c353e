"""Run tasks in several threads, and return the results in the order of the tasks."""

from __future__ import annotations

import heapq
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Condition, Lock, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerPool(ThreadPoolExecutor):
    """A pool of at most the asked number of threads; if none can be started, the caller works."""

    def _adjust_thread_count(self) -> None:
        with suppress(RuntimeError):  # "can't start new thread"; those that run take the work
            super()._adjust_thread_count()

    def submit(self, work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Call a function in a thread, or at once if no thread could be started."""
        future = super().submit(work, *args, **kwargs)
        if self._threads or not future.cancel():
            return future
        done: Future[R] = Future()
        try:
            done.set_result(work(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  it is raised by `result`
            done.set_exception(error)
        return done


@contextmanager
def in_order(
    tasks: Iterable[T],
    work: Callable[[T], R],
    *,
    jobs: int,
    weight: Callable[[T], int],
    max_weight: int,
) -> Iterator[Iterator[tuple[T, R]]]:
    """Start threads; yield an iterator over tasks and their results, in the order of the tasks.

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

    with WorkerPool(jobs, thread_name_prefix="bloomify") as pool:
        try:
            start_more()
            yield results()
        finally:
            for _, future, _ in pending:
                future.cancel()


def to_the_end(work: Callable[[], T]) -> T:
    """Call a function to its end, although Ctrl-C may come meanwhile.

    Python raises KeyboardInterrupt in the main thread, wherever that is. So the function is called
    in a thread of its own. Ctrl-C is raised when the function has ended; if it comes twice, at
    once.

    Raises:
        KeyboardInterrupt: After Ctrl-C. Its `__cause__` is what `work` raised, if it did.
        Exception: What `work` raises.
    """
    if current_thread() is not main_thread():
        return work()
    outcome: Future[T] = Future()
    is_over = Lock()  # waited for as such: Ctrl-C within the wait for a future can break its lock

    def call() -> None:
        try:
            if outcome.set_running_or_notify_cancel():
                outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001  it is raised in the main thread
            outcome.set_exception(error)
        finally:
            is_over.release()

    is_over.acquire()
    try:
        try:
            Thread(target=call, name="bloomify", daemon=True).start()
        except RuntimeError:  # "can't start new thread"
            call()
        is_over.acquire()
    except KeyboardInterrupt as interruption:
        if outcome.cancel():  # It has not begun.
            raise
        is_over.acquire()
        raise interruption from outcome.exception()
    return outcome.result()


def balanced(items: Sequence[T], weights: Sequence[int], num_groups: int) -> list[list[T]]:
    """Divide items into at most `num_groups` groups of about the same weight.

    The heaviest item is dealt first, each item to the group that is lightest so far.

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


class ByteBudget:
    """A limit of the bytes that threads hold together; a thread that wants more waits for others.

    A request for more than the whole budget is granted when no thread holds any bytes. There is no
    deadlock as long as a thread never waits here for the sake of bytes that it holds already.
    """

    def __init__(self, total: int) -> None:
        """Set the limit, bytes."""
        self._total = total
        self._held = 0
        self._changed = Condition()

    @property
    def held(self) -> int:
        """Number of bytes that are held now."""
        return self._held

    def acquire(self, num_bytes: int) -> None:
        """Wait until so many bytes are free, and take them."""
        with self._changed:
            self._changed.wait_for(
                lambda: not (num_bytes and self._held) or self._held + num_bytes <= self._total
            )
            self._held += num_bytes

    def release(self, num_bytes: int) -> None:
        """Return bytes that were taken."""
        with self._changed:
            self._held -= num_bytes
            self._changed.notify_all()
