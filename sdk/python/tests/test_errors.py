"""Tests that each of the service's error codes raises its own exception, using a real gateway."""

import pickle
import unittest
from typing import Any, Callable, ClassVar, Set, Type

import gpu_rental
from gpu_rental import ApiError, Balance, Client, Instance
from gpu_rental.errors import BY_CODE
from gpu_rental.transport import Transport

from .support import GATEWAY_URL, LIMITED_URL, Renter, Server, control, needs_gateway, refusal, renter

NOBODY = "i-00000000"


@needs_gateway
class TheGatewaysCodes(unittest.TestCase):
    seen: ClassVar[Set[str]] = set()
    renter: ClassVar[Renter]

    @classmethod
    def setUpClass(cls) -> None:
        cls.renter = renter(max_retries=0)

    def setUp(self) -> None:
        self.client = self.renter.client

    def refused(self, kind: Type[ApiError], status: int, message: str, call: Callable[[], Any]) -> ApiError:
        with self.assertRaises(ApiError) as caught:
            call()
        error = caught.exception
        self.assertIs(type(error), kind)
        self.assertEqual((BY_CODE[error.code], error.status), (kind, status))
        self.assertRegex(error.message, message)
        self.assertRegex(error.request_id or "", "^[0-9a-f]{32}$")
        self.seen.add(error.code)
        return error

    def a_machine(self) -> str:
        return self.client.offers.list(limit=1)[0].machine_id

    def transport(self) -> Transport:
        """Sends requests that the client's methods can't produce."""
        return self.client.instances._transport

    def test_unauthorized(self) -> None:
        for client in (Client(base_url=GATEWAY_URL), Client("gpu_live_" + "0" * 40, GATEWAY_URL)):
            for call in (client.balance.get, client.instances.list, lambda: client.instances.destroy(NOBODY)):
                self.refused(gpu_rental.Unauthorized, 401, "API key", call)

    def test_forbidden(self) -> None:
        key = control("reader", account_id=self.renter.account_id)["key"]
        reader = Client(key, GATEWAY_URL, max_retries=0)
        reader.instances.list()
        self.refused(gpu_rental.Forbidden, 403, "rent", lambda: reader.instances.deploy("m-unknown"))

    def test_not_found(self) -> None:
        for call in (
            lambda: self.client.instances.get(NOBODY),
            lambda: self.client.instances.get("a/b?c#d é"),
            lambda: self.client.instances.stop(NOBODY),
            lambda: self.client.instances.destroy(NOBODY),
        ):
            self.refused(gpu_rental.NotFound, 404, "no such instance", call)

    def test_no_route(self) -> None:
        elsewhere = self.renter.via(GATEWAY_URL + "/v2")
        self.refused(gpu_rental.NoRoute, 404, "no such endpoint", elsewhere.balance.get)

    def test_method_not_allowed(self) -> None:
        self.refused(
            gpu_rental.MethodNotAllowed,
            405,
            "PUT is not allowed",
            lambda: self.transport().request(Balance, "PUT", "/balance"),
        )

    def test_deploy_failed(self) -> None:
        poor = renter("0.01").client
        machine_id = self.a_machine()
        deploy = self.client.instances.deploy
        self.refused(gpu_rental.DeployFailed, 409, "balance", lambda: poor.instances.deploy(machine_id))
        self.refused(gpu_rental.DeployFailed, 409, "machine", lambda: deploy("m-unknown"))
        self.refused(gpu_rental.DeployFailed, 409, "disk", lambda: deploy(machine_id, disk_gb=1_000_000))
        deploy(machine_id)
        self.refused(gpu_rental.DeployFailed, 409, "machine", lambda: deploy(machine_id))

    def test_action_failed(self) -> None:
        instances = self.client.instances
        id = instances.deploy(self.a_machine()).id
        self.refused(gpu_rental.ActionFailed, 409, "start is not allowed", lambda: instances.start(id))
        instances.destroy(id)
        self.refused(gpu_rental.ActionFailed, 409, "destroy is not allowed", lambda: instances.destroy(id))

    def test_missing_machine(self) -> None:
        self.refused(gpu_rental.MissingMachine, 422, "machine_id is required", lambda: self.client.instances.deploy(""))

    def test_bad_action(self) -> None:
        self.refused(
            gpu_rental.BadAction, 422, "start, stop, destroy", lambda: self.client.instances.action(NOBODY, "reboot")
        )

    def test_invalid_request(self) -> None:
        offers, deploy = self.client.offers.list, self.client.instances.deploy
        self.refused(gpu_rental.InvalidRequest, 422, "^limit must be", lambda: offers(limit=101))
        self.refused(gpu_rental.InvalidRequest, 422, "^num_min must be", lambda: offers(num_min=0))
        self.refused(gpu_rental.InvalidRequest, 422, "^price_max must be", lambda: offers(price_max=float("nan")))
        self.refused(gpu_rental.InvalidRequest, 422, "^disk_gb must be", lambda: deploy("m", disk_gb=0))
        self.refused(gpu_rental.InvalidRequest, 422, "^type must be", lambda: deploy("m", type="spotty"))

    def test_invalid_json(self) -> None:
        self.refused(
            gpu_rental.InvalidJson,
            400,
            "JSON",
            lambda: self.transport().request(Instance, "POST", "/instances", body=b"{"),
        )

    def test_payload_too_large(self) -> None:
        deploy = self.client.instances.deploy
        self.refused(gpu_rental.PayloadTooLarge, 413, "100 ?kb", lambda: deploy("m", template="x" * 150_000))

    def test_idempotency_mismatch(self) -> None:
        deploy = self.client.instances.deploy
        machine_id = self.a_machine()
        deploy(machine_id, disk_gb=10, idempotency_key="one-name")
        error = self.refused(
            gpu_rental.IdempotencyMismatch,
            422,
            "another operation or input",
            lambda: deploy(machine_id, disk_gb=11, idempotency_key="one-name"),
        )
        self.assertEqual(error.idempotency_key, "one-name")

    def test_idempotency_in_progress(self) -> None:
        held = renter(max_retries=0)
        control("hold", account_id=held.account_id, key="held", seconds=5.5)
        machine_id = self.a_machine()
        error = self.refused(
            gpu_rental.IdempotencyInProgress,
            409,
            "still in progress",
            lambda: held.client.instances.deploy(machine_id, idempotency_key="held"),
        )
        self.assertEqual(error.retry_after, 1)
        # With retries, the same call waits until the other one has completed.
        patient = held.via(GATEWAY_URL)
        self.assertEqual(patient.instances.deploy(machine_id, idempotency_key="held").status, "running")
        self.assertEqual(len(patient.instances.list()), 1)

    def test_rate_limited(self) -> None:
        client = renter().via(LIMITED_URL, total_timeout=10)
        client.balance.get()
        client.balance.get()
        # Its Retry-After exceeds the total time, so the client doesn't wait.
        error = self.refused(gpu_rental.RateLimited, 429, "more than 2 requests", client.balance.get)
        self.assertGreater(error.retry_after or 0, 40)
        self.assertEqual(client.offers.list(limit=1).count, 1)

    def test_internal(self) -> None:
        control("break")
        try:
            self.refused(gpu_rental.InternalError, 500, "internal error", self.client.instances.list)
        finally:
            control("mend")

    def test_unavailable(self) -> None:
        control("away")
        try:
            error = self.refused(gpu_rental.Unavailable, 503, "try again", self.client.balance.get)
            self.assertEqual(error.retry_after, 2)
        finally:
            control("back")

    @classmethod
    def tearDownClass(cls) -> None:
        # Only checked once all tests have run, because a single test may be run by its name.
        if len(cls.seen) > 12 and cls.seen != set(control("codes")["codes"]):
            raise AssertionError(
                f"codes of the OpenAPI document not met here: {set(control('codes')['codes']) ^ cls.seen}"
            )


class Codes(unittest.TestCase):
    def test_each_has_a_class_of_its_own(self) -> None:
        self.assertEqual(len(set(BY_CODE.values())), len(BY_CODE))
        for kind in BY_CODE.values():
            self.assertIs(getattr(gpu_rental, kind.__name__), kind)

    def test_an_unknown_one_is_a_plain_api_error(self) -> None:
        with Server(refusal(418, "teapot", X_Request_Id="r-1")) as server:
            with self.assertRaises(ApiError) as caught:
                server.client().balance.get()
        error = caught.exception
        self.assertIs(type(error), ApiError)
        self.assertEqual((error.code, error.status, error.request_id, error.retry_after), ("teapot", 418, "r-1", None))
        self.assertEqual(str(error), "it is teapot (teapot, HTTP 418, request r-1)")

    def test_survive_the_way_between_processes(self) -> None:
        error = gpu_rental.RateLimited("rate_limited", 429, "slower", "r-1", 7)
        error.idempotency_key = "k"
        copy = pickle.loads(pickle.dumps(error))
        self.assertIs(type(copy), gpu_rental.RateLimited)
        self.assertEqual((copy.retry_after, copy.idempotency_key, str(copy)), (7, "k", str(error)))
        failed = pickle.loads(pickle.dumps(gpu_rental.ConnectionFailed("cut", retryable=False)))
        self.assertEqual((str(failed), failed.retryable), ("cut", False))
