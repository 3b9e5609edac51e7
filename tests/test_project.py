"""The project as a whole: README says what the code does, and imports stay where they belong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import core
from tui.cli import config, keys
from tui.cli.root import memdeck

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
HEAVY = ("onnxruntime", "fastembed", "tiktoken", "watchdog", "textual")


def section(name: str) -> str:
    """What stands in README between the markers of a generated section."""
    match = re.search(rf"<!-- {name}: begin [^>]*-->\n(.*?)\n?<!-- {name}: end -->", README, re.DOTALL)
    assert match is not None
    return match[1]


def modules_after(code: str) -> set[str]:
    """The names of the modules that are loaded after `code` in a new interpreter."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(ended.stdout.split())


@pytest.mark.parametrize("name", memdeck.list_commands(None))  # type: ignore[arg-type]
def test_readme_names_every_command(name: str) -> None:
    assert f"`memdeck {name}" in README


def test_readme_names_no_command_that_does_not_exist() -> None:
    written_by_hand = README.replace(section("settings"), "")
    named = set(re.findall(r"(?:`|^)memdeck ([a-z]+)\b", written_by_hand, re.MULTILINE))
    assert named == set(memdeck.list_commands(None))  # type: ignore[arg-type]


def test_readme_has_the_keys_as_they_are() -> None:
    assert section("keys") == keys.markdown_table(), "run: memdeck keys --markdown"


def test_readme_has_the_settings_as_they_are() -> None:
    assert section("settings") == config.markdown_table(), "run: memdeck config --markdown"


def test_ci_runs_the_test_command_of_readme() -> None:
    commands = [line for line in README.splitlines() if line.startswith("python3 -m venv") and "pytest" in line]
    assert len(commands) == 1
    assert f"\n    {commands[0]}\n" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_import_core_loads_nothing_heavy() -> None:
    assert not modules_after("import core") & set(HEAVY)


@pytest.mark.parametrize("name", memdeck.list_commands(None))  # type: ignore[arg-type]
def test_no_command_imports_textual_or_rich(name: str) -> None:
    code = f"from tui.cli.root import memdeck\nmemdeck.get_command(None, {name!r})"
    assert not modules_after(code) & {"textual", "rich"}


def test_a_running_search_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("needle\n")
    store = tmp_path / "index.sqlite"
    arguments = ["--workspace", str(tmp_path), "--store", str(store)]
    run = "from tui.cli.root import run"
    modules_after(f"{run}\nrun({['index', '--no-vectors', *arguments]!r})")
    loaded = modules_after(f"{run}\nassert run({['search', '--mode', 'keyword', 'needle', *arguments]!r}) == 0")
    assert not loaded & {"asyncio", "concurrent.futures", "json5", "logging", "tempfile", "tomllib"}
    assert not loaded & {*HEAVY, "rich", "httpx", "tomlkit", "pydantic", "numpy", "tokenizers", "sqlite_vec"}
    assert not loaded & {"core.sync.worker", "core.status", "core.doctor", "core.events", "core.embedding.providers"}
    assert not loaded & {
        "core.chunking",
        "core.text.headings",
        "core.text.lines",
        "core.sync.plan",
        "core.sync.watching",
    }


def test_a_search_by_meaning_loads_no_more_than_its_model_takes(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("needle\n")
    arguments = ["--workspace", str(tmp_path), "--store", str(tmp_path / "index.sqlite")]
    run = "from tui.cli.root import run"
    modules_after(f"{run}\nassert run({['index', *arguments]!r}) == 0")
    loaded = modules_after(f"{run}\nassert run({['search', '--mode', 'semantic', 'needle', *arguments]!r}) == 0")
    assert "numpy" in loaded
    assert not loaded & ({*HEAVY, "asyncio", "pydantic", "rich"} - {"onnxruntime"})


def test_the_app_opens_its_memory_without_what_a_search_takes(tmp_path: Path) -> None:
    loaded = modules_after(
        "from pathlib import Path\nimport tui.app\nfrom core import open_memory\n"
        f"open_memory(workspace=Path({str(tmp_path)!r}), store=Path({str(tmp_path / 'i')!r}), resident=True)"
    )
    assert "core.memory" in loaded
    assert not loaded & {"numpy", "onnxruntime", "tokenizers", "pydantic", "httpx", "apsw", "orjson"}
    assert not loaded & {"core.search.pipeline", "core.store.database", "core.status", "core.sync.worker"}


def test_the_public_face_of_core_is_sorted_and_there() -> None:
    names = core.__all__
    assert list(names) == sorted(names, key=lambda name: (not name[0].isupper(), name))
    assert all(hasattr(core, name) for name in names)


def test_settings_alone_load_neither_memory_nor_search() -> None:
    loaded = modules_after("from core import load_settings")
    assert "core.settings.model" in loaded
    assert not {name for name in loaded if name.startswith(("core.memory", "core.search", "core.store", "core.sync"))}


def test_the_public_face_of_core_knows_no_other_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = core.nothing


def test_every_module_says_what_it_is_for_and_stays_short() -> None:
    for path in [*(ROOT / "core").rglob("*.py"), *(ROOT / "tui").rglob("*.py")]:
        lines = path.read_text("utf-8").splitlines()
        assert lines, path
        assert lines[0].startswith('"""'), path
        assert len(lines) < 400, path


def test_what_a_start_declares_is_a_record() -> None:
    """A dataclass compiles its methods at once, and none of it can be below or above a record."""
    paths = [*(ROOT / "core").rglob("*.py"), *(ROOT / "tui").rglob("*.py")]
    found = {path.name for path in paths if "\n@dataclass" in path.read_text("utf-8")}
    assert found <= {"chunking.py", "group.py"}, "use core.records.record"


def test_the_sample_workspace_is_package_data() -> None:
    assert '"cli/demo/workspace/**/*.md"' in (ROOT / "pyproject.toml").read_text("utf-8")
