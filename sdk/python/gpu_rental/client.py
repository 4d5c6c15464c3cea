"""The client, which has one method for each of the service's routes."""

import json
import ssl
import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union, cast
from urllib.parse import quote

from .landing import check_destinations
from .models import (
    Balance,
    Destroyed,
    Instance,
    InstanceLinks,
    InstanceList,
    InstanceMetrics,
    ModelMemory,
    OfferList,
    PricingSheet,
    SavedTemplate,
    Template,
    Timeline,
    Volume,
    VolumeList,
    VolumeRelease,
    VolumeWithSnapshots,
    WebToken,
)
from .rental import Deploys, InstanceLaunch
from .run import OnOutput, Run, RunEnded, Terms, checked_folders, checked_out, deploy_input
from .transport import Transport

_GALLERY = """{ templates { slug title category description image vram_gb: vramGb ports { port name }
  variables { name description default required secret is_generated: isGenerated } } }"""
_SAVED = """name description template disk_gb: diskGb link created_at: createdAt
  launch { name env secrets { secret variable file } entrypoint command ports { port name } tcp_ports: tcpPorts
    registry_login: registryLogin user restart on_exit: onExit }"""
_SAVE = "mutation ($input: SavedTemplateInput!) { saveTemplate(input: $input) { %s } }" % _SAVED
_DELETE = "mutation ($name: String!) { deleteTemplate(name: $name) { %s } }" % _SAVED
_LINKS = """query ($id: ID!) { instanceLinks(id: $id) {
  links { name port path url open } tokens { variable value in_link: inLink } } }"""


class Client:
    """A client for the GPU rental gateway, which threads can share.

    :param api_key: ``gpu_live_`` followed by 40 hex characters. Prices and offers don't need a key, and requests for
        them never include it.
    :param base_url: The service's URL, including its path prefix. If it has no path, ``/v1`` is appended.
    :param timeout: Seconds for a single attempt, from connecting to the end of the response.
    :param max_retries: How often a request is retried if there is no response, on 429, 502, 503 and 504, and on
        ``idempotency_in_progress``. 0 disables retries.
    :param total_timeout: Seconds for a call with all its attempts and waits. If a ``Retry-After`` would exceed it, the
        call raises immediately instead of waiting.
    :param ssl_context: Used for https. By default, the system's certificate authorities are trusted.

    Every method raises :class:`~gpu_rental.ConnectionFailed` if no response arrives, or the subclass of
    :class:`~gpu_rental.ApiError` that corresponds to the service's error code.
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
        self._transport = transport
        #: The public price sheet.
        self.gpus = Gpus(transport)
        #: Machines that can be deployed now.
        self.offers = Offers(transport)
        #: GPU memory that language models need.
        self.models = Models(transport)
        #: The account's credit.
        self.balance = BalanceResource(transport)
        #: Roots of the public log, and proofs that it covers the account.
        self.proofs = Proofs(transport)
        #: The account's signed statements.
        self.statements = Statements(transport)
        #: The account's rentals.
        self.instances = Instances(transport)
        #: The account's disks, which outlive the machines that use them.
        self.volumes = Volumes(transport)
        #: Templates from the catalogue, and launches saved by the account.
        self.templates = Templates(transport)

    def __repr__(self) -> str:
        return f"Client(base_url={self._base_url!r})"

    def run(
        self,
        command: Sequence[str],
        *,
        gpus: Optional[Sequence[str]] = None,
        regions: Optional[Sequence[str]] = None,
        num_min: Optional[int] = None,
        max_price_per_hour: Union[Decimal, float, None] = None,
        image: Optional[str] = None,
        disk_gb: Optional[int] = None,
        interruptible: bool = False,
        name: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        secrets: Optional[Sequence[Mapping[str, str]]] = None,
        ports: Optional[Sequence[Mapping[str, Any]]] = None,
        registry_login: Optional[str] = None,
        user: Optional[str] = None,
        folders: Optional[Mapping[str, str]] = None,
        out: Sequence[str] = (),
        into: str = ".",
        keep: bool = False,
        linger: int = 600,
        on_output: Optional[OnOutput] = None,
        idempotency_key: Optional[str] = None,
    ) -> RunEnded:
        """Runs a command on the best matching machine that has a host agent, as ``gpu run`` does.

        Rents the machine, sends folders, passes on the output, fetches results and destroys the instance. Requires
        OpenSSH's ``ssh`` and ``ssh-keygen``, and ``tar``.

        Nothing is lost if the connection is: the command continues, and the client tries to reconnect for an hour. An
        exception before the command has started, and KeyboardInterrupt at any time, destroy the instance unless it is
        kept.

        :param command: The command as a list of arguments. It runs in ``/workspace`` and gets no input.
        :param gpus: Slugs of GPU models in order of preference. By default, the cheapest machine is chosen.
        :param num_min: Minimum number of GPUs in the machine.
        :param max_price_per_hour: Maximum price of the whole machine, in USD per hour.
        :param image: OCI image or template slug. The service's default is ``pytorch``.
        :param user: Container user, either ``root`` or another name or number. By default, the image's own user.
        :param folders: Maps each local folder to the folder under ``/workspace`` that receives its content, such as
            ``{".": "/workspace"}``.
        :param out: Paths under ``/workspace`` that are fetched at the end, regardless of the exit code.
        :param into: Local folder that receives them.
        :param keep: Whether to keep the instance at the end instead of destroying it.
        :param linger: Seconds without a client after which the instance is stopped.
        :param on_output: Called with ``stdout`` or ``stderr`` and the bytes written to it. By default, they are written
            to this process's own output.
        :param idempotency_key: Identifies this run, so that repeating the call never rents a second machine.
        :raises RunFailed: The run can't continue. If the exception has an ``instance_id``, pass it to :meth:`attach`.
        :raises DeployFailed: No matching machine is free, the balance is too low, or a secret is unknown.
        """
        terms = Terms(checked_out(out), keep)
        check_destinations(terms.out, into)
        sent = checked_folders(folders or {})
        launch = {
            "name": name,
            "env": None if env is None else dict(env),
            "secrets": None if secrets is None else [dict(each) for each in secrets],
            "ports": None if ports is None else [dict(each) for each in ports],
            "registryLogin": registry_login,
            "user": user,
        }
        wanted = {
            "gpus": None if gpus is None else list(gpus),
            "regions": None if regions is None else list(regions),
            "filter": {"hasAgent": True, **({} if num_min is None else {"numMin": num_min})},
            "maxPricePerHour": None if max_price_per_hour is None else float(max_price_per_hour),
            "template": image,
            "diskGb": disk_gb,
            "mode": "INTERRUPTIBLE" if interruptible else None,
            "idempotencyKey": idempotency_key or str(uuid.uuid4()),
        }
        run = Run.deploy(self._transport, deploy_input(command, terms, linger, launch, wanted), terms, on_output)
        return run.follow(sent, into)

    def attach(
        self, id: str, *, out: Sequence[str] = (), into: str = ".", on_output: Optional[OnOutput] = None
    ) -> RunEnded:
        """Follows a run in progress, or one that has ended, from its first byte of output. Ends it as :meth:`run` does.

        :param out: Paths under ``/workspace`` that are fetched to the same local path, replacing existing files. If a
            local path exists for one of the run's own results, that result goes to a folder named after the instance.
        :raises RunFailed: The instance isn't a run, is destroyed, or can't be reached.
        :raises NotFound: The account has no such instance.
        """
        named = checked_out(out)
        check_destinations(named, into)
        return Run.find(self._transport, id, named, on_output).follow(None, into)


class _Resource:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class Gpus(_Resource):
    def pricing(self) -> PricingSheet:
        """Returns the price sheet, with one entry per GPU model. Prices are in USD per GPU-hour. Needs no key."""
        return self._transport.request(PricingSheet, "GET", "/gpus/pricing", public=True)


class Offers(_Resource):
    def list(
        self,
        gpu: Optional[str] = None,
        region: Optional[str] = None,
        num_min: Optional[int] = None,
        price_max: Union[Decimal, float, None] = None,
        cuda_min: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> OfferList:
        """Returns the machines that can be deployed now, cheapest first. Needs no key.

        :param gpu: Slug or name of a GPU model, as in the price sheet.
        :param region: Region code.
        :param num_min: Minimum number of GPUs in the machine, from 1 to 8. The service's default is 1.
        :param price_max: Maximum on-demand price of the whole machine, in USD per hour.
        :param cuda_min: Minimum CUDA version that the driver must support, such as ``12.4``.
        :param limit: Maximum number of offers to return, from 1 to 100. The service's default is 25.
        :raises InvalidRequest: A value is out of bounds.
        """
        query = {
            "gpu": gpu,
            "region": region,
            "num_min": num_min,
            # Avoids an exponent and the noise of binary fractions.
            "price_max": None if price_max is None else f"{price_max:.9f}",
            "cuda_min": cuda_min,
            "limit": limit,
        }
        return self._transport.request(OfferList, "GET", "/offers", public=True, query=query)


class Models(_Resource):
    def memory(
        self,
        model: Optional[str] = None,
        config: Optional[str] = None,
        context_length: Optional[int] = None,
        concurrency: Optional[int] = None,
        parameters_in_billions: Optional[float] = None,
        weight_bits: Optional[int] = None,
    ) -> ModelMemory:
        """Returns the GPU memory that a language model needs in vLLM. Needs no key.

        :param model: Name such as ``Qwen/Qwen2.5-7B-Instruct``, or the model's URL.
        :param config: Text of the model's config.json, if the gateway reads no hub.
        :param context_length: Tokens per request. The service's default is 8192, or the model's maximum.
        :param concurrency: Number of concurrent requests of this length. The service's default is 4.
        :param parameters_in_billions: Number of parameters, if the formula doesn't cover the model's layers.
        :param weight_bits: Bits per parameter: 4, 8 or 16. By default as the config.json states.
        :raises NotFound: There is no such public model.
        :raises InvalidRequest: A value is out of bounds, or the formula doesn't cover the model.
        """
        given = {
            "model": model,
            "config": config,
            "context_length": context_length,
            "concurrency": concurrency,
            "parameters_in_billions": parameters_in_billions,
            "weight_bits": weight_bits,
        }
        body = _json({name: value for name, value in given.items() if value is not None})
        return self._transport.request(ModelMemory, "POST", "/models/memory", public=True, body=body)


class Proofs(_Resource):
    """Documents of the public log, which prove that the service hasn't rewritten any ledger."""

    def roots(self, *, after: Optional[int] = None) -> Dict[str, Any]:
        """Returns up to 1,000 signed roots, oldest first. Needs no key.

        :param after: Number of the root after which to begin.
        """
        return self._transport.document("/log/roots", public=True, query={"after": after})

    def consistency(self, first: int, second: int) -> Dict[str, Any]:
        """Returns the proof that the tree of size `second` extends the one of size `first`. Needs no key."""
        return self._transport.document("/log/consistency", public=True, query={"first": first, "second": second})

    def inclusion(self) -> Dict[str, Any]:
        """Returns the proof that the newest root covers the account's ledger."""
        return self._transport.document("/log/inclusion")


class BalanceResource(_Resource):
    def get(self) -> Balance:
        """Returns the remaining credit and this UTC month's spend in USD, exact to the second."""
        return self._transport.request(Balance, "GET", "/balance")


class Statements(_Resource):
    def signed(self, month: str) -> Dict[str, Any]:
        """Returns the signed statement of a UTC month such as ``2026-11``, which ``gpu verify`` checks.

        It is the document itself: write it to a file with ``json.dumps``.

        :raises InvalidRequest: The month is in the future or precedes the account, or it has more than 5,000 lines.
        """
        return self._transport.request(Dict[str, Any], "GET", f"/statements/{quote(month, safe='')}/signed")


class Instances(_Resource, Deploys):
    """The account's instances.

    Deploys, actions and destroys carry an ``Idempotency-Key``, so a retry never executes them twice. The key is
    `idempotency_key`, or a random one for each call. Pass your own (1 to 255 visible ASCII characters) to make a call
    repeatable across restarts of your program: within 24 hours, the same input returns the first response again.
    """

    def list(self, *, labels: Optional[str] = None) -> InstanceList:
        """Returns the running and stopped instances, newest first. Destroyed ones are not included.

        :param labels: Labels that the instances must have, such as ``team=vision,experiment``.
        """
        return self._transport.request(InstanceList, "GET", "/instances", query={"labels": labels})

    def get(self, id: str) -> Instance:
        """Returns an instance, even if it is destroyed.

        :raises NotFound: The account has no such instance.
        """
        return self._transport.request(Instance, "GET", _path(id))

    def metrics(
        self,
        id: str,
        *,
        from_: Optional[datetime] = None,
        to: Optional[datetime] = None,
        points: Optional[int] = None,
    ) -> InstanceMetrics:
        """Returns the instance's metrics, by default for the last hour.

        :param from_: The first second as a timezone-aware datetime, at most 90 days before `to`.
        :param to: The end of the period, also timezone-aware.
        :param points: Maximum number of points, from 1 to 1000. The service's default is 360.
        :raises NotFound: The account has no such instance.
        :raises InvalidRequest: The period or the number of points is out of bounds.
        """
        query = {"from": _instant(from_), "to": _instant(to), "points": points}
        return self._transport.request(InstanceMetrics, "GET", _path(id) + "/metrics/history", query=query)

    def timeline(
        self,
        id: str,
        *,
        first: Optional[int] = None,
        after: Optional[str] = None,
        last: Optional[int] = None,
        before: Optional[str] = None,
    ) -> Timeline:
        """Returns a page of the instance's events, newest first.

        :param first: Number of entries, from 1 to 100. The service's default is 25.
        :param after: A page's ``page_info.end_cursor``. Returns the next page, whose entries are older.
        :param last: Number of entries to return from the oldest end, or those preceding the cursor `before`.
        :param before: The cursor for `last`.
        :raises NotFound: The account has no such instance.
        :raises InvalidRequest: A number is out of bounds, or a cursor doesn't belong to this list.
        """
        query = {"first": first, "after": after, "last": last, "before": before}
        return self._transport.request(Timeline, "GET", _path(id) + "/timeline", query=query)

    def web_token(self, id: str, port: Optional[int] = None) -> WebToken:
        """Creates a token that gives programs access to a private web port for a day. It ends with the API key used here.

        :param port: Number of the web port. By default, the instance's first one.
        :raises NotFound: The account has no such instance.
        :raises ActionFailed: The instance has no such web port, or is destroyed.
        """
        return self._transport.request(
            WebToken, "POST", _path(id) + "/web-token", body=_json({} if port is None else {"port": port})
        )

    def links(self, id: str) -> InstanceLinks:
        """Returns links to the instance's services, with the tokens and passwords generated for them.

        :raises NotFound: The account has no such instance.
        :raises ActionFailed: The instance is destroyed.
        """
        return cast(InstanceLinks, self._transport.query(InstanceLinks, "instanceLinks", _LINKS, {"id": id}))

    def launch(self, id: str) -> InstanceLaunch:
        """Returns the instance's launch settings and what ends it automatically, for tools that compare desired states.

        :raises NotFound: The account has no such instance.
        """
        return self._transport.request(InstanceLaunch, "GET", _path(id) + "/launch")

    def ensure_destroyed(self, id: str, *, idempotency_key: Optional[str] = None) -> Destroyed:
        """Does the same as :meth:`destroy`, but also succeeds if the instance is already destroyed.

        :raises NotFound: The account has no such instance.
        :raises ActionFailed: The balance doesn't cover the cost of leaving a reserved term early.
        """
        try:
            return self.destroy(id, idempotency_key=idempotency_key)
        except ActionFailed:
            instance = self.get(id)
            if instance.status != "destroyed":
                raise
            return Destroyed(object="instance", id=instance.id, status="destroyed")

    def destroy(self, id: str, *, idempotency_key: Optional[str] = None) -> Destroyed:
        """Destroys an instance and erases its disk, which ends billing.

        :raises NotFound: The account has no such instance.
        :raises ActionFailed: The instance is already destroyed, or the balance doesn't cover the cost of leaving a
            reserved term early.
        """
        return self._transport.request(Destroyed, "DELETE", _path(id), idempotency_key=idempotency_key)

    def action(self, id: str, action: str, *, idempotency_key: Optional[str] = None) -> Instance:
        """Performs ``start``, ``stop`` or ``destroy``, and returns the instance in its new state.

        :raises NotFound: The account has no such instance.
        :raises ActionFailed: The instance's state, the balance or the machine doesn't allow the action.
        :raises BadAction: There is no such action.
        """
        return self._transport.request(
            Instance, "POST", _path(id) + "/actions", body=_json({"action": action}), idempotency_key=idempotency_key
        )

    def move(
        self,
        id: str,
        *,
        max_price_per_hour: Union[Decimal, float, None] = None,
        idempotency_key: Optional[str] = None,
    ) -> Instance:
        """Rents the best machine on another host and relaunches the workload of an instance with volumes there.

        :param max_price_per_hour: Maximum price of the whole machine, in USD per hour.
        :raises NotFound: The account has no such instance.
        :raises ActionFailed: The instance is running, has no volumes, or its volumes are still being saved.
        :raises DeployFailed: No matching machine is free, or the balance is too low.
        """
        fields = {"max_price_per_hour": None if max_price_per_hour is None else float(max_price_per_hour)}
        given = {name: value for name, value in fields.items() if value is not None}
        return self._transport.request(
            Instance, "POST", _path(id) + "/move", body=_json(given), idempotency_key=idempotency_key
        )

    def start(self, id: str, *, idempotency_key: Optional[str] = None) -> Instance:
        """Starts a stopped instance again, if its machine is free and the balance suffices. See :meth:`action`."""
        return self.action(id, "start", idempotency_key=idempotency_key)

    def stop(self, id: str, *, idempotency_key: Optional[str] = None) -> Instance:
        """Stops an instance and its GPU billing. The disk is billed until the instance is destroyed. See :meth:`action`."""
        return self.action(id, "stop", idempotency_key=idempotency_key)


class Volumes(_Resource):
    """The account's volumes. Changes carry an ``Idempotency-Key``, as with :class:`Instances`."""

    def list(self) -> VolumeList:
        """Returns up to 100 volumes, oldest first. Deleted ones are not included."""
        return self._transport.request(VolumeList, "GET", "/volumes")

    def create(self, name: str, size_gb: int, *, idempotency_key: Optional[str] = None) -> Volume:
        """Creates a volume, which is billed per second from its creation.

        :param name: Your name for the volume, with 1 to 60 characters. It doesn't have to be unique.
        :param size_gb: Size in GB, from 1 to 10,000.
        :raises ActionFailed: The balance is too low, a limit would be exceeded, or the account has 100 volumes.
        """
        body = {"name": name, "size_gb": size_gb}
        return self._write("POST", "/volumes", body, idempotency_key)

    def get(self, id: str) -> VolumeWithSnapshots:
        """Returns a volume with its snapshots, even if it is deleted.

        :raises NotFound: The account has no such volume.
        """
        return self._transport.request(VolumeWithSnapshots, "GET", _volume_path(id))

    def grow(self, id: str, size_gb: int, *, idempotency_key: Optional[str] = None) -> Volume:
        """Grows a volume. An instance that uses it sees the new size after its next start.

        :raises ActionFailed: The new size is smaller, the balance is too low, or a limit would be exceeded.
        """
        return self._write("POST", _volume_path(id) + "/grow", {"size_gb": size_gb}, idempotency_key)

    def release(self, id: str) -> VolumeRelease:
        """Releases a volume from an instance that isn't running, even if changes haven't been saved.

        :raises ActionFailed: The instance is running, or no instance holds the volume.
        """
        return self._transport.request(VolumeRelease, "POST", _volume_path(id) + "/release")

    def delete(self, id: str, *, idempotency_key: Optional[str] = None) -> Volume:
        """Deletes a volume with all its snapshots.

        :raises ActionFailed: An instance holds the volume, or it is already deleted.
        """
        return self._write("DELETE", _volume_path(id), None, idempotency_key)

    def _write(self, method: str, path: str, body: Optional[Mapping[str, Any]], key: Optional[str]) -> Volume:
        sent = None if body is None else json.dumps(body).encode()
        return self._transport.request(Volume, method, path, body=sent, idempotency_key=key)


def _volume_path(id: str) -> str:
    return "/volumes/" + quote(id, safe="")


class Templates(_Resource):
    """Templates from the catalogue, and launches saved by the account. Uses GraphQL, since REST has no such routes."""

    def list(self) -> Tuple[Template, ...]:
        """Returns the templates, which can be deployed by their slugs. Needs no key."""
        return cast(Tuple[Template, ...], self._transport.query(Tuple[Template, ...], "templates", _GALLERY, {}))

    def saved(self) -> Tuple[SavedTemplate, ...]:
        """Returns the account's saved launches, sorted by name."""
        document = "{ myTemplates { %s } }" % _SAVED
        return cast(
            Tuple[SavedTemplate, ...], self._transport.query(Tuple[SavedTemplate, ...], "myTemplates", document, {})
        )

    def save(
        self,
        under: str,
        *,
        description: Optional[str] = None,
        template: Optional[str] = None,
        disk_gb: Optional[int] = None,
        name: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        secrets: Optional[Sequence[Mapping[str, Optional[str]]]] = None,
        entrypoint: Optional[Sequence[str]] = None,
        command: Optional[Sequence[str]] = None,
        ports: Optional[Sequence[Mapping[str, Any]]] = None,
        tcp_ports: Optional[Sequence[int]] = None,
        registry_login: Optional[str] = None,
        user: Optional[str] = None,
        restart: Optional[str] = None,
        on_exit: Optional[str] = None,
    ) -> SavedTemplate:
        """Saves a launch under a name, replacing any with that name. Other parameters are as in :meth:`Instances.deploy`.

        :param under: The name, with 1 to 63 characters from ``a-z0-9-``. It can't begin or end with a hyphen.
        :param description: What the launch is for.
        :raises InvalidRequest: A value is out of bounds.
        :raises ActionFailed: The account already has 100 saved launches.
        """
        launch = {
            "name": name,
            "env": None if env is None else dict(env),
            "secrets": None if secrets is None else [dict(each) for each in secrets],
            "entrypoint": None if entrypoint is None else [*entrypoint],
            "command": None if command is None else [*command],
            "ports": None if ports is None else [dict(each) for each in ports],
            "tcpPorts": None if tcp_ports is None else [*tcp_ports],
            "registryLogin": registry_login,
            "user": user,
            "restart": None if restart is None else restart.upper(),
            "onExit": None if on_exit is None else on_exit.upper(),
        }
        given = {"name": under, "description": description, "template": template, "diskGb": disk_gb, "launch": launch}
        return cast(SavedTemplate, self._transport.query(SavedTemplate, "saveTemplate", _SAVE, {"input": given}))

    def delete(self, name: str) -> SavedTemplate:
        """Deletes a saved launch. Instances deployed from it aren't affected.

        :raises NotFound: Nothing is saved under this name.
        """
        return cast(SavedTemplate, self._transport.query(SavedTemplate, "deleteTemplate", _DELETE, {"name": name}))


def _path(id: str) -> str:
    return f"/instances/{quote(id, safe='')}"


def _instant(at: Optional[datetime]) -> Optional[str]:
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError("a time must have a time zone")
    return at.isoformat()


def _json(fields: object) -> bytes:
    return json.dumps(fields).encode("utf-8")
