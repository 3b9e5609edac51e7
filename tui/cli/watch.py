"""`memdeck watch`: keep the index in step with the files, and print what happens."""

from __future__ import annotations

import dataclasses
import queue
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import click

from tui.cli import output
from tui.cli.common import Scope, json_option, opened, scope_options

if TYPE_CHECKING:
    from core import events

_KIND = re.compile(r"(?<=[a-z])(?=[A-Z])")


@click.command("watch")
@click.option("--until-idle", is_flag=True, help="End when files and vectors are in step, in place of going on.")
@json_option
@scope_options
def command(*, scope: Scope, until_idle: bool, as_json: bool) -> int:
    """Follow the files and print every step, until Ctrl-C.

    With --json each event is one line, with its kind and what it knows.
    """
    with opened(scope, resident=True) as memory, _ended_by_signal() as (end, stopped_by):
        inbox: queue.SimpleQueue[events.Event] = queue.SimpleQueue()
        memory.events.subscribe(inbox.put)
        memory.start()
        while not end.is_set():
            try:
                event = inbox.get(timeout=0.2)
            except queue.Empty:
                if until_idle and memory.is_in_step:
                    break
                continue
            _print(event, as_json=as_json)
    return 128 + stopped_by[0] if stopped_by and until_idle else output.OK


def _print(event: events.Event, *, as_json: bool) -> None:
    if as_json:
        output.line(output.json_text({"event": _name(event, "_"), **dataclasses.asdict(event)}))
    else:
        from tui.event_log import log_line

        row = log_line(event)
        if row is not None:
            detail = f"  {row.detail}" if row.detail else ""
            output.line(output.visible(f"{row.clock}  {row.verb:8}  {row.subject}{detail}"))
    output.flush()


def _name(event: events.Event, between: str) -> str:
    """FileIndexed as file_indexed."""
    return _KIND.sub(between, type(event).__name__).lower()


@contextmanager
def _ended_by_signal() -> Iterator[tuple[threading.Event, list[int]]]:
    """An event that Ctrl-C, SIGTERM and SIGHUP set, and the signals that came."""
    end = threading.Event()
    came: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(number)
        end.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield end, came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
