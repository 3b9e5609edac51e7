"""The qmd backend over the real program, in keyword mode, which needs no model."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from core.backends.qmd import NotReady, QmdBackend
from core.errors import BackendError, SearchCancelled
from core.types import SearchRequest, SearchResult, Source
from tests.qmd_bench import backend_for, needs_qmd, real_qmd, write_files
from tests.waiting import wait_for

pytestmark = needs_qmd

NOTES = {
    "MEMORY.md": "# Memory\n\nBilling runs on **Postgres 16**.\n",
    "memory/2026-01-02.md": "# Deploy\n\nThe pipeline builds images.\n\n## Undo\n\nRoll back: kubectl rollout undo.\n",
    "memory/Über Notiz (1).md": "# Netz\n\nDie Übersicht des Caches.\n\nCache git credentials with the store helper.\n",
    "memory/sub/a b?c.md": "first line\r\nlogin token rotation every week\r\n",
    "memory/venv/lib.md": "rotation of a library\n",
    "memory/github.md": "# GitHub\n\ngithub rebase pages\n\nnothing\n\ngit rebase --interactive squashes commits\n",
    "memory/long.md": "".join(f"filler line {number}\n" for number in range(400)) + "the zebra crossing is closed\n",
    "extra/plan.md": "# Plan\n\nquarterly budget review\n",
    "extra/other.txt": "quarterly text\n",
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QmdBackend]:
    """A backend over NOTES, indexed; its tests change nothing."""
    root = tmp_path_factory.mktemp("qmd")
    write_files(root / "ws", NOTES)
    backend = backend_for(root, real_qmd() or "", extra_paths=["extra"])
    backend.sync("manual")
    yield backend
    backend.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[QmdBackend]:
    """A backend over a workspace of its own, not indexed yet."""
    write_files(tmp_path / "ws", {"MEMORY.md": "one\n", "memory/a.md": "alpha note about lemons\n"})
    backend = backend_for(tmp_path, real_qmd() or "")
    yield backend
    backend.close()


def found(backend: QmdBackend, query: str, **more: object) -> list[str]:
    return [str(hit.citation) for hit in ask(backend, query, **more).hits]


def ask(backend: QmdBackend, query: str, **more: object) -> SearchResult:
    return backend.search(SearchRequest(query, **more))  # type: ignore[arg-type]


def test_a_hit_cites_the_lines_that_hold_the_match(indexed: QmdBackend) -> None:
    (hit,) = ask(indexed, "zebra crossing").hits

    assert (hit.path, hit.line) == ("memory/long.md", 401)
    assert hit.start_line <= 401 <= hit.end_line
    assert "zebra crossing" in hit.snippet


def test_the_line_is_that_of_the_words_not_of_their_parts(indexed: QmdBackend) -> None:
    (hit,) = ask(indexed, "git rebase squashes").hits

    assert hit.line == 7


def test_a_hit_knows_its_headings_its_day_and_what_it_was_read_from(indexed: QmdBackend) -> None:
    (hit,) = ask(indexed, "kubectl rollout").hits

    assert hit.heading == ("Deploy", "Undo")
    assert hit.date_ms is not None
    assert len(hit.document_hash) == 64


def test_a_result_says_who_answered_and_how(indexed: QmdBackend) -> None:
    result = ask(indexed, "postgres billing")

    assert (result.provider, result.model, result.mode) == ("qmd", "search", "keyword")
    assert result.fallback is None
    assert {"postgres", "billing"} <= set(result.terms)
    assert all(0 <= hit.score <= 1 for hit in result.hits)


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("how do I cache git credentials?", "memory/Über Notiz (1).md"),
        ("what about credentials for the quux helper", "memory/Über Notiz (1).md"),
        ("Übersicht", "memory/Über Notiz (1).md"),
        ("token rotation", "memory/sub/a b?c.md"),
        ('"rotation every week"', "memory/sub/a b?c.md"),
        ("postgres", "MEMORY.md"),
        ("budget", "extra/plan.md"),
        ("images -pipeline", "memory/2026-01-02.md"),
        ('unbalanced "rotation token', "memory/sub/a b?c.md"),
        ("source:memory path:sub rotation", "memory/sub/a b?c.md"),
    ],
)
def test_what_people_type_finds_its_note(indexed: QmdBackend, query: str, path: str) -> None:
    assert path in [hit.path for hit in ask(indexed, query).hits]


@pytest.mark.parametrize("query", ["", "   ", '"', "xyzzyqux", "source:sessions rotation", "after:2027-01-01 kubectl"])
def test_where_nothing_fits_nothing_is_found(indexed: QmdBackend, query: str) -> None:
    assert found(indexed, query) == []


def test_folders_that_are_ignored_are_left_out(indexed: QmdBackend) -> None:
    assert found(indexed, "rotation") == ["memory/sub/a b?c.md#L1-L2"]


def test_the_number_of_hits_is_bounded(indexed: QmdBackend) -> None:
    assert len(found(indexed, "line", max_results=1)) == 1


def test_searching_changes_no_collection(indexed: QmdBackend) -> None:
    before = indexed.facts()["collections"]

    ask(indexed, "rotation", sources=("memory",))

    assert indexed.facts()["collections"] == before


def test_meaning_is_not_promised_where_words_are_searched(indexed: QmdBackend) -> None:
    with pytest.raises(BackendError, match="words alone"):
        ask(indexed, "lemons", mode="semantic")


def test_facts_name_the_program_the_collections_and_what_they_hold(indexed: QmdBackend) -> None:
    facts = indexed.facts()

    assert str(facts["version"]).startswith("2.")
    assert [row["name"] for row in facts["collections"]] == [  # type: ignore[attr-defined]
        "memory-root-main",
        "memory-dir-main",
        "custom-1-main",
    ]
    assert facts["documents"] == 7
    assert facts["vectors"] == 0


def test_an_index_that_was_never_made_is_not_ready(fresh: QmdBackend) -> None:
    with pytest.raises(NotReady, match="not indexed"):
        ask(fresh, "lemons")


def test_a_changed_a_new_and_a_deleted_file_are_followed(fresh: QmdBackend, tmp_path: Path) -> None:
    fresh.sync("manual")
    write_files(tmp_path / "ws", {"memory/a.md": "alpha about oranges\n", "memory/b.md": "pears\n"})
    (tmp_path / "ws/MEMORY.md").unlink()

    report = fresh.sync("manual")

    assert found(fresh, "oranges") == ["memory/a.md#L1"]
    assert found(fresh, "pears") == ["memory/b.md#L1"]
    assert found(fresh, "one") == []
    assert (report.indexed, report.unchanged) == (2, 0)


def test_a_file_that_changed_after_the_update_is_cited_as_it_is_now(fresh: QmdBackend, tmp_path: Path) -> None:
    fresh.sync("manual")
    write_files(tmp_path / "ws", {"memory/a.md": "\n\n\nalpha note about lemons\n"})

    assert found(fresh, "lemons") == ["memory/a.md#L4"]


def test_a_text_that_is_gone_is_no_hit_and_that_is_said(fresh: QmdBackend, tmp_path: Path) -> None:
    fresh.sync("manual")
    write_files(tmp_path / "ws", {"memory/a.md": "nothing of it\n"})

    result = ask(fresh, "lemons")

    assert result.hits == ()
    assert result.catching_up
    assert "have changed" in (result.warning or "")


def test_a_file_that_became_a_symlink_is_not_read(fresh: QmdBackend, tmp_path: Path) -> None:
    fresh.sync("manual")
    (tmp_path / "secret.md").write_text("lemons outside\n")
    (tmp_path / "ws/memory/a.md").unlink()
    (tmp_path / "ws/memory/a.md").symlink_to(tmp_path / "secret.md")

    assert ask(fresh, "lemons").hits == ()


def test_a_lost_collection_is_made_again_and_the_search_goes_on(fresh: QmdBackend) -> None:
    fresh.sync("manual")
    (fresh.root / "config/qmd/memdeck.yml").unlink()

    assert found(fresh, "lemons") == ["memory/a.md#L1"]


def test_a_deleted_index_is_made_again(fresh: QmdBackend) -> None:
    fresh.sync("manual")
    for file in (fresh.root / "cache/qmd").glob("memdeck.sqlite*"):
        file.unlink()

    with pytest.raises(NotReady):
        ask(fresh, "lemons")
    fresh.sync("manual")

    assert found(fresh, "lemons") == ["memory/a.md#L1"]


def test_force_indexes_all_anew(fresh: QmdBackend) -> None:
    fresh.sync("manual")

    report = fresh.sync("force", force=True)

    assert report.indexed == 2
    assert found(fresh, "lemons") == ["memory/a.md#L1"]


def test_a_broken_index_is_an_error_that_says_so(fresh: QmdBackend) -> None:
    fresh.sync("manual")
    for file in (fresh.root / "cache/qmd").glob("memdeck.sqlite*"):
        file.unlink()
    (fresh.root / "cache/qmd/memdeck.sqlite").write_bytes(b"no database at all" * 100)

    with pytest.raises(BackendError, match="file is not a database"):
        ask(fresh, "lemons")


def test_the_folders_belong_to_this_user_alone(fresh: QmdBackend) -> None:
    fresh.sync("manual")

    assert fresh.root.stat().st_mode & 0o077 == 0


def test_another_index_of_the_user_is_left_alone(tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"memory/a.md": "lemons\n", ".qmd/index.yml": "collections: {}\n"})
    elsewhere = tmp_path / "elsewhere"
    backend = backend_for(
        tmp_path,
        real_qmd() or "",
        environ={"INDEX_PATH": str(elsewhere / "x.sqlite"), "XDG_CACHE_HOME": str(elsewhere), "FORCE_COLOR": "1"},
    )

    backend.sync("manual")

    assert found(backend, "lemons") == ["memory/a.md#L1"]
    assert not elsewhere.exists()
    assert (tmp_path / "ws/.qmd/index.yml").read_text() == "collections: {}\n"
    backend.close()


def test_a_workspace_that_is_away_loses_nothing(fresh: QmdBackend, tmp_path: Path) -> None:
    fresh.sync("manual")
    (tmp_path / "ws").rename(tmp_path / "away")

    with pytest.raises(BackendError, match="stays as it is"):
        fresh.sync("manual")

    (tmp_path / "away").rename(tmp_path / "ws")
    assert found(fresh, "lemons") == ["memory/a.md#L1"]


def test_purging_leaves_no_trace_of_a_deleted_file(fresh: QmdBackend, tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"memory/secret.md": "the password is xylophone99\n"})
    fresh.sync("manual")
    (tmp_path / "ws/memory/secret.md").unlink()

    fresh.purge()

    left = b"".join(file.read_bytes() for file in fresh.root.rglob("*") if file.is_file())
    assert b"xylophone99" not in left


def test_a_forgotten_document_is_not_found_and_leaves_no_trace(tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"memory/a [1].md": "lemons and xylophone99\n", "memory/b.md": "lemons\n"})
    gone: set[tuple[Source, str]] = set()
    backend = backend_for(tmp_path, real_qmd() or "", forgotten=lambda: frozenset(gone))
    backend.sync("manual")
    gone.add(("memory", "memory/a [1].md"))

    at_once = found(backend, "lemons")
    backend.purge()

    assert at_once == found(backend, "lemons") == ["memory/b.md#L1"]
    assert b"xylophone99" not in b"".join(file.read_bytes() for file in backend.root.rglob("*") if file.is_file())
    gone.clear()
    backend.sync("manual")
    assert found(backend, "xylophone99") == ["memory/a [1].md#L1"]
    backend.close()


def test_a_workspace_behind_a_symlink_is_indexed(tmp_path: Path) -> None:
    write_files(tmp_path / "real", {"MEMORY.md": "pears\n", "memory/a.md": "lemons\n"})
    (tmp_path / "ws").symlink_to(tmp_path / "real")
    backend = backend_for(tmp_path, real_qmd() or "")

    backend.sync("manual")

    assert found(backend, "lemons") == ["memory/a.md#L1"]
    assert found(backend, "pears") == ["MEMORY.md#L1"]
    backend.close()


def test_a_folder_that_is_away_comes_back_with_its_documents(tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"memory/a.md": "lemons\n", "extra/b.md": "pears\n"})
    backend = backend_for(tmp_path, real_qmd() or "", extra_paths=["extra"])
    backend.sync("manual")
    (tmp_path / "ws/extra").rename(tmp_path / "away")
    backend.sync("manual")
    away = found(backend, "pears"), found(backend, "lemons"), backend.facts()["documents"]
    (tmp_path / "away").rename(tmp_path / "ws/extra")

    assert away == ([], ["memory/a.md#L1"], 2)
    assert found(backend, "pears") == ["extra/b.md#L1"]
    backend.close()


def test_a_path_that_is_no_longer_wanted_leaves_the_index(tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"memory/a.md": "lemons\n", "extra/b.md": "pears\n"})
    before = backend_for(tmp_path, real_qmd() or "", extra_paths=["extra"])
    before.sync("manual")
    before.close()

    backend = backend_for(tmp_path, real_qmd() or "")
    backend.sync("manual")

    assert backend.facts()["documents"] == 1
    assert found(backend, "pears") == []
    backend.close()


@pytest.mark.parametrize("mode", ["vsearch", "query"])
def test_a_command_that_needs_a_missing_model_is_not_even_started(tmp_path: Path, mode: str) -> None:
    write_files(tmp_path / "ws", {"memory/a.md": "lemons\n"})
    backend = backend_for(tmp_path, real_qmd() or "", **{"qmd.search_mode": mode})
    backend.sync("manual")

    with pytest.raises(BackendError, match=r"needs the model \S+\.gguf"):
        ask(backend, "lemons")
    assert found(backend, "lemons", mode="keyword") == ["memory/a.md#L1"]
    backend.close()


def test_the_background_follows_the_files(tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"memory/a.md": "lemons\n"})
    backend = backend_for(tmp_path, real_qmd() or "", **{"qmd.update.debounce_ms": 10})
    backend.start()
    wait_for(lambda: backend.facts().get("documents") == 1)
    write_files(tmp_path / "ws", {"memory/b.md": "pears\n"})

    backend.files_changed()

    wait_for(lambda: backend.facts().get("documents") == 2)
    assert found(backend, "pears") == ["memory/b.md#L1"]
    backend.close()


def test_giving_up_ends_a_search(fresh: QmdBackend) -> None:
    fresh.sync("manual")
    cancel = threading.Event()
    cancel.set()

    with pytest.raises(SearchCancelled):
        fresh.search(SearchRequest("lemons"), cancel=cancel)


def test_two_backends_of_one_memory_share_one_index(fresh: QmdBackend, tmp_path: Path) -> None:
    other = backend_for(tmp_path, real_qmd() or "")
    threads = [threading.Thread(target=backend.sync, args=("manual",)) for backend in (fresh, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found(fresh, "lemons") == found(other, "lemons") == ["memory/a.md#L1"]
    with_index = apsw.Connection(str(fresh.root / "cache/qmd/memdeck.sqlite"))
    assert with_index.execute("SELECT count(*) FROM documents WHERE active").fetchone() == (2,)
    with_index.close()
    other.close()
