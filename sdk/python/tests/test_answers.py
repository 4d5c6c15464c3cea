"""Tests how responses are parsed, including malformed ones, and where requests are sent."""

import copy
import dataclasses
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, Dict, List
from unittest import mock

from gpu_rental import Client, ConnectionFailed, NotFound, PayloadTooLarge, UnexpectedAnswer

from .support import BALANCE, GATEWAY_URL, Server, answer, needs_gateway, refusal, renter

INSTANCE: Dict[str, Any] = {
    "object": "instance",
    "id": "i-31f72534",
    "status": "stopped",
    "gpu": "rtx-4090",
    "num_gpus": 1,
    "region": "us-mo",
    "template": "pytorch",
    "disk_gb": 100,
    "type": "od",
    "price_hr": 0.44,
    "hostname": "i-31f72534.gpu.localhost",
    "created_at": "2026-11-20T13:26:40Z",
    "stopped_at": "2026-11-20T13:27:41Z",
}


class Answers(unittest.TestCase):
    def got(self, body: Any) -> Any:
        with Server(answer(200, body)) as server:
            return server.client(max_retries=0).instances.get("i-31f72534")

    def test_money_is_exact_and_timestamps_are_aware(self) -> None:
        instance = self.got(INSTANCE)
        self.assertEqual(instance.price_hr, Decimal("0.44"))
        self.assertEqual(instance.stopped_at, datetime(2026, 11, 20, 13, 27, 41, tzinfo=timezone.utc))
        elsewhere = self.got({**INSTANCE, "created_at": "2026-11-20T14:26:40+01:00"})
        self.assertEqual(elsewhere, instance)
        self.assertIs(elsewhere.created_at.tzinfo, timezone.utc)
        self.assertEqual(self.got({**INSTANCE, "price_hr": 3}).price_hr, Decimal(3))

    def test_unknown_fields_are_ignored_and_unknown_values_kept(self) -> None:
        plain = self.got(INSTANCE)
        self.assertEqual(self.got({**INSTANCE, "colour": "red", "nested": {"deep": [1]}}), plain)
        self.assertEqual(self.got({**INSTANCE, "status": "moving"}).status, "moving")

    def test_missing_optional_fields_are_tolerated(self) -> None:
        short = {name: value for name, value in INSTANCE.items() if name not in ("stopped_at", "object")}
        self.assertEqual((self.got(short).stopped_at, self.got(short).object), (None, "instance"))

    def test_objects_can_not_be_changed(self) -> None:
        with self.assertRaises(dataclasses.FrozenInstanceError):
            self.got(INSTANCE).status = "running"

    def test_that_break_the_contract_are_told_with_the_place(self) -> None:
        without = {name: value for name, value in INSTANCE.items() if name != "hostname"}
        for body, where in (
            (without, "Instance.hostname is missing"),
            ({**INSTANCE, "disk_gb": "100"}, "Instance.disk_gb is not of type int"),
            ({**INSTANCE, "disk_gb": True}, "Instance.disk_gb is not of type int"),
            ({**INSTANCE, "price_hr": None}, "Instance.price_hr is not of type Decimal"),
            ({**INSTANCE, "created_at": "yesterday"}, "Instance.created_at is not of type datetime"),
            ({**INSTANCE, "created_at": "2026-11-20T13:26:40"}, "Instance.created_at is not of type datetime"),
            ([], "Instance is not an object"),
            (b"<html>welcome</html>", "unexpected response: b'<html>welcome</html>'"),
            (b"\xff", "unexpected response"),
            (b"[" * 100_000, "unexpected response"),
        ):
            with self.subTest(where), self.assertRaises(UnexpectedAnswer) as caught:
                self.got(body)
            self.assertIn(where, str(caught.exception))
            self.assertEqual((caught.exception.code, caught.exception.status), ("unexpected_answer", 200))

    def test_error_bodies_of_any_shape_are_an_exception(self) -> None:
        bodies: List[Any] = [
            b"",
            b"oops",
            [],
            {"error": "no"},
            {"error": {"code": ["x"], "message": ""}},
            {"message": "no"},
        ]
        for body in bodies:
            with self.subTest(body), Server(answer(404, body)) as server:
                with self.assertRaises(UnexpectedAnswer) as caught:
                    server.client().balance.get()
                self.assertEqual(caught.exception.status, 404)

    def test_a_retry_after_that_is_no_number_is_none(self) -> None:
        for text in ("soon", "-1", "1.5", "", "٣".encode().decode("latin-1")):
            with self.subTest(text), Server(refusal(404, "not_found", Retry_After=text)) as server:
                with self.assertRaises(NotFound) as caught:
                    server.client().balance.get()
                self.assertIsNone(caught.exception.retry_after)


class Requests(unittest.TestCase):
    def test_only_carry_what_was_given(self) -> None:
        with Server(answer(200, INSTANCE), answer(200, {"object": "offers", "count": 0, "data": []})) as server:
            client = server.client()
            client.instances.deploy("m-1", disk_gb=5)
            client.offers.list(region="us tx&x=1", limit=2)
        deploy, offers = server.requests
        self.assertEqual((deploy.method, deploy.target), ("POST", "/v1/instances"))
        self.assertEqual(deploy.body, b'{"machine_id": "m-1", "disk_gb": 5}')
        self.assertEqual(deploy.headers["host"], f"127.0.0.1:{server.port}")
        self.assertEqual(deploy.headers["authorization"], "Bearer gpu_live_" + "0" * 40)
        self.assertEqual(offers.target, "/v1/offers?region=us+tx%26x%3D1&limit=2")
        # The route is public, so the key must not be sent.
        self.assertNotIn("authorization", offers.headers)

    def test_do_not_follow_a_redirect(self) -> None:
        with Server(answer(200, BALANCE)) as other:
            with Server(answer(301, b"", Location=other.url)) as server, self.assertRaises(UnexpectedAnswer) as caught:
                server.client().balance.get()
        self.assertIn(f"redirects to {other.url}", str(caught.exception))
        self.assertEqual(other.requests, [])

    def test_refused_before_they_were_read_have_their_answer(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def refuse() -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(refusal(413, "payload_too_large"))

            thread = threading.Thread(target=refuse)
            thread.start()
            client = Client("k", f"http://127.0.0.1:{listener.getsockname()[1]}/v1", max_retries=0)
            with self.assertRaises(PayloadTooLarge):
                client.instances.deploy("m", template="x" * 9_000_000)
            thread.join()

    def test_do_not_go_through_proxies_of_the_environment(self) -> None:
        dead = {name: "http://127.0.0.1:9" for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")}
        with mock.patch.dict(os.environ, dead), Server(answer(200, BALANCE)) as server:
            self.assertEqual(server.client(max_retries=0).balance.get().balance, Decimal("99.992308"))

    def test_wrong_settings_are_told_at_once_and_without_the_key(self) -> None:
        for key in ("gpu_live_x\n", "two words", "", "schlüssel"):
            with self.subTest(key), self.assertRaises(ValueError) as caught:
                Client(key)
            self.assertNotIn(key.strip() or "?", str(caught.exception))
        for url in ("127.0.0.1:4000/v1", "ftp://x/v1", "http://", "http://u:p@x/v1", "http://x/v1?a=b", "http://x/ v1"):
            with self.subTest(url), self.assertRaises(ValueError):
                Client(base_url=url)
        for options in ({"timeout": 0}, {"timeout": float("nan")}, {"max_retries": -1}, {"total_timeout": 0}):
            with self.subTest(options), self.assertRaises(ValueError):
                Client(**options)
        for key in ("", "a b", "x" * 256, "a\r\nX: y", "é"):
            with self.subTest(key), self.assertRaises(ValueError):
                Client("k").instances.deploy("m", idempotency_key=key)

    def test_the_key_is_not_shown(self) -> None:
        client = Client("gpu_live_secret")
        self.assertEqual(repr(client), "Client(base_url='http://127.0.0.1:4000/v1')")


@unittest.skipUnless(shutil.which("openssl"), "needs openssl to make a certificate")
class Https(unittest.TestCase):
    def test_checks_the_certificate_and_does_not_try_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
            make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
            subject = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
            subprocess.run([*make.split(), *subject], check=True, capture_output=True)
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate, key)
            with Server(answer(200, BALANCE), tls=tls) as server:
                with self.assertRaises(ConnectionFailed) as caught:
                    server.client().balance.get()
                self.assertIsInstance(caught.exception.__cause__, ssl.SSLCertVerificationError)
                self.assertFalse(caught.exception.retryable)
                self.assertEqual(server.requests, [])
                trusting = ssl.create_default_context(cafile=certificate)
                balance = server.client(ssl_context=trusting).balance.get()
                self.assertEqual(balance.month_spend, Decimal("0.007692"))


@needs_gateway
class TheContract(unittest.TestCase):
    def test_every_field_of_the_gateways_openapi_is_a_field_here(self) -> None:
        import http.client
        import json
        from urllib.parse import urlsplit

        import gpu_rental
        from gpu_rental.models import _fields

        connection = http.client.HTTPConnection(urlsplit(GATEWAY_URL).netloc, timeout=10)
        connection.request("GET", "/v1/openapi.json")
        document = json.loads(connection.getresponse().read())
        paths = document["paths"]
        connection.close()

        def compare(kind: Any, named: Any) -> None:
            schema = document["components"]["schemas"][named["$ref"].rsplit("/", 1)[1]]
            fields = _fields(kind)
            self.assertEqual(set(fields), set(schema["properties"]), kind.__name__)
            for name, (field_kind, _) in fields.items():
                inner = schema["properties"][name]
                arguments = getattr(field_kind, "__args__", ())
                if dataclasses.is_dataclass(field_kind):
                    compare(field_kind, inner)
                elif arguments and dataclasses.is_dataclass(arguments[0]):
                    compare(arguments[0], inner["items"] if "items" in inner else inner["anyOf"][0])
                else:
                    nullable = "anyOf" in inner or isinstance(inner["type"], list)
                    self.assertEqual(type(None) in arguments, nullable, f"{kind.__name__}.{name}")

        for path, method, status, kind in (
            ("/gpus/pricing", "get", "200", gpu_rental.PricingSheet),
            ("/offers", "get", "200", gpu_rental.OfferList),
            ("/models/memory", "post", "200", gpu_rental.ModelMemory),
            ("/balance", "get", "200", gpu_rental.Balance),
            ("/instances", "get", "200", gpu_rental.InstanceList),
            ("/instances", "post", "201", gpu_rental.Instance),
            ("/instances/{id}", "get", "200", gpu_rental.Instance),
            ("/instances/{id}", "delete", "200", gpu_rental.Destroyed),
            ("/instances/{id}/actions", "post", "200", gpu_rental.Instance),
            ("/instances/{id}/move", "post", "201", gpu_rental.Instance),
            ("/instances/{id}/metrics/history", "get", "200", gpu_rental.InstanceMetrics),
            ("/instances/{id}/web-token", "post", "201", gpu_rental.WebToken),
            ("/instances/{id}/launch", "get", "200", gpu_rental.InstanceLaunch),
            ("/instances/{id}/timeline", "get", "200", gpu_rental.Timeline),
            ("/volumes", "get", "200", gpu_rental.VolumeList),
            ("/volumes", "post", "201", gpu_rental.Volume),
            ("/volumes/{id}", "get", "200", gpu_rental.VolumeWithSnapshots),
            ("/volumes/{id}", "delete", "200", gpu_rental.Volume),
            ("/volumes/{id}/grow", "post", "200", gpu_rental.Volume),
            ("/volumes/{id}/release", "post", "200", gpu_rental.VolumeRelease),
        ):
            operation = copy.deepcopy(paths[path].pop(method))
            compare(kind, operation["responses"][status]["content"]["application/json"]["schema"])
        # These routes return texts, or documents whose members only a verifier reads.
        for path in (
            "/instances/{id}/metrics",
            "/statements/{month}/focus",
            "/statements/{month}/invoice",
            "/statements/{month}/signed",
            "/log/roots",
            "/log/consistency",
            "/log/inclusion",
        ):
            self.assertEqual(list(paths.pop(path)), ["get"])
        self.assertEqual([path for path, left in paths.items() if left], [], "routes without a method here")

    def test_a_base_url_without_a_path_is_completed_and_another_path_is_not(self) -> None:
        from gpu_rental import NoRoute

        bare = GATEWAY_URL[: -len("/v1")]
        for url in (bare, bare + "/"):
            self.assertEqual(renter().via(url).balance.get().object, "balance")
        with self.assertRaises(NoRoute):
            renter().via(bare + "/v2").balance.get()
