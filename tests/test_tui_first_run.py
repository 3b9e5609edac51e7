"""The first-run screen: asks, explains, reads nothing before the yes, takes a "not now", and can be come back to."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core import Memory, SourceOffers, StoreError, close_all, open_memory
from tests.pictures import Album, write_files

FIXTURES = Path(__file__).parent / "fixtures" / "transcripts"
SESSION = "sessions/claude-code/3f0d9a61-7c1e-4a53-9d7a-5b8c2e1f0a77.jsonl"


class Household:
    """A home with agents and memory, and what the app is started with there."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        for agent, folder in (("claude-code", ".claude"), ("codex", ".codex"), ("openclaw-jsonl", ".openclaw")):
            shutil.copytree(FIXTURES / agent / folder, self.home / folder)
        write_files(self.home, {"proj/memory/a.md": "# A\n\nneedle a\n", "notes/MEMORY.md": "# Notes\n\nneedle b\n"})
        self.offers = SourceOffers(environ={}, home=self.home, cwd=self.home / "proj")
        self.opened: list[Memory] = []

    def opener(self, folder: Path) -> Memory:
        memory = open_memory(workspace=folder, environ={}, home=self.home, flags={"provider": "none"}, resident=True)
        self.opened.append(memory)
        return memory

    @property
    def options(self) -> dict[str, Any]:
        return {"offers": self.offers, "open_workspace": self.opener, "looked_in": (self.home / ".openclaw/workspace",)}

    @property
    def config(self) -> str:
        return self.offers.config.read_text() if self.offers.config.exists() else ""


@contextmanager
def household(root: Path) -> Iterator[Household]:
    house = Household(root)
    yield house
    for memory in house.opened:
        memory.close()
    close_all()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Household]:
    with household(tmp_path) as house:
        yield house


def keys_of(running: Any) -> list[str]:
    return [row.offer.key for row in running.app.screen.rows.items if row.offer is not None]


async def asked(running: Any) -> Any:
    def is_asked() -> bool:
        lists = list(running.app.screen.query("OfferList"))
        return bool(lists) and len(lists[0].items) > 3

    await running.until(is_asked)
    return running.app.screen


async def choose(running: Any, key: str) -> None:
    rows = running.app.screen.rows
    rows.focus()
    rows.highlighted = next(n for n, row in enumerate(rows.items) if row.offer is not None and row.offer.key == key)
    await running.press("space")
    await running.pilot.pause()


def text_of(running: Any) -> str:
    return "\n".join(running.lines())


async def test_it_lists_what_there_is_and_says_what_would_be_read_and_where_it_goes(
    deck: Any, house: Household
) -> None:
    async with deck(None, size=(240, 30), **house.options) as running:
        await asked(running)
        text = text_of(running)
        for words in (
            f"(•) this folder               {house.home}/proj",
            f"[ ] Claude Code               {house.home}/.claude/projects",
            f"Reads MEMORY.md and memory/**/*.md in {house.home}/proj",
            "masked before anything is indexed or shown",
            f"Index   {house.home}/.local/share/memdeck",
            "stays on this machine",
            f"are written to {house.offers.config}",
            "nothing of it is read yet",
        ):
            assert words in text
        await choose(running, "agent:codex")
        assert f"Reads the transcripts in {house.home}/.codex/sessions" in text_of(running)
        assert "What you and the agent said, not what tools did." in text_of(running)


async def test_a_yes_by_keys_alone_opens_the_memory_and_reads_those_sessions(deck: Any, house: Household) -> None:
    async with deck(None, start=True, **house.options) as running:
        await asked(running)
        await running.press("down", "down", "space", "enter")
        await running.until(lambda: running.app.current_mode == "search")
        assert 'agents = ["claude-code"]' in house.config
        assert f'workspace = "{house.home}/proj"' in house.config
        memory = running.app.memory
        await running.until(lambda: {row.path for row in memory.documents()} >= {"memory/a.md", SESSION})
        assert not any(row.dialect == "codex" for row in memory.documents())


async def test_without_a_choice_of_sessions_none_is_read(deck: Any, house: Household) -> None:
    async with deck(None, start=True, **house.options) as running:
        await asked(running)
        await running.press("enter")
        await running.until(lambda: running.app.has_memory and running.app.memory.is_in_step)
        assert [row.path for row in running.app.memory.documents()] == ["memory/a.md"]
        assert "sessions" not in house.config


async def test_not_now_reads_nothing_and_is_not_asked_again(deck: Any, house: Household) -> None:
    async with deck(None, **house.options) as running:
        await asked(running)
        await running.press("n")
        await running.until(lambda: "Where is the memory?" in text_of(running))
        assert house.config == ""
    async with deck(None, **house.options) as running:
        await running.until(lambda: "Where is the memory?" in text_of(running))
        await running.press("escape", "A")
        await asked(running)
        assert "agent:claude-code" in keys_of(running)
    shutil.copytree(FIXTURES / "pi" / ".pi", house.home / ".pi")
    async with deck(None, **house.options) as running:
        await asked(running)
        assert "agent:pi" in keys_of(running)


async def test_a_folder_can_be_named_instead(deck: Any, house: Household) -> None:
    async with deck(None, **house.options) as running:
        await asked(running)
        await running.press("slash")
        await running.type(str(house.home / "none"))
        await running.press("enter")
        await running.until(lambda: "! not a folder: " in text_of(running))
        await running.press("ctrl+u")
        await running.type(str(house.home / "notes"))
        await running.press("enter")
        await running.until(lambda: f"workspace:{house.home}/notes" in keys_of(running))
        await running.press("enter")
        await running.until(lambda: running.app.has_memory)
        assert running.app.memory.workspace == house.home / "notes"
        assert house.config == f'workspace = "{house.home}/notes"\n'


async def test_after_not_now_a_typed_folder_opens_at_once(deck: Any, house: Household) -> None:
    house.offers.decline(house.offers.find())
    async with deck(None, **house.options) as running:
        await running.until(lambda: "looked in" in text_of(running))
        await running.type(str(house.home / "notes"))
        await running.press("enter")
        await running.until(lambda: running.app.current_mode == "search")


async def test_where_nothing_is_found_it_asks_for_a_folder(deck: Any, tmp_path: Path) -> None:
    offers = SourceOffers(environ={}, home=tmp_path / "empty", cwd=tmp_path)
    async with deck(None, offers=offers, looked_in=(Path("/home/me/.openclaw/workspace"),)) as running:
        await running.until(lambda: "looked in /home/me/.openclaw/workspace" in text_of(running))
        assert running.app.screen.typing


async def test_errors_stay_on_the_screen_as_text(deck: Any, house: Household) -> None:
    def failing(folder: Path) -> Memory:
        raise StoreError("no memory [/x] there\x1b[2J")

    async with deck(None, **{**house.options, "open_workspace": failing}) as running:
        await asked(running)
        await running.press("enter")
        await running.until(lambda: "no memory [/x] there␛[2J" in text_of(running))
    house.offers.config.write_text("not = = toml")
    async with deck(None, **house.options) as running:
        await running.press("escape", "A")
        await asked(running)
        await running.press("enter")
        await running.until(lambda: "it is left as it is" in text_of(running))
        assert running.app.current_mode == "first_run"


async def test_hostile_names_are_text(deck: Any, house: Household) -> None:
    (house.home / ".openclaw/workspace-[x]\x1b[2J").mkdir()
    (house.home / ".openclaw/agents/[@click=app.quit]b\u202e").mkdir()
    async with deck(None, size=(160, 30), **house.options) as running:
        await asked(running)
        assert "OpenClaw's, for [x]␛[2J" in text_of(running)
        await choose(running, "agent:openclaw")
        assert "--agent reads [@click=app.quit]b" in text_of(running)
        assert not any(ord(character) < 32 or character == "\u202e" for character in text_of(running).replace("\n", ""))


@pytest.fixture
def open_house(house: Household) -> tuple[Household, Memory]:
    memory = house.opener(house.home / "notes")
    memory.sync()
    return house, memory


async def test_it_can_be_come_back_to_from_the_palette_and_the_sessions_screen(
    deck: Any, open_house: tuple[Household, Memory]
) -> None:
    house, memory = open_house
    async with deck(memory, **house.options) as running:
        await running.press("f3")
        await running.until(lambda: "A shows which agents keep transcripts" in text_of(running))
        await running.press("A")
        await asked(running)
        assert "only what is chosen is read" in text_of(running)
        await running.press("escape")
        await running.until(lambda: running.app.current_mode == "sessions")
        await running.press("f2", "ctrl+p")
        await running.type("choose what is read")
        await running.press("enter")
        await running.until(lambda: running.app.current_mode == "first_run")


async def test_a_later_yes_opens_the_memory_anew_and_goes_back_to_the_screen(
    deck: Any, open_house: tuple[Household, Memory]
) -> None:
    house, memory = open_house
    async with deck(memory, start=True, query="needle", **house.options) as running:
        await running.press("f3")
        await running.pilot.pause()
        running.app.action_offer()
        await asked(running)
        await choose(running, "agent:claude-code")
        await choose(running, f"folder:{house.home}/proj/memory")
        await running.press("enter")
        await running.until(lambda: running.app.current_mode == "sessions" and running.app.memory is not memory)
        await running.until(lambda: any(row.source == "sessions" for row in running.app.memory.documents()))
        await running.until(
            lambda: f"{house.home}/proj/memory/a.md" in {d.path for d in running.app.memory.documents()}
        )
        await running.until(lambda: len(running.app.screen.rows.items) >= 1)
        assert running.app.screen.rows.items
        await running.press("f2")
        await running.until(lambda: running.app.screen.input.value == "needle" and running.app.screen.hits.items)


async def test_nothing_changed_keeps_the_memory_that_is_open(deck: Any, open_house: tuple[Household, Memory]) -> None:
    house, memory = open_house
    async with deck(memory, **house.options) as running:
        running.app.action_offer()
        await asked(running)
        await running.press("space", "enter")
        await running.until(lambda: running.app.current_mode == "search")
        assert running.app.memory is memory
        assert any("this workspace is open" in toast for toast in running.toasts)


async def test_a_start_with_a_memory_tells_once_of_agents(deck: Any, open_house: tuple[Household, Memory]) -> None:
    house, memory = open_house
    for told in (True, False):
        async with deck(memory, **house.options) as running:
            await running.rest()
            assert any("A asks which of them" in toast for toast in running.toasts) is told


@pytest.mark.parametrize("size", [(40, 10), (1, 1), (59, 24), (160, 50)])
async def test_every_size_keeps_row_and_choice(deck: Any, house: Household, size: tuple[int, int]) -> None:
    async with deck(None, **house.options) as running:
        screen = await asked(running)
        await choose(running, "agent:claude-code")
        await running.resize(*size)
        if size[0] > 1:
            assert "▌[x] Claude Code" in text_of(running)
        await running.press("tab", "tab", "tab")
        await running.resize(80, 24)
        assert (screen.rows.current.offer.key, screen.picked) == (
            "agent:claude-code",
            {f"workspace:{house.home}/proj", "agent:claude-code"},
        )


# What it looks like


@pytest.fixture(scope="module")
def pictured() -> Iterator[Household]:
    root = Path(tempfile.mkdtemp(prefix="deck-", dir="/tmp"))
    with household(root) as house:
        yield house
    shutil.rmtree(root)


async def arrange(running: Any, state: str) -> None:
    screen = await asked(running)
    if state == "not_now":
        running.app.screen._rest()
    elif state == "chosen":
        await choose(running, "agent:claude-code")
    elif state == "trouble":
        screen.notice("not a folder: /home/me/none")
        await running.press("slash")
    await running.rest()


@pytest.mark.parametrize("state", ["asked", "chosen", "not_now", "trouble"])
async def test_first_run(deck: Any, pictured: Household, album: Album, state: str) -> None:
    async with deck(None, **pictured.options) as running:
        await arrange(running, state)
        await album.sizes(running)


async def test_themes(deck: Any, pictured: Household, album: Album) -> None:
    async with deck(None, **pictured.options) as running:
        await arrange(running, "chosen")
        await album.themes(running)


def test_the_keys_of_the_screen_are_in_help_and_palette() -> None:
    from tui.bindings import load_keymap, on_screen
    from tui.commands import commands_of

    ids = {binding.id for binding in on_screen("first_run")}
    assert {"offer.choose", "offer.start", "offer.later", "offer.folder", "app.offer"} <= ids
    titles = [command.title for command in commands_of("search", load_keymap({}), [])]
    assert "app: choose what is read: folders, agents' sessions" in titles
