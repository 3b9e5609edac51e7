"""One HTTP exchange with a provider: bounded, cancelled in an instant, and with no other host than was asked for."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
import zlib
from collections.abc import Coroutine, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from core.embedding.threads import raise_if_cancelled
from core.errors import EmbeddingError, ProviderUnavailable
from core.records import record

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0
CANCEL_SECONDS = 0.02
"""How often a call that waits for an answer looks at its cancel flag."""
MOST_REDIRECTS = 3
ERROR_BYTES = 65_536
"""Of a reply that is an error no more is read."""

Result = TypeVar("Result")


@record(frozen=True, slots=True)
class Request:
    """What is sent. `path` follows the base address; `query` is its query string, without "?"."""

    path: str
    content: bytes = field(default=b"", repr=False)
    method: str = "POST"
    content_type: str = "application/json"
    query: str = ""


@record(frozen=True, slots=True)
class Reply:
    """What came back. Header names are lower case; `body` is unpacked."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class Connection:
    """Connections to one base address, kept open between requests, on a thread of their own.

    Methods may be called from several threads. `headers` go with every request. Proxies of the environment are used,
    but not towards this machine.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str], *, connections: int, here: bool) -> None:
        """Raises ProviderUnavailable for headers that cannot be sent."""
        self.base_url = base_url.rstrip("/")
        self.host = urlsplit(base_url).netloc
        self._headers = {"accept": "application/json", "accept-encoding": "gzip", "user-agent": "memdeck", **headers}
        for value in self._headers.values():
            if not (value.isascii() and value.isprintable()):
                message = f"the key or a header for {self.host} holds characters that HTTP does not allow"
                raise ProviderUnavailable(message, remedy="set it anew, on one line and in ASCII")
        self._connections = connections
        self._here = here
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: httpx.AsyncClient | None = None

    def send(
        self, request: Request, *, timeout: float, most_bytes: int, cancel: threading.Event | None = None
    ) -> Reply:
        """The reply, whatever its status. Raises EmbeddingError: retryable if the network failed or time ran out."""
        raise_if_cancelled(cancel)
        return self._run(self._exchange(request, timeout, most_bytes), cancel)

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def wait_closed(self, seconds: float) -> bool:
        """Wait; True as soon as the connection is closed."""
        return self._closed.wait(seconds)

    def close(self) -> None:
        """Break off what is under way. Idempotent."""
        with self._lock:
            self._closed.set()
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            return
        with contextlib.suppress(RuntimeError):  # closed meanwhile
            loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(timeout=2)

    def _run(self, work: Coroutine[object, object, Result], cancel: threading.Event | None) -> Result:
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._running_loop())
        except RuntimeError:  # the loop was closed meanwhile
            work.close()
            raise EmbeddingError("the embedder is closed") from None
        except BaseException:
            work.close()
            raise
        while True:
            try:
                return future.result(timeout=CANCEL_SECONDS)
            except concurrent.futures.TimeoutError:
                if (cancel is not None and cancel.is_set()) or self._closed.is_set():
                    future.cancel()
                    raise_if_cancelled(cancel)
                    raise EmbeddingError("the embedder is closed") from None
            except concurrent.futures.CancelledError:
                raise_if_cancelled(cancel)
                raise EmbeddingError("the embedder is closed") from None

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed.is_set():
                raise EmbeddingError("the embedder is closed")
            if self._loop is None:
                import httpx  # noqa: F401  # here, where it holds up no other request

                for library in ("httpx", "httpcore"):  # they log addresses and headers of replies
                    logging.getLogger(library).setLevel(logging.WARNING)
                loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._serve, args=(loop,), name="memdeck-http", daemon=True)
                self._thread.start()
                self._loop = loop
            return self._loop

    def _opened_client(self) -> httpx.AsyncClient:
        import httpx

        if self._client is None:
            limits = httpx.Limits(max_connections=self._connections, max_keepalive_connections=self._connections)
            try:  # errors are named in our words: the address of a proxy may hold a password
                self._client = httpx.AsyncClient(
                    headers=self._headers, limits=limits, trust_env=not self._here, follow_redirects=False
                )
            except ImportError:
                message = f"{self.host} is behind a SOCKS proxy, for which the package socksio is missing"
                raise ProviderUnavailable(message, remedy="pip install 'httpx[socks]', or unset ALL_PROXY") from None
            except (OSError, ValueError, httpx.InvalidURL) as error:
                certificates = isinstance(error, OSError)
                what = "the certificates cannot be read" if certificates else "the address of the proxy makes no sense"
                names = "SSL_CERT_FILE and SSL_CERT_DIR" if certificates else "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
                message = f"no connection to {self.host} can be made: {what}"
                raise ProviderUnavailable(message, remedy=f"check {names} in the environment") from None
        return self._client

    async def _exchange(self, request: Request, timeout: float, most_bytes: int) -> Reply:
        import httpx

        # Errors are raised `from None`: the library's own hold the request, and with it the key.
        try:
            async with asyncio.timeout(timeout):
                return await self._follow(request, timeout, most_bytes)
        except (TimeoutError, httpx.TimeoutException):
            raise EmbeddingError(f"{self.host} did not answer within {timeout:g} s", retryable=True) from None
        except httpx.ConnectError as error:
            raise EmbeddingError(f"{self.host} cannot be reached: {_first_line(error)}", retryable=True) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError):
            raise ProviderUnavailable(f"no request can be made to {self.host}", remedy="check its base_url") from None
        except httpx.TransportError as error:
            kind = type(error).__name__
            raise EmbeddingError(f"the connection to {self.host} broke off ({kind})", retryable=True) from None

    async def _follow(self, request: Request, timeout: float, most_bytes: int) -> Reply:
        """The reply; redirects that keep the method are followed within the same origin, all others handed back."""
        import httpx

        client = self._opened_client()
        url = httpx.URL(self.base_url + request.path + (f"?{request.query}" if request.query else ""))
        headers = {"content-type": request.content_type} if request.content else {}
        times = httpx.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout))
        for left in range(MOST_REDIRECTS, -1, -1):
            content = request.content or None
            async with client.stream(request.method, url, content=content, headers=headers, timeout=times) as response:
                if response.status_code in (307, 308) and left:
                    target = url.join(response.headers.get("location", ""))
                    if (target.scheme, target.host, target.port) == (url.scheme, url.host, url.port):
                        url = target
                        continue
                good = response.status_code < 400
                body = await _body(response, most_bytes if good else ERROR_BYTES, strict=good, host=self.host)
                return Reply(response.status_code, dict(response.headers), body)
        raise AssertionError("the last round returns")

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """The thread: until it is stopped, then what is under way is broken off and ends here."""
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(self._shut())
        finally:
            loop.close()

    async def _shut(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()


async def _body(response: httpx.Response, most_bytes: int, *, strict: bool, host: str) -> bytes:
    """The unpacked body, at most `most_bytes`; a longer one is cut, or refused if `strict`. Raises EmbeddingError."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    unpack = zlib.decompressobj(wbits=31) if encoding in ("gzip", "x-gzip") else None
    if unpack is None and encoding not in ("", "identity"):
        raise EmbeddingError(f"{host} answered in an encoding that was not asked for ({encoding[:20]})")
    body = bytearray()
    async for part in response.aiter_raw():
        try:
            body += unpack.decompress(part, most_bytes + 1 - len(body)) if unpack is not None else part
        except zlib.error:
            raise EmbeddingError(f"the reply of {host} is damaged", retryable=True) from None
        if len(body) > most_bytes:
            if strict:
                raise EmbeddingError(f"the reply of {host} is larger than {most_bytes >> 20} MiB")
            return bytes(body[:most_bytes])
    return bytes(body)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
