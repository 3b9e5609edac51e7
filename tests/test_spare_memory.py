"""Large blocks of memory that were freed go back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys
import textwrap

import pytest


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators give it back, or cannot be asked to")
def test_the_memory_of_a_model_that_was_loaded_is_given_back(tmp_path: object) -> None:
    """In a process of its own, since it cannot be undone."""
    code = """
        import resource, sys
        from pathlib import Path
        from core.embedding.local import LocalEmbedder
        from core.spare_memory import give_back_large_blocks

        def resident():
            return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize() // 1_000_000

        if sys.argv[2] == "with":
            assert give_back_large_blocks()
        embedder = LocalEmbedder(Path(sys.argv[1]), threads=1)
        embedder.embed_documents(["memory " * 250] * 4)
        print(resident())
    """
    with_it, without = (
        int(
            subprocess.run(
                [sys.executable, "-c", textwrap.dedent(code), str(tmp_path), how],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for how in ("with", "without")
    )
    assert with_it + 30 < without


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators give it back, or cannot be asked to")
def test_what_is_free_between_blocks_in_use_is_given_back() -> None:
    """Blocks below those that are mapped by themselves, every other one kept: the heap itself cannot shrink."""
    code = """
        import resource
        from pathlib import Path
        from core.spare_memory import give_back_free_pages

        def resident():
            return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize() // 1_000_000

        blocks = [bytes([1]) * 60_000 for _ in range(2_000)]
        full = resident()
        del blocks[::2]
        freed = resident()
        assert give_back_free_pages()
        print(full - freed, full - resident())
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    by_itself, given_back = map(int, run.stdout.split())
    assert by_itself < 10
    assert given_back > 40
