"""A process of one's own for one kind of work: questions in, answers out in the same order, none of it lost.

It gets a recipe by standard input, then one question after the other; each message, either way, is its length (8 bytes,
little-endian) and a pickle. It ends with its standard input, in the middle of its work as well, and so with whoever
started it.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import IO, Any, Generic, TypeVar

log = logging.getLogger(__name__)

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_LENGTH = struct.Struct("<Q")
_SELDOM = (20_000, 20, 100)
_END_SECONDS = 1.0
_START = "import sys; sys.path[:] = sys.argv[1:]; from {module} import main; main()"


class Child(Generic[Question, Answer]):
    """One process, and the thread that hears it.

    With `idle_seconds` it ends when nothing has kept it awake for so long and nothing is owed.
    """

    def __init__(
        self,
        module: str,
        recipe: object,
        read: Callable[[Question, Any], Answer],
        *,
        what: str,
        idle_seconds: float | None = None,
    ) -> None:
        """`main` of `module` calls `serve`; `read` makes the answer to a question of what came, on the hearing thread;
        `what` is its name in the log. Raises OSError and what pickling raises."""
        data = pickle.dumps(recipe, pickle.HIGHEST_PROTOCOL)
        self._read = read
        self._what = what
        self._idle_seconds = idle_seconds
        self._awake = time.monotonic()
        self._owed: deque[tuple[Question, Future[Answer | None]]] = deque()
        self._news = threading.Condition()
        self._sending = threading.Lock()
        self._is_over = False
        self._failed = False
        # Not a session of its own: Linux shares the processor out by sessions, and niceness counts inside one.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(module=module), *map(os.path.abspath, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        with suppress(OSError):  # it has ended: so the hearing thread finds out
            _send(self._to, data)
        self._thread = threading.Thread(target=self._hear, name="memdeck-hear", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_over(self) -> bool:
        """Whether it takes no more questions."""
        return self._is_over

    @property
    def failed(self) -> bool:
        """Whether it ended although nobody wanted it to."""
        return self._failed

    def submit(self, question: Question, *, awake: bool = True) -> Future[Answer | None]:
        """Have a question answered; None where the process has ended and the work is to be done without it.

        One that is not `awake` is answered, and does not count against idleness.
        """
        future: Future[Answer | None] = Future()
        data = pickle.dumps(question, pickle.HIGHEST_PROTOCOL)
        with self._sending:
            with self._news:
                is_over = self._is_over
                if not is_over:
                    self._owed.append((question, future))
                    if awake:
                        self._awake = float("inf")
                    self._news.notify_all()
            if is_over:
                future.set_result(None)
            else:
                with suppress(OSError, ValueError):  # it has ended, as above
                    _send(self._to, data)
        return future

    def close(self) -> None:
        """End it, whatever it is at; what it owes is answered with None. Idempotent."""
        self._retire()
        self._process.kill()
        self._thread.join()

    def _hear(self) -> None:
        try:
            while self._wait_for_work():
                data = _received(self._from)
                if data is None:
                    break
                answer = self._read(self._owed[0][0], pickle.loads(data))
                with self._news:
                    if self._is_over:
                        break
                    _, future = self._owed.popleft()
                    if not self._owed:
                        self._awake = min(self._awake, time.monotonic())
                _answer(future, answer)
        except Exception:
            log.exception("%s cannot be understood", self._what)
        with self._news:
            self._failed = not self._is_over
            self._is_over = True
            owed = list(self._owed)
            self._owed.clear()
        self._bury()
        if self._failed:
            log.warning(
                "%s ended by itself (%s); what it had to do is done without it", self._what, self._process.returncode
            )
        for _, future in owed:
            _answer(future, None)

    def _wait_for_work(self) -> bool:
        with self._news:
            while not self._owed and not self._is_over:
                left = None
                if self._idle_seconds is not None and self._awake != float("inf"):
                    left = self._awake + self._idle_seconds - time.monotonic()
                    if left <= 0:
                        self._is_over = True
                        return False
                self._news.wait(left)
            return not self._is_over

    def _retire(self) -> None:
        with self._news:
            self._is_over = True
            self._news.notify_all()

    def _bury(self) -> None:
        if self._failed:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        self._process.kill()
        self._process.wait()
        for file in (self._to, self._from):
            with suppress(OSError):
                file.close()


def _answer(future: Future[Answer | None], answer: Answer | None) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(answer)


def serve(begin: Callable[[Any], Callable[[Any], bytes]], *, niceness: int) -> None:
    """The life of such a process: `begin` gets the recipe and gives what answers a question with a pickle."""
    with suppress(OSError, AttributeError):
        os.nice(niceness)
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not answer
    came: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_take, args=(source, came), daemon=True).start()
    answer = begin(pickle.loads(came.get()))
    gc.freeze()
    gc.set_threshold(*_SELDOM)  # nearly all that such work makes is used and dropped, in no circles
    with suppress(BrokenPipeError):
        while True:
            _send(target, answer(pickle.loads(came.get())))
    os._exit(0)


def _take(source: IO[bytes], came: queue.SimpleQueue[bytes]) -> None:
    """Hear what is asked also while an answer is being made: nobody waits for one any more when the input ends."""
    while (data := _received(source)) is not None:
        came.put(data)
    os._exit(0)


def _send(file: IO[bytes], data: bytes) -> None:
    file.write(_LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def _received(file: IO[bytes]) -> bytes | None:
    """The next message; None at the end, also where it comes in the middle of one."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = file.read(length)
    return data if len(data) == length else None
