"""Tests what is retried and when, and that it is executed only once."""

import socket
import time
import unittest
import uuid
from typing import Callable, List
from unittest import mock

from gpu_rental import (
    ActionFailed,
    Client,
    ConnectionFailed,
    DeployFailed,
    InternalError,
    RateLimited,
    Unavailable,
)

from .support import (
    BALANCE,
    Reply,
    Request,
    Server,
    answer,
    control,
    cut,
    forward,
    forward_then_cut,
    forward_then_cut_halfway,
    needs_gateway,
    refusal,
    renter,
)


def read_balance(client: Client) -> object:
    return client.balance.get()


def keys_of(server: Server) -> List[str]:
    return [request.headers["idempotency-key"] for request in server.requests]


#: Shortens waits in tests that check what is retried rather than when.
soon = mock.patch("gpu_rental.transport.FIRST_WAIT", 0.02)


@soon
@needs_gateway
class ALostAnswer(unittest.TestCase):
    def test_of_a_deploy_leaves_one_rental(self) -> None:
        for lose in (forward_then_cut, forward_then_cut_halfway):
            with self.subTest(lose.__name__), Server(lose, lose, forward) as proxy:
                account = renter()
                offer = account.client.offers.list(limit=1)[0]
                instance = account.via(proxy.url).instances.deploy(offer.machine_id)
                self.assertEqual(account.client.instances.list().data, (instance,))
                self.assertEqual(len(proxy.requests), 3)
                self.assertEqual(len(set(keys_of(proxy))), 1)
                self.assertEqual(uuid.UUID(keys_of(proxy)[0]).version, 4)

    def test_of_an_action_or_a_destroy_is_no_refusal(self) -> None:
        account = renter()
        instance = account.client.instances.deploy(account.client.offers.list(limit=1)[0].machine_id)
        for action in ("stop", "start"):
            with Server(forward_then_cut, forward) as proxy:
                account.via(proxy.url).instances.action(instance.id, action)
                self.assertEqual(len(set(keys_of(proxy))), 1)
        with Server(forward_then_cut, forward) as proxy:
            self.assertEqual(account.via(proxy.url).instances.destroy(instance.id).status, "destroyed")
        with self.assertRaises(ActionFailed):
            account.client.instances.destroy(instance.id)

    def test_that_stays_lost_can_be_asked_for_by_the_key_of_the_exception(self) -> None:
        account = renter()
        machine_id = account.client.offers.list(limit=1)[0].machine_id
        with Server(forward_then_cut) as proxy:
            with self.assertRaises(ConnectionFailed) as caught:
                account.via(proxy.url, max_retries=0).instances.deploy(machine_id)
        with self.assertRaises(DeployFailed):
            account.client.instances.deploy(machine_id)
        key = caught.exception.idempotency_key
        instance = account.client.instances.deploy(machine_id, idempotency_key=key)
        self.assertEqual(account.client.instances.list().data, (instance,))


@needs_gateway
class AKeyOfOnesOwn(unittest.TestCase):
    def test_gets_the_first_answer_again(self) -> None:
        client = renter().client
        machine_id = client.offers.list(limit=1)[0].machine_id
        first = client.instances.deploy(machine_id, idempotency_key="rental-1")
        stopped = client.instances.stop(first.id, idempotency_key="stop-1")
        self.assertEqual(client.instances.deploy(machine_id, idempotency_key="rental-1"), first)
        self.assertEqual(client.instances.stop(first.id, idempotency_key="stop-1"), stopped)
        destroyed = client.instances.destroy(first.id, idempotency_key="destroy-1")
        self.assertEqual(client.instances.destroy(first.id, idempotency_key="destroy-1"), destroyed)
        self.assertEqual(client.instances.action(first.id, "destroy", idempotency_key="destroy-1").id, first.id)

    def test_is_needed_for_that(self) -> None:
        client = renter().client
        machine_id = client.offers.list(limit=1)[0].machine_id
        client.instances.deploy(machine_id)
        with self.assertRaises(DeployFailed):
            client.instances.deploy(machine_id)


@needs_gateway
class AGatewayThatIsAway(unittest.TestCase):
    def test_is_waited_for(self) -> None:
        account = renter()
        control("away", seconds=0.5)
        started = time.monotonic()
        self.assertEqual(account.client.balance.get().balance, 100)
        self.assertGreaterEqual(time.monotonic() - started, 2)


class Retries(unittest.TestCase):
    def attempts(self, *replies: Reply, call: Callable[[Client], object] = read_balance) -> List[float]:
        """Returns the waits between the attempts of a successful call."""
        with Server(*replies) as server:
            call(server.client())
        times = [request.at for request in server.requests]
        return [later - earlier for earlier, later in zip(times, times[1:])]

    @soon
    def test_follow_every_failure_that_may_pass(self) -> None:
        done = answer(200, BALANCE)
        for failure in (
            cut,
            answer(200, BALANCE)[:-1],
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"obj',
            b"not HTTP",
            refusal(429, "rate_limited"),
            refusal(503, "unavailable"),
            refusal(409, "idempotency_in_progress"),
            answer(502, b"<html>bad gateway</html>"),
            answer(504, b""),
        ):
            with self.subTest(failure):
                self.assertEqual(len(self.attempts(failure, done)), 1)

    def test_follow_no_other_refusal(self) -> None:
        for failure, kind in (
            (refusal(500, "internal"), InternalError),
            (refusal(409, "deploy_failed"), DeployFailed),
            (refusal(409, "action_failed"), ActionFailed),
        ):
            with self.subTest(kind.__name__), Server(failure) as server:
                with self.assertRaises(kind):
                    server.client().instances.deploy("m")
                self.assertEqual(len(server.requests), 1)

    def test_wait_as_long_as_retry_after_asks(self) -> None:
        destroyed = answer(200, {"object": "instance", "id": "i-00000000", "status": "destroyed"})
        failure = refusal(429, "rate_limited", Retry_After=1)
        (wait,) = self.attempts(failure, destroyed, call=lambda client: client.instances.destroy("i-00000000"))
        self.assertGreaterEqual(wait, 1)
        self.assertLess(wait, 3)

    def test_wait_longer_each_time_and_never_in_step(self) -> None:
        waits: List[float] = []
        with mock.patch("gpu_rental.transport.time.sleep", waits.append):
            for _ in range(20):
                with Server(cut) as server, self.assertRaises(ConnectionFailed):
                    server.client(max_retries=7, total_timeout=1000).balance.get()
        self.assertEqual(len(waits), 140)
        for retry in range(7):
            same = waits[retry::7]
            top = min(8, 0.25 * 2**retry)
            self.assertTrue(all(top / 2 <= wait <= top for wait in same), same)
            self.assertGreater(len(set(same)), 10)

    def test_end_at_their_number(self) -> None:
        for retries in (0, 2):
            with Server(refusal(503, "unavailable")) as server:
                with self.assertRaises(Unavailable):
                    server.client(max_retries=retries).balance.get()
            self.assertEqual(len(server.requests), 1 + retries)

    def test_end_with_the_total_time(self) -> None:
        started = time.monotonic()
        with Server(cut) as server, self.assertRaises(ConnectionFailed):
            server.client(max_retries=1000, total_timeout=1).balance.get()
        self.assertLess(time.monotonic() - started, 3)
        self.assertGreater(len(server.requests), 1)

    def test_do_not_wait_for_what_is_beyond_the_total_time(self) -> None:
        started = time.monotonic()
        with Server(refusal(429, "rate_limited", Retry_After=30)) as server:
            with self.assertRaises(RateLimited) as caught:
                server.client(total_timeout=20).balance.get()
        self.assertEqual((caught.exception.retry_after, len(server.requests)), (30, 1))
        self.assertLess(time.monotonic() - started, 5)

    def test_every_write_has_a_key_of_its_own_and_no_read_has_one(self) -> None:
        with Server(refusal(409, "action_failed")) as server:
            client = server.client()
            for call in (
                lambda: client.instances.deploy("m"),
                lambda: client.instances.stop("i"),
                lambda: client.instances.start("i"),
                lambda: client.instances.destroy("i"),
                lambda: client.instances.stop("i", idempotency_key="mine"),
                lambda: client.instances.start("i", idempotency_key="mine"),
                lambda: client.instances.destroy("i", idempotency_key="mine"),
            ):
                with self.assertRaises(ActionFailed):
                    call()
            self.assertEqual(len(set(keys_of(server))), 5)
            self.assertEqual(keys_of(server)[4:], ["mine"] * 3)
            for read in (client.balance.get, client.instances.list, client.gpus.pricing, client.offers.list):
                with self.assertRaises(ActionFailed):
                    read()
            self.assertFalse(any("idempotency-key" in request.headers for request in server.requests[7:]))


class Timeouts(unittest.TestCase):
    def assertTimesOut(self, client: Client, seconds: float) -> None:
        started = time.monotonic()
        with self.assertRaises(ConnectionFailed) as caught:
            client.balance.get()
        self.assertIn("timed out", str(caught.exception))
        took = time.monotonic() - started
        self.assertGreater(took, seconds * 0.9)
        self.assertLess(took, seconds + 0.8)

    def test_a_silent_server(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            self.assertTimesOut(Client("k", f"http://127.0.0.1:{port}/v1", timeout=0.4, max_retries=0), 0.4)

    def test_a_server_that_drips_its_answer(self) -> None:
        def drip(_request: Request, connection: socket.socket) -> None:
            for byte in answer(200, BALANCE):
                connection.sendall(bytes([byte]))
                time.sleep(0.05)

        with Server(drip) as server:
            self.assertTimesOut(server.client(timeout=0.4, max_retries=0), 0.4)

    @soon
    def test_the_last_attempt_has_the_rest_of_the_total_time(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            client = Client("k", f"http://127.0.0.1:{port}/v1", timeout=1.2, total_timeout=1.4, max_retries=9)
            self.assertTimesOut(client, 1.4)

    def test_nobody_listens(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as once:
            port = once.getsockname()[1]
        with self.assertRaises(ConnectionFailed) as caught:
            Client("k", f"http://127.0.0.1:{port}/v1", max_retries=1).balance.get()
        self.assertIsInstance(caught.exception.__cause__, ConnectionRefusedError)
        self.assertIsNone(caught.exception.idempotency_key)
