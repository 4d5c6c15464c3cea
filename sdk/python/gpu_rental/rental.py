"""The deploy of an instance, and its terms. Made by ``npm run schema``; do not edit."""

import json
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from .models import AttachedVolume, Instance, Launch
from .transport import Transport


@dataclass(frozen=True)
class InstanceLaunch:
    """An instance's launch settings, and what ends it automatically."""

    object: str
    #: ``i-`` and 8 hex characters.
    id: str
    #: Name given by its launch; by default its id.
    name: str
    #: Template slug or OCI image reference.
    template: str
    #: Disk size in GB.
    disk_gb: int
    #: Pricing mode.
    type: str
    #: The second in which it stops automatically. None if none is set, or after it has passed.
    stop_at: Optional[datetime]
    #: The second in which it is destroyed automatically; None if none is set.
    destroy_at: Optional[datetime]
    #: Maximum total cost; None for no limit.
    spend_limit: Optional[Decimal]
    #: Minutes without a busy GPU and without connections after which it stops; None to keep running.
    stop_when_idle: Optional[int]
    #: Labels by key; an empty object if there are none.
    labels: Dict[str, str]
    #: Volumes of the instance, by path.
    volumes: Tuple[AttachedVolume, ...]
    #: Launch settings given by the renter, in addition to template and disk; None if none were given.
    launch: Optional[Launch]


class Deploys:
    _transport: Transport

    def deploy(
        self,
        machine_id: str,
        template: Optional[str] = None,
        disk_gb: Optional[int] = None,
        type: Optional[str] = None,
        *,
        name: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        secrets: Optional[Sequence[Mapping[str, Any]]] = None,
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
        labels: Optional[Mapping[str, str]] = None,
        volumes: Optional[Sequence[Mapping[str, Any]]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Instance:
        """Rents a machine. Its hourly rate is locked for the life of the instance.

        :param machine_id: Id of the machine to rent, from the offers.
        :param template: A template slug or an OCI image reference. The machine's host agent pulls the image and
            runs it in a container. On a machine without an agent, it is only recorded. The service's default is
            ``pytorch``.
        :param disk_gb: Disk size in GB, from 1 to the machine's free disk (the offer's disk). The service's default
            is ``50``.
        :param type: Pricing mode of the instance. One of ``od``, ``interruptible``, ``res``, ``spot``. The
            service's default is ``od``.
        :param name: Your name for the instance; doesn't have to be unique. By default, the instance id.
        :param env: Environment variables of the container, by name. They override the template's variables.
            Variables that the service sets override them.
        :param secrets: Secrets of the account to pass to the container, each as a variable or as a file below
            /run/secrets that only root can read. Each has ``secret``, ``variable``, ``file``.
        :param entrypoint: Replaces the image's entrypoint. The image's own command is then ignored.
        :param command: Replaces the image's command, i.e. the arguments of its entrypoint.
        :param ports: Ports on which programs in the container serve HTTP, in addition to the template's. Each has
            ``port``, ``name``.
        :param tcp_ports: Ports that anyone can reach by TCP. Each gets a port of the service, which the instance
            keeps until it is destroyed.
        :param registry_login: Name of the registry login, a secret of the account, with which the image is pulled.
        :param user: User of the command, of commands by SSH and of terminals: root, or a name or number as for
            Docker's ``--user``. By default the image's own. Names are read from the image's /etc/passwd and /etc/group.
            Capabilities and limits don't depend on the user.
        :param restart: Whether to start the command again when it ends. By default ALWAYS. One of ``always``,
            ``on_failure``, ``never``.
        :param on_exit: Action when the command has ended and isn't restarted. By default KEEP. One of ``keep``,
            ``stop``, ``destroy``.
        :param stop_at: When to stop the instance automatically. Its disk is kept. Its GPUs are billed until that
            second. Format: a time from now such as 90m, 8h or 2d12h, or an instant such as 2026-11-23T18:00:00Z.
        :param destroy_at: When to destroy the instance, with its disk, automatically. It is billed until that
            second. Format: a time from now such as 90m, 8h or 2d12h, or an instant such as 2026-11-23T18:00:00Z.
        :param spend_limit: Maximum total cost of the instance in USD: GPUs, disk, the minimum after preempting
            another instance, and an early exit. The instance stops at the second in which it reaches the limit. Its
            disk is kept and billed.
        :param stop_when_idle: Minutes of idleness after which the instance stops automatically: no GPU was more
            than 5% busy and no client was connected. Its disk is kept and billed. Requires a machine whose host agent
            reports GPU load. This is a convenience that trusts the agent; use a spend limit to cap costs.
        :param labels: Labels of the instance, by key, for finding it in lists. They have no effect on the container
            and can be changed later.
        :param volumes: Volumes of the account to mount in the container, each at its path. A volume can be in one
            instance at a time. A volume at /workspace replaces that folder of the instance's own disk. Each has ``id``,
            ``path``.
        :raises DeployFailed: The balance is too low, the machine is taken or unknown, the disk is too large, or a
            secret is unknown.
        :raises MissingMachine: `machine_id` is empty.
        :raises InvalidRequest: A value is out of bounds.
        :raises IdempotencyMismatch: `idempotency_key` was used for something else.
        """
        fields = {
            "machine_id": machine_id,
            "template": template,
            "disk_gb": disk_gb,
            "type": type,
            "name": name,
            "env": env,
            "secrets": secrets,
            "entrypoint": entrypoint,
            "command": command,
            "ports": ports,
            "tcp_ports": tcp_ports,
            "registry_login": registry_login,
            "user": user,
            "restart": restart,
            "on_exit": on_exit,
            "stop_at": stop_at,
            "destroy_at": destroy_at,
            "spend_limit": spend_limit,
            "stop_when_idle": stop_when_idle,
            "labels": labels,
            "volumes": volumes,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        body = json.dumps(given, default=_plain).encode()
        return self._transport.request(Instance, "POST", "/instances", body=body, idempotency_key=idempotency_key)


def _plain(collection: Any) -> Any:
    return dict(collection) if isinstance(collection, Mapping) else list(collection)
