"""What an empty screen says: why it is empty, and what to do next."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from textual.content import Content

from core import Finding, Offer, Promises, SearchMode, SearchResult
from tui.bindings import Keymap
from tui.event_log import LogLine
from tui.state import DeckState
from tui.text import counted, shown, shown_path

Part = tuple[str, str] | str


def _lines(*rows: Part | list[Part]) -> Content:
    return Content("\n").join(Content.assemble(*(row if isinstance(row, list) else [row])) for row in rows)


def home(state: DeckState, workspace: Path, keys: Keymap) -> Content:
    """The search screen before anything is typed."""
    status = state.status
    if status is None:
        return _lines(("Opening the index…", "$text-muted"))
    if not status.chunks:
        return _nothing_indexed(state, workspace, keys)
    return _lines(
        [("Search what is remembered in ", ""), (shown_path(str(workspace)), "bold")],
        (counted(status.files, "file"), "$text-muted"),
        "",
        "Type a question or words. These narrow it down:",
        [('  "exact phrase"', "$primary"), "        words in this order"],
        [("  path:memory/2026", "$primary"), "      only documents whose path holds this"],
        [("  after:2026-01-01", "$primary"), "      only text of that day and later (before: too)"],
    )


def _nothing_indexed(state: DeckState, workspace: Path, keys: Keymap) -> Content:
    if state.syncing:
        progress = state.sync_progress
        far = f" {progress.completed:,} of {progress.total:,}" if progress is not None and progress.total else ""
        return _lines(
            [("Reading ", ""), (shown_path(str(workspace)), "bold"), far],
            ("Text can be searched the moment it is read.", "$text-muted"),
        )
    return _lines(
        [("Nothing to search yet in ", ""), (shown_path(str(workspace)), "bold")],
        "",
        [("memdeck reads ", ""), ("MEMORY.md", "$primary"), " and ", ("memory/**/*.md", "$primary"), " there."],
        "Write one of them, or start with another folder:",
        ("  memdeck --workspace DIR", "$primary"),
        "Files elsewhere can be added with extra_paths in config.toml.",
        "",
        (f"{keys.key('app.status')} shows the status, {keys.key('status.reindex')} there looks again.", "$text-muted"),
    )


def no_hits(result: SearchResult, mode: SearchMode, source: str, dates: str, keys: Sequence[str]) -> Content:
    """A search without an answer: what was searched, and the keys that widen it (of mode, source and dates)."""
    if result.filters and not _without_filters(result):
        return _lines(
            [("Filters alone find nothing: ", "bold"), shown(result.query)],
            "",
            "Add a word to search for; the filters narrow the hits down.",
        )
    mode_key, source_key, dates_key = keys
    searched = "all sources" if source == "all" else source
    widen = [f"{mode_key} searches in another mode"]
    if source != "all":
        widen.append(f"{source_key} searches all sources")
    if dates != "any time":
        searched += f", dates: {shown(dates)}"
        widen.append(f"{dates_key} searches other dates")
    rows: list[Part | list[Part]] = [
        [("No hits for ", ""), (shown(result.query), "bold")],
        (f"{mode} search in {searched}", "$text-muted"),
        "",
        *widen,
    ]
    if result.catching_up:
        rows.append(("The index is catching up: hits come as the files are read.", "$accent"))
    elif result.pending and mode != "keyword":
        rows.append((f"{counted(result.pending, 'chunk')} without a vector yet: found by words only.", "$text-muted"))
    return _lines(*rows)


def _without_filters(result: SearchResult) -> str:
    """What a query asks for besides its filters."""
    words = result.query
    for typed in result.filters:
        words = words.replace(typed, " ", 1)
    return words.strip()


def not_in_step(keys: Keymap) -> str:
    """What helps when a document that is indexed cannot be shown any more."""
    status, sync = keys.key("app.status"), keys.key("status.reindex")
    return f"{status}, then {sync} brings the index in step with the files: what is gone leaves it."


def failure(what: str, error: str, remedy: str) -> Content:
    """Something went wrong: what, why, and what to try."""
    rows: list[Part | list[Part]] = [(what, "bold $error"), shown(error)]
    if remedy:
        rows += ["", shown(remedy)]
    return _lines(*rows)


_NO_FILES = {
    "all": "Nothing is indexed yet.", "indexed": "Nothing is indexed yet.", "failed": "No file failed.",
    "waiting": "No file waits for vectors.", "left out": "No file was left out.",
}  # fmt: skip


def no_files(show: str, query: str, key: str) -> Content:
    """The files screen with nothing to list; `key` shows others."""
    others: list[Part | list[Part]] = [] if show == "all" else [(f"{key} shows others.", "$text-muted")]
    if query.strip():
        words: list[Part] = [("No path holds ", ""), (shown(query), "bold")]
        return _lines(words, ("Clear the field to see all.", "$text-muted"), *others)
    return _lines(_NO_FILES.get(show, "No file was skipped."), *others)


def sessions_off(key: str) -> Content:
    """The sessions screen while no transcripts are read; `key` asks whose are to be."""
    return _lines(
        ("Sessions are off", "bold"),
        "",
        [(key, "bold $primary"), " shows which agents keep transcripts on this machine, and asks."],
        "",
        "They are read when config.toml names whose:",
        ("  [sessions]", "$primary"),
        ('  agents = ["openclaw", "claude-code"]', "$primary"),
        "",
        ("They stay on this machine; secrets in them are masked before anything is indexed.", "$text-muted"),
    )


def no_sessions(agents: Sequence[str], state: DeckState, keys: Keymap) -> Content:
    """Agents are named, but no transcript of theirs is indexed."""
    names = shown(", ".join(agents)) or "the paths that are named"
    if state.syncing:
        return _lines([("Reading the transcripts of ", ""), (names, "bold"), "…"])
    return _lines(
        [("No transcripts yet of ", "bold"), (names, "bold")],
        "",
        "They are looked for in each agent's usual place, and where sessions.paths in config.toml says.",
        (
            f"memdeck status names what could not be read; {keys.key('app.status')} shows it, "
            f"{keys.key('status.reindex')} there looks again.",
            "$text-muted",
        ),
    )


def no_session_matches(query: str, keys: Keymap) -> Content:
    return _lines(
        [("No transcript has ", ""), (shown(query), "bold"), " in its title, agent or folder"],
        "",
        f"Clear the field to see all; what was said is found on the search screen ({keys.key('app.search')}), "
        "with source:sessions.",
    )


def first_run(looked: tuple[Path, ...], keys: Keymap, *, asks: bool) -> Content:
    """No workspace was found, and nothing is asked at the moment; `asks` if there is something to ask for."""
    rows: list[Part | list[Part]] = [
        ("Where is the memory?", "bold"),
        "",
        [
            ("memdeck searches a folder that holds ", ""),
            ("MEMORY.md", "$primary"),
            " or ",
            ("memory/*.md", "$primary"),
            ".",
        ],
        "Nothing in it is changed; the index lies in your own data folder.",
        "",
    ]
    rows += [(f"  looked in {shown(str(place))}", "$text-muted") for place in looked]
    back, offer_key = keys.key("app.back", typing=True), keys.key("app.offer")
    more = [f"{back}, then {offer_key} shows what was found on this machine."] if asks else []
    leave = keys.key("app.quit", typing=True)
    return _lines(*rows, "", f"Type the path of a folder and press Enter. {leave} quits.", *more)


_READ = {
    "workspace": ("MEMORY.md and memory/**/*.md in", "Notes that you write in memdeck go there; nothing else changes."),
    "folder": ("the Markdown files of", "Nothing there is changed."),
    "agent": ("the transcripts in", "What you and the agent said, not what tools did. Nothing there is changed."),
    "path": ("the transcript", "What you and the agent said. Nothing is changed."),
}


def offer(offer: Offer | None, promises: Promises) -> Content:
    """What would be read of an offer, and what holds of all of them."""
    rows: list[Part | list[Part]] = []
    if offer is not None and offer.path:
        what, left = _READ[offer.kind]
        rows += [[("Reads ", "bold"), f"{what} ", (shown_path(offer.path), "$primary")], left]
        if offer.kind == "agent" and offer.holds:
            rows.append(f"Of {shown(offer.holds)}.")
    rows += [
        "Keys, tokens and passwords in transcripts are masked before anything is indexed or shown.",
        [("Index   ", "bold"), (shown(promises.index), "$primary"), ", readable by you alone"],
        [("Text    ", "bold"), *_where_text_goes(promises)],
        [("Answers ", "bold"), "are written to ", (shown(promises.config), "$primary")],
    ]
    return _lines(*rows)


def log_details(line: LogLine) -> Content:
    """One line of the log, in full."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(line.at_ms / 1000))
    rows: list[Part | list[Part]] = [
        [(f"{when}.{line.at_ms % 1000:03d}  ", "$text-muted"), (line.verb, "bold"), f"  ({line.level})"],
        "",
        (shown(line.subject), "$primary"),
    ]
    if line.detail:
        rows += ["", shown(line.detail)]
    return _lines(*rows)


def trouble_details(words: str, remedy: str) -> Content:
    """A reason of bad health, and what helps."""
    helps: list[Part | list[Part]] = ["", [("What helps  ", "bold"), shown(remedy)]] if remedy else []
    return _lines((shown(words), "$warning"), *helps)


def question(what: str, but: str) -> Content:
    """What is about to be done, and what follows from it."""
    return _lines(what, "", (but, "$text-muted"))


def findings(found: Sequence[Finding]) -> Content:
    """What doctor found, what is not well first."""
    rows: list[Part | list[Part]] = []
    for finding in sorted(found, key=lambda one: one.ok):
        word, style = ("ok    ", "$success") if finding.ok else ("FAILED", "$error")
        rows.append([(f"{word} ", style), (f"{shown(finding.check)}  ", "bold"), shown(finding.detail)])
        if finding.remedy and not finding.ok:
            rows.append((f"       → {shown(finding.remedy)}", "$text-muted"))
    return _lines(*rows)


def _where_text_goes(promises: Promises) -> list[Part]:
    if promises.stays_here:
        return ["stays on this machine"]
    place = shown(promises.text_goes_to)
    return [("goes to ", ""), (place, "$warning"), ", as the settings say, where vectors are made of it"]
