"""A start without a workspace, in a process of its own: what is opened before the user's yes, and what after.

`python -m tests.first_run_child ROOT` prints {"before": […], "after": […], "agents": […]}: the paths below ROOT/home
that Python opened or listed. ROOT/yes is looked for at the moment of the yes, which a system call trace shows.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

seen: list[str] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir", "sqlite3.connect", "glob.glob", "os.walk"):
        path = arguments[0]
        seen.append(os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else str(path))


async def main(root: Path) -> None:
    from core import Memory, SourceOffers, open_memory
    from tui.app import AppOptions, MemdeckApp

    home = root / "home"
    environ = {"HOME": str(home)}
    offers = SourceOffers(environ=environ, home=home, cwd=home / "proj")

    def opener(folder: Path) -> Memory:
        return open_memory(workspace=folder, environ=environ, home=home, flags={"provider": "none"}, resident=True)

    app = MemdeckApp(None, AppOptions(environ=environ, offers=offers, open_workspace=opener))
    async with app.run_test(size=(100, 30)) as pilot:

        async def until(condition: Callable[[], object]) -> None:
            end = time.monotonic() + 60
            while not condition():
                assert time.monotonic() < end, app.screen
                await pilot.pause(0.02)

        await until(lambda: len(app.screen.rows.items) > 4)
        for key in ("down", "up", "question_mark", "escape", "tab", "tab"):
            await pilot.press(key)
        app.screen.rows.focus()
        keys = [row.offer.key if row.offer is not None else "" for row in app.screen.rows.items]
        app.screen.rows.highlighted = keys.index("agent:claude-code")
        await pilot.press("space")
        await pilot.pause()
        before = list(seen)
        (root / "yes").exists()
        await pilot.press("enter")
        await until(lambda: app.has_memory and any(row.source == "sessions" for row in app.memory.documents()))
        agents = list(app.memory.settings.settings.sessions.agents)
    app.close_memory()
    inside = str(home)
    print(
        json.dumps(
            {
                "before": [path for path in before if path.startswith(inside)],
                "after": [path for path in seen[len(before) :] if path.startswith(inside)],
                "agents": agents,
            }
        )
    )


if __name__ == "__main__":
    sys.addaudithook(_hook)
    asyncio.run(main(Path(sys.argv[1])))
