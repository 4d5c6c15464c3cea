"""The client: the routes of the service, one method each."""

import json
import ssl
from decimal import Decimal
from typing import Optional, Union
from urllib.parse import quote

from .models import Balance, Destroyed, Instance, InstanceList, OfferList, PricingSheet
from .transport import Transport


class Client:
    """A client of the GPU rental gateway. Threads may share one.

    :param api_key: ``gpu_live_`` and 40 hex characters. Prices and offers need none, and are asked without it.
    :param base_url: the address of the service with its path prefix; one without a path gets ``/v1``.
    :param timeout: seconds for one attempt: connecting, sending, and the whole answer.
    :param max_retries: how often a request is sent again after no answer, 429, 502, 503, 504 or
        ``idempotency_in_progress``; 0 for never.
    :param total_timeout: seconds for a call with all its attempts and waits. A ``Retry-After`` beyond it is not waited
        for: the call raises at once.
    :param ssl_context: for https; by default the system's certificate authorities are trusted.

    Every method raises :class:`~gpu_rental.ConnectionFailed` when no answer came, and the subclass of
    :class:`~gpu_rental.ApiError` for the service's error code otherwise.
    """

    def __init__(
        self,
        api_key: Optional[str] = None,
        base_url: str = "http://127.0.0.1:4000/v1",
        *,
        timeout: float = 30.0,
        max_retries: int = 4,
        total_timeout: float = 120.0,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        transport = Transport(api_key, base_url, timeout, max_retries, total_timeout, ssl_context)
        self._base_url = base_url
        #: The public price sheet.
        self.gpus = Gpus(transport)
        #: Machines that can be deployed now.
        self.offers = Offers(transport)
        #: The account's credit.
        self.balance = BalanceResource(transport)
        #: The account's rentals.
        self.instances = Instances(transport)

    def __repr__(self) -> str:
        return f"Client(base_url={self._base_url!r})"


class _Resource:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class Gpus(_Resource):
    def pricing(self) -> PricingSheet:
        """The price sheet, one entry per GPU model; USD per GPU-hour. Needs no key."""
        return self._transport.request(PricingSheet, "GET", "/gpus/pricing", public=True)


class Offers(_Resource):
    def list(
        self,
        gpu: Optional[str] = None,
        region: Optional[str] = None,
        num_min: Optional[int] = None,
        price_max: Union[Decimal, float, None] = None,
        limit: Optional[int] = None,
    ) -> OfferList:
        """Machines that can be deployed now, cheapest first. Needs no key.

        :param gpu: slug of a model, as in the price sheet.
        :param region: region code.
        :param num_min: least GPUs in the machine, 1 to 8; the service's default is 1.
        :param price_max: most USD per hour for the whole machine, on demand.
        :param limit: most offers returned, 1 to 100; the service's default is 25.
        :raises InvalidRequest: a value is out of its bounds.
        """
        query = {
            "gpu": gpu,
            "region": region,
            "num_min": num_min,
            # Without the noise of binary fractions, and without an exponent.
            "price_max": None if price_max is None else f"{price_max:.9f}",
            "limit": limit,
        }
        return self._transport.request(OfferList, "GET", "/offers", public=True, query=query)


class BalanceResource(_Resource):
    def get(self) -> Balance:
        """Credit left and spend of this UTC month in USD, right to the second."""
        return self._transport.request(Balance, "GET", "/balance")


class Instances(_Resource):
    """Deploys, actions and destroys carry an ``Idempotency-Key``: `idempotency_key`, or a random one for each call. So
    a retry never does them twice. Give your own (1 to 255 visible ASCII characters) to make a call repeatable across
    restarts of your program, within 24 hours: with the same input it returns the first answer again.
    """

    def list(self) -> InstanceList:
        """The active instances, newest first; destroyed ones are not among them."""
        return self._transport.request(InstanceList, "GET", "/instances")

    def deploy(
        self,
        machine_id: str,
        template: Optional[str] = None,
        disk_gb: Optional[int] = None,
        type: Optional[str] = None,
        *,
        idempotency_key: Optional[str] = None,
    ) -> Instance:
        """Rents a machine; its hourly rate is locked for the life of the instance.

        :param machine_id: from an offer.
        :param template: slug of a template or an OCI image reference; the service's default is ``pytorch``.
        :param disk_gb: GB, at most the offer's ``disk_gb``; the service's default is 50.
        :param type: ``od``, ``interruptible`` or ``res``; the service's default is ``od``.
        :raises DeployFailed: balance too small, machine taken or unknown, disk too large.
        :raises MissingMachine: `machine_id` is empty.
        :raises InvalidRequest: a value is out of its bounds.
        :raises IdempotencyMismatch: `idempotency_key` was used for something else.
        """
        fields = {"machine_id": machine_id, "template": template, "disk_gb": disk_gb, "type": type}
        given = {name: value for name, value in fields.items() if value is not None}
        return self._transport.request(
            Instance, "POST", "/instances", body=_json(given), idempotency_key=idempotency_key
        )

    def get(self, id: str) -> Instance:
        """One instance, also a destroyed one.

        :raises NotFound: the account has no such instance.
        """
        return self._transport.request(Instance, "GET", _path(id))

    def destroy(self, id: str, *, idempotency_key: Optional[str] = None) -> Destroyed:
        """Destroys an instance and erases its disk: billing ends.

        :raises NotFound: the account has no such instance.
        :raises ActionFailed: it is destroyed already, or the balance can't pay for leaving a reserved term early.
        """
        return self._transport.request(Destroyed, "DELETE", _path(id), idempotency_key=idempotency_key)

    def action(self, id: str, action: str, *, idempotency_key: Optional[str] = None) -> Instance:
        """Does ``start``, ``stop`` or ``destroy``, and returns the instance in its new state.

        :raises NotFound: the account has no such instance.
        :raises ActionFailed: the state, the balance or the machine does not allow it.
        :raises BadAction: no such action.
        """
        return self._transport.request(
            Instance, "POST", _path(id) + "/actions", body=_json({"action": action}), idempotency_key=idempotency_key
        )

    def start(self, id: str, *, idempotency_key: Optional[str] = None) -> Instance:
        """Takes the stopped instance's machine back, if it is free and the balance allows; see :meth:`action`."""
        return self.action(id, "start", idempotency_key=idempotency_key)

    def stop(self, id: str, *, idempotency_key: Optional[str] = None) -> Instance:
        """Ends GPU billing this second; the disk is billed until the instance is destroyed. See :meth:`action`."""
        return self.action(id, "stop", idempotency_key=idempotency_key)


def _path(id: str) -> str:
    return f"/instances/{quote(id, safe='')}"


def _json(fields: object) -> bytes:
    return json.dumps(fields).encode("utf-8")
