"""Sessions, exported for qmd: masked text in, citations of the transcript's lines out, nothing kept too long."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from core.backends import qmd_sessions
from core.backends.qmd_sessions import MaskedSession, SessionExport, SessionList, SessionRef
from core.errors import MemdeckError
from core.types import SearchRequest
from tests.qmd_bench import answer, backend_for, fake_qmd, needs_qmd, real_qmd, write_files

DAY = 86_400
NOW = 1_800_000_000.0


class Sessions:
    """Sessions in memory: path → (last activity, lines with the physical line of each)."""

    def __init__(self, **found: tuple[float, list[tuple[int, str]]]) -> None:
        self.found = {f"sessions/pi/{name}.jsonl": entry for name, entry in found.items()}
        self.uncertain: tuple[str, ...] = ()
        self.broken: set[str] = set()
        self.rendered: list[str] = []

    def list(self) -> SessionList:
        refs = [SessionRef(path, str(lines), int(last * 1000)) for path, (last, lines) in self.found.items()]
        return SessionList(tuple(refs), self.uncertain)

    def render(self, path: str) -> MaskedSession:
        self.rendered.append(path)
        if path in self.broken:
            raise MemdeckError("it cannot be read")
        lines = self.found[path][1]
        text = "".join(f"{line}\n" for _, line in lines)
        return MaskedSession(text, [number for number, _ in lines], title="About lemons", dialect="pi", date_ms=1)


LEMONS = (NOW, [(3, "User: where are the lemons"), (9, "Assistant: in the key sk-abc…wxyz box")])
PEARS = (NOW - 40 * DAY, [(2, "User: pears")])


def exported(folder: Path, *, days: int | None = None) -> SessionExport:
    return SessionExport(folder / "out", retention_days=days, now=lambda: NOW)


def names(export: SessionExport) -> list[str]:
    return sorted(path.name for path in export.folder.glob("*.md"))


def test_a_session_becomes_markdown_with_a_title_and_one_line_a_message(tmp_path: Path) -> None:
    export = exported(tmp_path)

    report = export.export(Sessions(one=LEMONS))

    (name,) = names(export)
    assert name.startswith("pi-one-")
    assert (export.folder / name).read_text() == (
        "# Session one: About lemons\n\nUser: where are the lemons\nAssistant: in the key sk-abc…wxyz box\n"
    )
    assert (report.written, export.count()) == (1, 1)


def test_a_find_leads_back_to_the_lines_of_the_transcript(tmp_path: Path) -> None:
    export = exported(tmp_path)
    export.export(Sessions(one=LEMONS))

    document = export.document(names(export)[0])

    assert document.path == "sessions/pi/one.jsonl"
    assert list(zip(document.physical, document.lines, strict=True)) == LEMONS[1]
    assert (document.source, document.dialect, document.date_ms) == ("sessions", "pi", 1)


def test_what_did_not_change_is_not_rendered_again(tmp_path: Path) -> None:
    export, sessions = exported(tmp_path), Sessions(one=LEMONS, two=PEARS)
    export.export(sessions)
    sessions.found["sessions/pi/two.jsonl"] = (NOW, [(2, "User: more pears")])
    sessions.rendered.clear()

    report = exported(tmp_path).export(sessions)

    assert sessions.rendered == ["sessions/pi/two.jsonl"]
    assert (report.written, report.unchanged) == (1, 1)


def test_sessions_older_than_the_retention_are_removed_and_not_written(tmp_path: Path) -> None:
    sessions = Sessions(one=LEMONS, two=PEARS)
    exported(tmp_path).export(sessions)
    export = exported(tmp_path, days=30)

    report = export.export(sessions)

    assert [name.split("-")[1] for name in names(export)] == ["one"]
    assert report.removed == 1
    assert not list((export.folder / ".memdeck-lines").glob("pi-two*"))


def test_a_session_that_is_gone_is_removed_but_not_where_a_folder_could_not_be_read(tmp_path: Path) -> None:
    export, sessions = exported(tmp_path), Sessions(one=LEMONS, two=PEARS)
    export.export(sessions)
    del sessions.found["sessions/pi/one.jsonl"]
    sessions.uncertain = ("sessions/pi",)
    export.export(sessions)
    kept = len(names(export))
    sessions.uncertain = ("sessions/codex",)

    export.export(sessions)

    assert (kept, len(names(export))) == (2, 1)


def test_a_session_that_cannot_be_read_keeps_its_last_export_and_is_named(tmp_path: Path) -> None:
    export, sessions = exported(tmp_path), Sessions(one=LEMONS, two=PEARS)
    export.export(sessions)
    path = "sessions/pi/one.jsonl"
    sessions.found[path] = (NOW, [(1, "User: other")])
    sessions.broken.add(path)

    report = export.export(sessions)

    assert [(failure.path, failure.error) for failure in report.failed] == [(path, "it cannot be read")]
    assert "lemons" in "".join((export.folder / name).read_text() for name in names(export))


def test_other_files_of_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.md").write_text("mine")
    export, sessions = exported(tmp_path), Sessions(one=LEMONS)
    export.export(sessions)
    sessions.found.clear()

    export.export(sessions)
    export.clear()

    assert names(export) == ["mine.md"]


def test_a_manifest_cannot_make_it_remove_files_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "precious.md").write_text("keep")
    export = exported(tmp_path)
    export.export(Sessions(one=LEMONS))
    manifest = export.folder / ".memdeck-export.json"
    rows = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({"../precious.md": next(iter(rows.values()))}))

    export.export(Sessions())

    assert (tmp_path / "precious.md").read_text() == "keep"


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"a.md": 1}', '{"a.md": {"x": 1}}'])
def test_a_broken_manifest_is_written_anew(tmp_path: Path, text: str) -> None:
    export = exported(tmp_path)
    export.export(Sessions(one=LEMONS))
    (export.folder / ".memdeck-export.json").write_text(text)

    report = export.export(Sessions(one=LEMONS))

    assert report.written == 1
    assert export.count() == 1


def test_ids_that_differ_in_signs_alone_do_not_share_a_file(tmp_path: Path) -> None:
    export, sessions = exported(tmp_path), Sessions(one=LEMONS)
    sessions.found = {f"sessions/pi/{name}.jsonl": LEMONS for name in ("a/b", "a-b", "a b", "../../a b", "é" * 300)}

    export.export(sessions)

    assert len(names(export)) == 5
    assert not list(tmp_path.glob("*.md"))


def test_exports_belong_to_this_user_alone(tmp_path: Path) -> None:
    export = exported(tmp_path)

    export.export(Sessions(one=LEMONS))

    assert export.folder.stat().st_mode & 0o077 == 0
    assert (export.folder / names(export)[0]).stat().st_mode & 0o077 == 0


def test_an_export_that_is_stopped_keeps_what_it_wrote(tmp_path: Path) -> None:
    export, sessions = exported(tmp_path), Sessions(one=LEMONS, two=PEARS)

    export.export(sessions, lambda: bool(sessions.rendered))

    assert export.count() == 1


def test_sessions_do_not_crowd_out_memory(tmp_path: Path) -> None:
    found = {f"s{number}": (NOW, [(5, "User: lemons")]) for number in range(4)}
    write_files(tmp_path / "ws", {"memory/a.md": "lemons\n"})
    sessions = Sessions(**found)  # type: ignore[arg-type]
    export = SessionExport(tmp_path / "index.qmd/sessions")
    export.export(sessions)
    rows = json.loads(answer(*((name, 3, "User: lemons") for name in names(export)), collection="sessions-main"))
    rows += json.loads(answer(("a.md", 1, "lemons")))
    backend = backend_for(
        tmp_path,
        fake_qmd(tmp_path, f"cat <<'TEXT'\n{json.dumps(rows)}\nTEXT"),
        sessions=sessions,
        **{"qmd.sessions.enabled": True, "qmd.limits.max_results": 3},
    )
    backend.sync("manual")

    hits = backend.search(SearchRequest("lemons")).hits

    assert [hit.source for hit in hits] == ["sessions", "sessions", "memory"]
    backend.close()


@needs_qmd
def test_the_real_qmd_finds_a_session_by_the_lines_of_its_transcript(tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"memory/a.md": "apples\n"})
    backend = backend_for(
        tmp_path,
        real_qmd() or "",
        sessions=Sessions(one=LEMONS, two=PEARS),
        **{"qmd.sessions.enabled": True},
    )
    backend.sync("manual")

    hits = backend.search(SearchRequest("lemons in the key box")).hits
    only_memory = backend.search(SearchRequest("lemons", sources=("memory",))).hits

    assert [(hit.path, hit.start_line, hit.end_line, hit.line) for hit in hits] == [("sessions/pi/one.jsonl", 3, 9, 9)]
    assert "Session one" not in hits[0].snippet
    assert only_memory == ()
    assert backend.facts()["sessions"] == {"exported": 2, "failed": []}
    backend.close()


MAY, JULY = (int(datetime(2026, month, 5).timestamp() * 1000) for month in (5, 7))


class LongTalk(Sessions):
    """Sessions whose two lines were said in May and in July."""

    def render(self, path: str) -> MaskedSession:
        return replace(super().render(path), line_times=[MAY, JULY], date_ms=MAY)


@needs_qmd
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("lemons", [(3, MAY)]),
        ("lemons after:2026-07-01", [(9, JULY)]),  # by its title
        ("lemons before:2026-06-01", [(3, MAY)]),
        ("box after:2026-07-01", [(9, JULY)]),
        ("box after:2026-06-01 before:2026-07-01", []),
    ],
)
def test_a_find_has_the_time_of_its_line_and_not_of_the_whole_talk(
    tmp_path: Path, query: str, found: list[tuple[int, int]]
) -> None:
    write_files(tmp_path / "ws", {"memory/a.md": "apples\n"})
    sessions = LongTalk(one=LEMONS)
    with closing(
        backend_for(tmp_path, real_qmd() or "", sessions=sessions, **{"qmd.sessions.enabled": True})
    ) as backend:
        backend.sync("manual")
        hits = backend.search(SearchRequest(query)).hits
    assert [(hit.line, hit.date_ms) for hit in hits] == found


@pytest.mark.parametrize(
    "maps", ["[3, 9]", "{}", '{"lines": [3], "times": []}', '{"lines": [3, 9], "times": [1]}', "{"]
)
def test_a_line_map_that_does_not_fit_is_said(tmp_path: Path, maps: str) -> None:
    export = exported(tmp_path)
    export.export(Sessions(one=LEMONS))
    (name,) = names(export)
    (export.folder / ".memdeck-lines" / f"{name}.json").write_text(maps)

    with pytest.raises(OSError, match="line map"):
        export.document(name)


def test_an_export_of_another_format_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qmd_sessions, "_FORMAT", "1")
    exported(tmp_path).export(Sessions(one=LEMONS))
    monkeypatch.undo()

    assert exported(tmp_path).export(Sessions(one=LEMONS)).written == 1


@pytest.mark.parametrize(
    ("snippet", "query", "found", "is_stale"),
    [
        ("User: where are the lemons", "citrus", 1, False),
        ("User: where are the lemons", "citrus after:2026-07-01", 0, False),
        ("User: of which nothing is left", "citrus after:2026-07-01", 0, True),
        ("User: of which nothing is left", "citrus", 0, True),
    ],
)
def test_a_find_of_another_time_is_not_taken_for_a_stale_one(
    tmp_path: Path, snippet: str, query: str, found: int, is_stale: bool
) -> None:
    sessions = LongTalk(one=LEMONS)
    export = SessionExport(tmp_path / "index.qmd/sessions")
    export.export(sessions)
    rows = answer(*((name, 3, snippet) for name in names(export)), collection="sessions-main")
    program = fake_qmd(tmp_path, f"cat <<'TEXT'\n{rows}\nTEXT")
    with closing(backend_for(tmp_path, program, sessions=sessions, **{"qmd.sessions.enabled": True})) as backend:
        backend.sync("manual")
        result = backend.search(SearchRequest(query))
    assert len(result.hits) == found
    assert ("have changed" in (result.warning or "")) is is_stale
