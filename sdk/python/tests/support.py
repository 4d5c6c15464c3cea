"""The gateway under test, and misbehaving servers that stand in for it."""

import http.client
import json
import os
import socket
import ssl
import threading
import time
import unittest
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Union
from urllib.parse import urlsplit

from gpu_rental import Client

GATEWAY_URL = os.environ.get("GATEWAY_URL", "")
LIMITED_URL = os.environ.get("LIMITED_URL", "")
CONTROL_URL = os.environ.get("CONTROL_URL", "")

needs_gateway = unittest.skipUnless(GATEWAY_URL, "needs a gateway: npx vitest run test/programs/sdk, at the top of the checkout")


def control(order: str, **values: Any) -> Dict[str, Any]:
    """Asks the test that started the gateway to do something that the API doesn't offer."""
    connection = http.client.HTTPConnection(urlsplit(CONTROL_URL).netloc, timeout=15)
    connection.request("POST", f"/{order}", json.dumps(values).encode())
    answer = connection.getresponse()
    body: Dict[str, Any] = json.loads(answer.read())
    connection.close()
    if answer.status != 200:
        raise AssertionError(f"control {order}: {body}")
    return body


@dataclass
class Renter:
    """A new account, with a client that uses its key."""

    client: Client
    key: str
    account_id: str

    def via(self, base_url: str, **options: Any) -> Client:
        return Client(self.key, base_url, **options)


def renter(credit: str = "100", **options: Any) -> Renter:
    account = control("renter", credit=credit)
    return Renter(Client(account["key"], GATEWAY_URL, **options), account["key"], account["account_id"])


@dataclass
class Request:
    raw: bytes
    method: str
    target: str
    headers: Dict[str, str]
    body: bytes
    at: float


#: A server's reply to a request: either bytes to send before closing, or a function that handles the connection.
Reply = Union[bytes, Callable[[Request, socket.socket], None]]


class Server:
    """Responds to each connection with the next reply, and keeps repeating the last one."""

    def __init__(self, *replies: Reply, tls: Optional[ssl.SSLContext] = None) -> None:
        self.requests: List[Request] = []
        self._faults: List[AssertionError] = []
        self._replies = list(replies)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing the socket isn't enough to wake a thread that is blocked in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        if self._faults:
            raise self._faults[0]

    def client(self, **options: Any) -> Client:
        return Client("gpu_live_" + "0" * 40, self.url, **options)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                try:
                    self._answer(connection)
                except OSError:
                    pass
                except AssertionError as fault:
                    self._faults.append(fault)

    def _answer(self, connection: socket.socket) -> None:
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        request = read_request(connection)
        self.requests.append(request)
        reply = self._replies[min(len(self.requests), len(self._replies)) - 1]
        if callable(reply):
            reply(request, connection)
        else:
            connection.sendall(reply)
        connection.close()


def read_request(connection: socket.socket) -> Request:
    raw = b""
    while b"\r\n\r\n" not in raw:
        raw += _some(connection)
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        more = _some(connection)
        raw, body = raw + more, body + more
    method, target, _version = first.split(" ")
    return Request(raw, method, target, headers, body, time.monotonic())


def _some(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    if not data:
        raise ConnectionError("the client went away")
    return data


def answer(status: int, body: Any, **headers: object) -> bytes:
    """Returns an HTTP response as bytes. Retry_After=1 sets the Retry-After header."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(data)}", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


def refusal(status: int, code: str, **headers: object) -> bytes:
    return answer(status, {"error": {"code": code, "message": f"it is {code}"}}, **headers)


BALANCE = {"object": "balance", "currency": "USD", "balance": 99.992308, "month_spend": 0.007692}


def cut(_request: Request, connection: socket.socket) -> None:
    """Receives the request, but closes the connection without a response."""


def forward(request: Request, connection: socket.socket) -> None:
    connection.sendall(_asked_of_gateway(request))


def forward_then_cut(request: Request, connection: socket.socket) -> None:
    """Passes the request to the gateway, whose response is then lost."""
    if not _asked_of_gateway(request).startswith(b"HTTP/1.1 2"):
        raise AssertionError("the gateway refused what was to be lost")


def forward_then_cut_halfway(request: Request, connection: socket.socket) -> None:
    whole = _asked_of_gateway(request)
    connection.sendall(whole[: -len(whole) // 8])


def _asked_of_gateway(request: Request) -> bytes:
    gateway = urlsplit(GATEWAY_URL)
    with socket.create_connection((gateway.hostname or "", gateway.port or 80), timeout=15) as upstream:
        upstream.sendall(request.raw)
        whole = b""
        while data := upstream.recv(65_536):
            whole += data
        return whole
