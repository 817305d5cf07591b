"""One HTTP connection, by h11: requests in, answers out, and nothing that a client does takes more than its share."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

import h11
import trio

from picoclawd.client.web import page
from picoclawd.client.web.messages import Answer, Request, refused

HEAD_MAX_BYTES = 16 * 1024  # request line and headers; a browser's are 1 KiB
LINE_MAX_BYTES = 8 * 1024  # of which the request line
BODY_MAX_BYTES = 64 * 1024  # an answer or an undo is 1 KiB
REQUEST_TIMEOUT_S = 10.0  # from its first byte to its last; loopback takes a millisecond
IDLE_TIMEOUT_S = 75.0  # between requests
SEND_TIMEOUT_S = 30.0
LINGER_S = 1.0
GONE_AFTER_S = 1.0  # an answer that takes longer is no longer prepared once the client hung up
_CHUNK_BYTES = 16 * 1024
_QUERY_FIELDS_MAX = 16
_VERSIONS = (b"1.0", b"1.1")

Responder = Callable[[Request], Awaitable[Answer]]


class _Refused(Exception):
    """What came in is no request to answer; the connection ends with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Exchange:
    """A connection that is served until either side ends it. The caller closes the stream."""

    def __init__(self, stream: trio.abc.HalfCloseableStream, respond: Responder) -> None:
        self._stream = stream
        self._respond = respond
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_MAX_BYTES)
        self._head_bytes = 0
        self._line_ended = False

    async def run(self) -> None:
        """Serve. Raises nothing that a client could cause but trio's own errors of a stream that broke."""
        try:
            while await self._one():
                self._http.start_next_cycle()
                self._head_bytes, self._line_ended = 0, False
        except _Refused as refusal:
            if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                await self._send(refusal.answer, closing=True)
                await self._linger()

    async def _one(self) -> bool:
        """One request and its answer; whether another may follow."""
        if not await self._begun():
            return False
        try:
            with trio.fail_after(REQUEST_TIMEOUT_S):
                request = await self._request()
        except trio.TooSlowError:
            raise _Refused(refused(408, "timeout", "The request did not come to its end in time.", "")) from None
        if request is None:
            return False
        answer = await self._answer(request)
        if answer is None:
            return False
        await self._send(answer, body_wanted=request.method != "HEAD")
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _begun(self) -> bool:
        """Wait for the first byte of a request, for as long as a browser keeps a connection that it may need again."""
        if self._http.trailing_data[0]:
            return True
        with trio.move_on_after(IDLE_TIMEOUT_S):
            return await self._receive()
        return False

    async def _receive(self) -> bool:
        data = await self._stream.receive_some(_CHUNK_BYTES)
        if not self._line_ended:
            self._head_bytes += len(data)
            self._line_ended = b"\n" in data
        self._http.receive_data(bytes(data))
        return bool(data)

    async def _request(self) -> Request | None:
        head = await self._next()
        if not isinstance(head, h11.Request):
            return None
        body = bytearray()
        headers = {bytes(name).decode("latin-1"): bytes(value).decode("latin-1") for name, value in head.headers}
        if _announced(headers) > BODY_MAX_BYTES:
            raise _too_large()
        while isinstance(event := await self._next(), h11.Data):
            body += event.data
            if len(body) > BODY_MAX_BYTES:
                raise _too_large()
        if not isinstance(event, h11.EndOfMessage):
            return None
        return _request_of(head, headers, bytes(body))

    async def _next(self) -> Any:
        """The next event of h11's. Raises: _Refused for what is no HTTP."""
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise _Refused(self._malformed(error)) from None
            if event is not h11.NEED_DATA:
                return event
            if not self._line_ended and self._head_bytes > LINE_MAX_BYTES:
                raise _Refused(refused(414, "uri_too_long", "The request line is too long.", ""))
            if self._http.they_are_waiting_for_100_continue:
                await self._write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])))
            await self._receive()

    def _malformed(self, error: h11.RemoteProtocolError) -> Answer:
        status = error.error_status_hint or 400
        if status == 431 and not self._line_ended:
            return refused(414, "uri_too_long", "The request line is too long.", "")
        return refused(status, "bad_request", f"This is no request to answer: {error}", "")

    async def _answer(self, request: Request) -> Answer | None:
        """The answer; None where the client went away while it was prepared. What changes something is finished."""
        made: list[Answer] = []
        async with trio.open_nursery() as nursery:
            if request.method == "GET":
                nursery.start_soon(self._watch, nursery.cancel_scope)
            made.append(await self._respond(request))
            nursery.cancel_scope.cancel()
        return made[0] if made else None

    async def _watch(self, scope: trio.CancelScope) -> None:
        """Cancel what a client waits for once it is gone. A further request, sent early, is kept for its turn."""
        await trio.sleep(GONE_AFTER_S)
        try:
            if not await self._receive():
                scope.cancel()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            scope.cancel()

    async def _send(self, answer: Answer, *, closing: bool = False, body_wanted: bool = True) -> None:
        headers = dict([page.POLICY, *page.HEADERS, *answer.headers])
        headers.update({"Content-Type": answer.media, "Content-Length": str(len(answer.body))})
        if closing:
            headers["Connection"] = "close"
        parts = [self._http.send(h11.Response(status_code=answer.status, headers=list(headers.items())))]
        if body_wanted and answer.body:
            parts.append(self._http.send(h11.Data(data=answer.body)))
        parts.append(self._http.send(h11.EndOfMessage()))
        await self._write(b"".join(part for part in parts if part))

    async def _write(self, data: bytes | None) -> None:
        with trio.move_on_after(SEND_TIMEOUT_S) as sending:
            await self._stream.send_all(data or b"")
        if sending.cancelled_caught:
            raise trio.BrokenResourceError("the client does not read")

    async def _linger(self) -> None:
        """Let the client read the answer: closing on top of what it still sends would reset the connection."""
        with trio.move_on_after(LINGER_S):
            await self._stream.send_eof()
            while await self._stream.receive_some(_CHUNK_BYTES):
                pass


def _announced(headers: dict[str, str]) -> int:
    """The size that a request says it has; h11 has seen to it that this is a number."""
    return int(headers.get("content-length", "0"))


def _too_large() -> _Refused:
    return _Refused(refused(413, "too_large", f"A body may have {BODY_MAX_BYTES} bytes.", ""))


def _request_of(head: h11.Request, headers: dict[str, str], body: bytes) -> Request:
    if bytes(head.http_version) not in _VERSIONS:
        raise _Refused(refused(505, "http_version", "This server speaks HTTP/1.1.", ""))
    path, _, query = bytes(head.target).decode("latin-1").partition("?")
    if not path.startswith("/"):
        raise _Refused(refused(400, "bad_request", "The request must name a path of this server.", ""))
    try:
        fields = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=_QUERY_FIELDS_MAX))
    except ValueError:
        raise _Refused(refused(400, "bad_request", "The query has too many fields.", "")) from None
    return Request(bytes(head.method).decode("latin-1"), path, fields, headers, body)
