"""Sends HTTP requests within a time limit and retries them.

Every request other than a GET carries an ``Idempotency-Key``, so it is executed only once even if it is sent twice. Each
connection serves one request. Nothing is therefore shared between threads or forks, and a connection can't have been
closed while it was idle. Proxy environment variables are ignored and redirects aren't followed, so that the key is sent
only to ``base_url``.
"""

import contextlib
import http.client
import io
import json
import logging
import platform
import random
import re
import socket
import ssl
import time
import uuid
from decimal import Decimal
from email.message import Message
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Type, TypeVar, cast
from urllib.parse import urlencode, urlsplit

from .errors import BY_CODE, ApiError, ConnectionFailed, GpuRentalError, UnexpectedAnswer
from .models import Misfit, decode
from .version import VERSION

T = TypeVar("T")

#: Maximum wait before the first retry, in seconds. It doubles with each further retry up to 8 s, and the actual wait is
#: chosen at random between half and all of it.
FIRST_WAIT = 0.25
MAX_DOUBLINGS = 5
MAX_ANSWER_BYTES = 16_000_000
USER_AGENT = f"gpu-rental-client/{VERSION} python/{platform.python_version()}"
VISIBLE_ASCII = re.compile(r"[\x21-\x7e]{1,255}")
ADDRESS = re.compile(r"https?://[\x21-\x7e]+")

log = logging.getLogger("gpu_rental")


class Transport:
    """Sends requests to `base_url`, or to its ``/v1`` if it has no path. It keeps no state, so threads can share it."""

    def __init__(
        self,
        api_key: Optional[str],
        base_url: str,
        timeout: float,
        max_retries: int,
        total_timeout: float,
        ssl_context: Optional[ssl.SSLContext],
    ) -> None:
        if api_key is not None and not VISIBLE_ASCII.fullmatch(api_key):
            raise ValueError("api_key must contain only visible ASCII characters, with no spaces")
        address = urlsplit(base_url) if ADDRESS.fullmatch(base_url) else None
        if not address or not address.hostname or address.username or address.query or address.fragment:
            raise ValueError("base_url must be a URL such as https://gpu.example.com/v1")
        if not (timeout > 0 and total_timeout > 0 and max_retries >= 0):
            raise ValueError("timeout and total_timeout must be greater than 0, and max_retries must be at least 0")
        self._api_key = api_key
        self._host = address.netloc
        self._endpoint = (address.hostname, address.port or (443 if address.scheme == "https" else 80))
        self._prefix = address.path.rstrip("/") or "/v1"
        self._timeout = timeout
        self._max_retries = max_retries
        self._total_timeout = total_timeout
        self._tls = (ssl_context or ssl.create_default_context()) if address.scheme == "https" else None

    def request(
        self,
        kind: Type[T],
        method: str,
        path: str,
        *,
        public: bool = False,
        query: Optional[Mapping[str, Any]] = None,
        body: Optional[bytes] = None,
        idempotency_key: Optional[str] = None,
    ) -> T:
        """Sends a request and returns the response as `kind`. Temporary failures are retried up to the client's limits."""
        if idempotency_key is not None and not VISIBLE_ASCII.fullmatch(idempotency_key):
            raise ValueError("idempotency_key must be 1 to 255 visible ASCII characters")
        key = None if method == "GET" else idempotency_key or str(uuid.uuid4())
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = self._prefix + path + (f"?{urlencode(given)}" if given else "")
        headers = self._headers(public, body, key)
        return self._repeat(method, target, headers, body, key, lambda *answer: _read(kind, *answer))

    def document(
        self, path: str, *, public: bool = False, query: Optional[Mapping[str, Any]] = None
    ) -> Dict[str, Any]:
        """Returns a JSON document unchanged, so that its signature can be verified."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = self._prefix + path + (f"?{urlencode(given)}" if given else "")
        headers = self._headers(public, None, None)
        return self._repeat("GET", target, headers, None, None, _read_document)

    def graphql(
        self, document: str, variables: Mapping[str, Any], *, idempotency_key: Optional[str] = None
    ) -> Dict[str, Any]:
        """Returns the data of a GraphQL operation, or raises its first error as the REST routes do.

        The operation is retried like any other request, so a mutation that must not be executed twice needs an
        idempotency key in its variables.
        """
        body = json.dumps({"query": document, "variables": dict(variables)}).encode()
        target = re.sub("/v1$", "", self._prefix) + "/graphql"
        headers = self._headers(False, body, None)
        return self._repeat("POST", target, headers, body, idempotency_key, _read_graphql)

    def query(self, kind: Any, member: str, document: str, variables: Mapping[str, Any]) -> Any:
        """Returns one member of a GraphQL operation's data as `kind`."""
        try:
            return decode(kind, self.graphql(document, variables)[member], member)
        except (Misfit, KeyError) as error:
            raise UnexpectedAnswer("unexpected_answer", 200, str(error), None, None) from error

    def _repeat(
        self,
        method: str,
        target: str,
        headers: Dict[str, str],
        body: Optional[bytes],
        key: Optional[str],
        read: Callable[[int, Message, bytes], T],
    ) -> T:
        deadline = time.monotonic() + self._total_timeout
        retries = 0
        while True:
            try:
                seconds = min(self._timeout, deadline - time.monotonic())
                return read(*self._exchange(method, target, headers, body, seconds))
            except GpuRentalError as error:
                error.idempotency_key = key
                wait = _wait_before(error, retries)
                if not error.retryable or retries >= self._max_retries or time.monotonic() + wait >= deadline:
                    raise
                log.info("%s %s: %s; again in %.2f s", method, target.partition("?")[0], error, wait)
            time.sleep(wait)
            retries += 1

    def _headers(self, public: bool, body: Optional[bytes], key: Optional[str]) -> Dict[str, str]:
        headers = {"Host": self._host, "Accept": "application/json", "User-Agent": USER_AGENT, "Connection": "close"}
        if self._api_key is not None and not public:
            headers["Authorization"] = f"Bearer {self._api_key}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        return headers

    def _exchange(
        self, method: str, target: str, headers: Dict[str, str], body: Optional[bytes], seconds: float
    ) -> Tuple[int, Message, bytes]:
        """Sends a request and reads the whole response within `seconds`."""
        deadline = time.monotonic() + seconds
        try:
            with contextlib.closing(http.client.HTTPConnection(*self._endpoint)) as connection:
                # Replaces the connection's own socket, whose timeout would restart with each byte.
                connection.sock = _BoundedSocket(self._endpoint, self._tls, deadline)
                # The service may reject a body before reading all of it, and its response can still be read.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    connection.request(method, target, body, headers)
                with connection.getresponse() as response:
                    data = response.read(MAX_ANSWER_BYTES)
                    if len(data) < int(response.headers.get("Content-Length") or 0):
                        raise http.client.IncompleteRead(data)
                    return response.status, response.headers, data
        except (OSError, http.client.HTTPException, ValueError) as error:
            certain = isinstance(error, ssl.SSLCertVerificationError)
            reason = str(error) or type(error).__name__
            raise ConnectionFailed(f"no response from {self._host}: {reason}", retryable=not certain) from error


class _BoundedSocket:
    """The subset of a connected socket that http.client uses. All of its waits end at a single deadline."""

    def __init__(self, endpoint: Tuple[str, int], tls: Optional[ssl.SSLContext], deadline: float) -> None:
        self._deadline = deadline
        self._socket = socket.create_connection(endpoint, self._left())
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.arm()
            self._socket = tls.wrap_socket(self._socket, server_hostname=endpoint[0])

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        return left

    def arm(self) -> None:
        self._socket.settimeout(self._left())

    def sendall(self, data: bytes) -> None:
        self.arm()
        self._socket.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedReader(self, self._socket.makefile("rb", buffering=0)))

    def close(self) -> None:
        self._socket.close()


class _BoundedReader(io.RawIOBase):
    def __init__(self, bounded: _BoundedSocket, raw: io.RawIOBase) -> None:
        self._bounded = bounded
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        self._bounded.arm()
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _read_document(status: int, headers: Message, data: bytes) -> Dict[str, Any]:
    return _read_as(_object, status, headers, data)


def _object(answer: Any) -> Dict[str, Any]:
    if not isinstance(answer, dict):
        raise Misfit("the document is not an object")
    return answer


def _read(kind: Type[T], status: int, headers: Message, data: bytes) -> T:
    return _read_as(lambda answer: cast(T, decode(kind, answer, kind.__name__)), status, headers, data)


def _read_as(read: Callable[[Any], T], status: int, headers: Message, data: bytes) -> T:
    request_id = headers.get("X-Request-Id")
    try:
        answer = json.loads(data.decode("utf-8"), parse_float=Decimal)
        if 200 <= status < 300:
            return read(answer)
        code, message = answer["error"]["code"], answer["error"]["message"]
        known = BY_CODE.get(code, ApiError)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = str(error) if isinstance(error, Misfit) else f"unexpected response: {data[:80]!r}"
        moved = f", which redirects to {headers['Location']}" if "Location" in headers else ""
        raise UnexpectedAnswer("unexpected_answer", status, what + moved, request_id, _retry_after(headers)) from error
    raise known(code, status, message, request_id, _retry_after(headers))


def _read_graphql(status: int, headers: Message, data: bytes) -> Dict[str, Any]:
    request_id = headers.get("X-Request-Id")
    try:
        answer = json.loads(data.decode("utf-8"), parse_float=Decimal)
        # Requests that are refused before they reach GraphQL have the same error body as in REST.
        errors = answer.get("errors") or ([{"extensions": answer["error"], **answer["error"]}] if "error" in answer else [])
        if not errors:
            found: Dict[str, Any] = answer["data"]
            return found
        message, told = errors[0]["message"], errors[0].get("extensions") or {}
        code = told.get("code", "invalid_request")
        refused = BY_CODE.get(code, ApiError)(code, told.get("status", status), message, request_id, _retry_after(headers))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        what = f"unexpected response: {data[:80]!r}"
        raise UnexpectedAnswer("unexpected_answer", status, what, request_id, _retry_after(headers)) from error
    raise refused


def _retry_after(headers: Message) -> Optional[int]:
    text = headers.get("Retry-After", "")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _wait_before(error: GpuRentalError, retries: int) -> float:
    """Returns the seconds to wait before the next attempt, which are at least those requested by the service. They are
    randomized, so that clients don't all retry at once."""
    backoff: float = FIRST_WAIT * 2 ** min(retries, MAX_DOUBLINGS) * random.uniform(0.5, 1)
    asked = getattr(error, "retry_after", None)
    return backoff if asked is None else max(backoff, asked + random.uniform(0, FIRST_WAIT))
