"""The client: the routes of the service, one method each."""

import json
import ssl
import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any, Mapping, Optional, Sequence, Tuple, Union, cast
from urllib.parse import quote

from .landing import check_destinations
from .models import (
    Balance,
    Destroyed,
    Instance,
    InstanceLaunch,
    InstanceLinks,
    InstanceList,
    InstanceMetrics,
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
        self._transport = transport
        #: The public price sheet.
        self.gpus = Gpus(transport)
        #: Machines that can be deployed now.
        self.offers = Offers(transport)
        #: The account's credit.
        self.balance = BalanceResource(transport)
        #: The account's rentals.
        self.instances = Instances(transport)
        #: Disks of the account that survive machines.
        self.volumes = Volumes(transport)
        #: What can be deployed by name, and what the account saved.
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
        """Runs a command on the best machine that fits and has a host agent, as ``gpu run`` does: rents it, sends folders, passes
        the output on, brings results back, and destroys the instance. Needs OpenSSH's ``ssh`` and ``ssh-keygen``, and ``tar``.

        A lost connection loses nothing: it is taken up again for an hour. An exception before the command has begun, and
        KeyboardInterrupt at any time, destroy the instance unless it is kept.

        :param command: word by word; it runs in ``/workspace``, without input.
        :param gpus: slugs of models, the most wanted first; by default the cheapest.
        :param num_min: least GPUs of the machine.
        :param max_price_per_hour: most USD per hour for the whole machine.
        :param image: OCI image or slug of a template; the service's default is ``pytorch``.
        :param user: user of the container: ``root``, or a name or number; by default the image's own.
        :param folders: what is in each folder here, to which folder below ``/workspace``: ``{".": "/workspace"}``.
        :param out: paths below ``/workspace`` that are brought back, whatever the exit code.
        :param into: the folder here that they are brought to.
        :param keep: the instance is not destroyed at the end.
        :param linger: seconds without a client after which the instance is stopped.
        :param on_output: called with ``stdout`` or ``stderr`` and bytes; by default they go to this process' own.
        :param idempotency_key: names this run, so that it is rented once however often it is asked for.
        :raises RunFailed: it can't go on; with an ``instance_id`` :meth:`attach` finds it.
        :raises DeployFailed: nothing that fits is free, balance too low, secret unknown.
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
        """Follows a run that goes on or has ended, from its first byte, and ends it as :meth:`run` does.

        :param out: paths below ``/workspace`` that are brought back to the same path, over what exists there. What the run itself
            brings back comes to a folder named after the instance where its path exists here.
        :raises RunFailed: it is no run, is destroyed, or can't be reached.
        :raises NotFound: the account has no such instance.
        """
        named = checked_out(out)
        check_destinations(named, into)
        return Run.find(self._transport, id, named, on_output).follow(None, into)


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
        cuda_min: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> OfferList:
        """Machines that can be deployed now, cheapest first. Needs no key.

        :param gpu: slug or name of a model, as in the price sheet.
        :param region: region code.
        :param num_min: least GPUs in the machine, 1 to 8; the service's default is 1.
        :param price_max: most USD per hour for the whole machine, on demand.
        :param cuda_min: CUDA version that the driver runs at least, such as ``12.4``.
        :param limit: most offers returned, 1 to 100; the service's default is 25.
        :raises InvalidRequest: a value is out of its bounds.
        """
        query = {
            "gpu": gpu,
            "region": region,
            "num_min": num_min,
            # Without the noise of binary fractions, and without an exponent.
            "price_max": None if price_max is None else f"{price_max:.9f}",
            "cuda_min": cuda_min,
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
    restarts of your program, within 24 hours: with the same input it returns the first response again.
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
        stop_at: Optional[str] = None,
        destroy_at: Optional[str] = None,
        spend_limit: Optional[float] = None,
        stop_when_idle: Optional[int] = None,
        volumes: Optional[Sequence[Mapping[str, str]]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Instance:
        """Rents a machine; its hourly rate is locked for the life of the instance.

        :param machine_id: from an offer.
        :param template: slug of a template or an OCI image reference; the service's default is ``pytorch``.
        :param disk_gb: GB, at most the offer's ``disk_gb``; the service's default is 50.
        :param type: ``od``, ``interruptible`` or ``res``; the service's default is ``od``.
        :param name: what you call the instance.
        :param env: variables by name.
        :param secrets: ``{"secret": name, "variable": name}`` or ``{"secret": name, "file": name}`` each.
        :param entrypoint: instead of the image's entrypoint.
        :param command: instead of the command of the template or image.
        :param ports: ``{"port": number, "name": text}`` each; the name may be left out.
        :param tcp_ports: ports that anybody may reach by TCP.
        :param registry_login: name of the registry login that the image is pulled with.
        :param user: ``root``, or a name or number as for Docker's ``--user``; by default the image's own.
        :param restart: ``always``, ``on_failure`` or ``never``; the service's default is ``always``.
        :param on_exit: ``keep``, ``stop`` or ``destroy``; the service's default is ``keep``.
        :param stop_at: when it stops by itself: from now, such as ``8h``, or an instant.
        :param destroy_at: when it is destroyed by itself, in the same way.
        :param spend_limit: USD that it may cost in all; it stops when that is reached.
        :param stop_when_idle: minutes, 5 to 1440, without a busy GPU and without connections after which it stops.
        :param volumes: ``{"id": volume, "path": absolute path}`` each; at most 8.
        :raises DeployFailed: balance too low, machine taken or unknown, disk too large, secret unknown.
        :raises MissingMachine: `machine_id` is empty.
        :raises InvalidRequest: a value is out of its bounds.
        :raises IdempotencyMismatch: `idempotency_key` was used for something else.
        """
        fields = {
            "machine_id": machine_id,
            "template": template,
            "disk_gb": disk_gb,
            "type": type,
            "name": name,
            "env": None if env is None else dict(env),
            "secrets": None if secrets is None else [dict(each) for each in secrets],
            "entrypoint": None if entrypoint is None else list(entrypoint),
            "command": None if command is None else list(command),
            "ports": None if ports is None else [dict(each) for each in ports],
            "tcp_ports": None if tcp_ports is None else list(tcp_ports),
            "registry_login": registry_login,
            "user": user,
            "restart": restart,
            "on_exit": on_exit,
            "stop_at": stop_at,
            "destroy_at": destroy_at,
            "spend_limit": spend_limit,
            "stop_when_idle": stop_when_idle,
            "volumes": None if volumes is None else [dict(each) for each in volumes],
        }
        given = {name: value for name, value in fields.items() if value is not None}
        return self._transport.request(
            Instance, "POST", "/instances", body=_json(given), idempotency_key=idempotency_key
        )

    def get(self, id: str) -> Instance:
        """One instance, also a destroyed one.

        :raises NotFound: the account has no such instance.
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
        """What it did, by default within the last hour: in `points` points (1 to 1000, default 360) at most.

        :param from_: the first second, with its time zone; 90 days before `to` at most
        :raises NotFound: the account has no such instance.
        :raises InvalidRequest: a range or a number of points out of bounds.
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
        """What happened to it, newest first: the `first` entries (1 to 100, default 25) after a cursor.

        :param after: the ``page_info.end_cursor`` of a page: the next one, of older entries
        :param last: from the oldest end, before the cursor `before` where there is one
        :raises NotFound: the account has no such instance.
        :raises InvalidRequest: a number out of bounds, or a cursor that is none of this list.
        """
        query = {"first": first, "after": after, "last": last, "before": before}
        return self._transport.request(Timeline, "GET", _path(id) + "/timeline", query=query)

    def web_token(self, id: str, port: Optional[int] = None) -> WebToken:
        """Creates a token that admits programs to a private web port for a day; it ends with the API key that created it.

        :param port: port of a web port of the instance; by default the first.
        :raises NotFound: the account has no such instance.
        :raises ActionFailed: the instance has no such web port, or is destroyed.
        """
        return self._transport.request(
            WebToken, "POST", _path(id) + "/web-token", body=_json({} if port is None else {"port": port})
        )

    def links(self, id: str) -> InstanceLinks:
        """How what runs in it is opened, with the tokens and passwords that were made for it.

        :raises NotFound: the account has no such instance.
        :raises ActionFailed: it is destroyed.
        """
        return cast(InstanceLinks, self._transport.query(InstanceLinks, "instanceLinks", _LINKS, {"id": id}))

    def launch(self, id: str) -> InstanceLaunch:
        """What it was launched with, and what ends it: for tools that compare that with what is wanted.

        :raises NotFound: the account has no such instance.
        """
        return self._transport.request(InstanceLaunch, "GET", _path(id) + "/launch")

    def ensure_destroyed(self, id: str, *, idempotency_key: Optional[str] = None) -> Destroyed:
        """As :meth:`destroy`, and succeeds too if it is destroyed already.

        :raises NotFound: the account has no such instance.
        :raises ActionFailed: the balance can't pay for leaving a reserved term early.
        """
        try:
            return self.destroy(id, idempotency_key=idempotency_key)
        except ActionFailed:
            instance = self.get(id)
            if instance.status != "destroyed":
                raise
            return Destroyed(object="instance", id=instance.id, status="destroyed")

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

    def move(
        self,
        id: str,
        *,
        max_price_per_hour: Union[Decimal, float, None] = None,
        idempotency_key: Optional[str] = None,
    ) -> Instance:
        """Goes on elsewhere: rents the best machine on another host for what an instance with volumes ran.

        :param max_price_per_hour: most USD per hour for the whole machine.
        :raises NotFound: the account has no such instance.
        :raises ActionFailed: it runs, it has no volume, or its volumes are still being saved.
        :raises DeployFailed: nothing that fits is free, or the balance is too small.
        """
        fields = {"max_price_per_hour": None if max_price_per_hour is None else float(max_price_per_hour)}
        given = {name: value for name, value in fields.items() if value is not None}
        return self._transport.request(
            Instance, "POST", _path(id) + "/move", body=_json(given), idempotency_key=idempotency_key
        )

    def start(self, id: str, *, idempotency_key: Optional[str] = None) -> Instance:
        """Takes the stopped instance's machine back, if it is free and the balance allows; see :meth:`action`."""
        return self.action(id, "start", idempotency_key=idempotency_key)

    def stop(self, id: str, *, idempotency_key: Optional[str] = None) -> Instance:
        """Ends GPU billing this second; the disk is billed until the instance is destroyed. See :meth:`action`."""
        return self.action(id, "stop", idempotency_key=idempotency_key)


class Volumes(_Resource):
    """Changes carry an ``Idempotency-Key`` as those of :class:`Instances` do."""

    def list(self) -> VolumeList:
        """Those that are not deleted, oldest first; at most 100."""
        return self._transport.request(VolumeList, "GET", "/volumes")

    def create(self, name: str, size_gb: int, *, idempotency_key: Optional[str] = None) -> Volume:
        """Billed by the second from then on.

        :param name: what you call it, 1 to 60 characters; need not be unique.
        :param size_gb: GB, 1 to 10,000.
        :raises ActionFailed: balance too low, a limit leaves no room, or 100 volumes are there.
        """
        body = {"name": name, "size_gb": size_gb}
        return self._write("POST", "/volumes", body, idempotency_key)

    def get(self, id: str) -> VolumeWithSnapshots:
        """One volume, deleted or not, with its snapshots.

        :raises NotFound: the account has no such volume.
        """
        return self._transport.request(VolumeWithSnapshots, "GET", _volume_path(id))

    def grow(self, id: str, size_gb: int, *, idempotency_key: Optional[str] = None) -> Volume:
        """Makes it larger; an instance that has it sees that from its next start on.

        :raises ActionFailed: smaller than it is, balance too low, or a limit leaves no room.
        """
        return self._write("POST", _volume_path(id) + "/grow", {"size_gb": size_gb}, idempotency_key)

    def release(self, id: str) -> VolumeRelease:
        """Takes it from an instance that does not run, whatever that has not saved.

        :raises ActionFailed: the instance runs, or no instance has it.
        """
        return self._transport.request(VolumeRelease, "POST", _volume_path(id) + "/release")

    def delete(self, id: str, *, idempotency_key: Optional[str] = None) -> Volume:
        """With all its snapshots.

        :raises ActionFailed: an instance has it, or it is deleted.
        """
        return self._write("DELETE", _volume_path(id), None, idempotency_key)

    def _write(self, method: str, path: str, body: Optional[Mapping[str, Any]], key: Optional[str]) -> Volume:
        sent = None if body is None else json.dumps(body).encode()
        return self._transport.request(Volume, method, path, body=sent, idempotency_key=key)


def _volume_path(id: str) -> str:
    return "/volumes/" + quote(id, safe="")


class Templates(_Resource):
    """Templates of the catalogue, and launches that the account keeps under names; by GraphQL, since REST has no routes for them."""

    def list(self) -> Tuple[Template, ...]:
        """What can be deployed by its slug. Needs no key."""
        return cast(Tuple[Template, ...], self._transport.query(Tuple[Template, ...], "templates", _GALLERY, {}))

    def saved(self) -> Tuple[SavedTemplate, ...]:
        """What the account saved, by name."""
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
        """Keeps a launch under a name, instead of the one that was there; the rest is as in :meth:`Instances.deploy`.

        :param under: 1 to 63 of ``a-z0-9-``, no hyphen at an end.
        :param description: what it is for.
        :raises InvalidRequest: a value is out of its bounds.
        :raises ActionFailed: the account has saved 100.
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
        """Deletes what was saved under a name; what was deployed from it stays.

        :raises NotFound: nothing is saved under it.
        """
        return cast(SavedTemplate, self._transport.query(SavedTemplate, "deleteTemplate", _DELETE, {"name": name}))


def _path(id: str) -> str:
    return f"/instances/{quote(id, safe='')}"


def _instant(at: Optional[datetime]) -> Optional[str]:
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError("a time needs its time zone")
    return at.isoformat()


def _json(fields: object) -> bytes:
    return json.dumps(fields).encode("utf-8")
