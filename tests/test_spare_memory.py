"""Memory that was freed goes back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators give it back, or cannot be asked to")
def test_what_a_model_took_for_long_texts_is_given_back(tmp_path: Path) -> None:
    code = """
        import resource, sys
        from pathlib import Path
        from core.embedding.apart import ApartEmbedder
        from core.embedding.local import LocalEmbedder

        def resident():
            return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize() // 1_000_000

        embedder = LocalEmbedder(Path(sys.argv[2]), threads=1)
        if sys.argv[1] == "apart":
            embedder = ApartEmbedder(embedder)
        embedder.embed_documents(["memory"])
        figures = [resident()]
        embedder.embed_documents(["memory " * 250] * 4)
        figures.append(resident())
        embedder.embed_query("memory " * 250)
        print(*figures, resident())
    """
    figures = {}
    for how in ("here", "apart"):
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), how, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
        )
        figures[how] = list(map(int, run.stdout.split()))
    short, after_documents, after_query = figures["apart"]
    assert max(after_documents, after_query) < short + 15
    assert max(figures["here"]) > max(figures["apart"]) + 20


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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no such heaps")
def test_threads_share_one_heap(tmp_path: Path) -> None:
    code = """
        import ctypes, sys, threading
        from core.spare_memory import share_heap

        if sys.argv[1] == "shared":
            assert share_heap()
        meet = threading.Barrier(7)

        def work():
            meet.wait()
            kept.append([bytes(100_000) for _ in range(50)])
            meet.wait()

        kept = []
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        meet.wait()
        meet.wait()
        library = ctypes.CDLL(None)
        library.fopen.restype = ctypes.c_void_p
        library.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
        library.fclose.argtypes = [ctypes.c_void_p]
        told = library.fopen(sys.argv[2].encode(), b"w")
        library.malloc_info(0, told)
        library.fclose(told)
        print(open(sys.argv[2]).read().count("<heap nr="))
    """
    shared, apart = (
        int(
            subprocess.run(
                [sys.executable, "-c", textwrap.dedent(code), how, str(tmp_path / how)],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for how in ("shared", "apart")
    )
    assert shared == 1 < apart
