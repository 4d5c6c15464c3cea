"""The objects of the service, with the field names of its REST interface.

Money is :class:`decimal.Decimal` in USD, exact to 6 decimals. Timestamps are aware datetimes in UTC.
"""

import dataclasses
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any, Callable, Dict, Generic, Iterator, Mapping, Optional, Tuple, Type, TypeVar, Union, cast
from typing import get_args, get_origin, get_type_hints

T = TypeVar("T")


class _Entries(Generic[T]):
    """An envelope that can be iterated, indexed and measured as its ``data``."""

    data: Tuple[T, ...]

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> T:
        return self.data[index]


@dataclass(frozen=True)
class GpuPrices:
    """USD per GPU-hour in each pricing mode, billed per second."""

    on_demand: Decimal
    interruptible: Decimal
    reserved: Decimal


@dataclass(frozen=True)
class GpuPricing:
    """One GPU model of the price sheet."""

    slug: str
    name: str
    vram_gb: int
    #: flagship, datacenter, consumer-flagship or consumer
    tier: str
    price_per_gpu_hour: GpuPrices
    #: USD per GPU-hour at the snapshot date; None when the market is too thin for a median
    market_median: Optional[Decimal]
    #: GPUs in the model's offers right now
    available_gpus: int
    url: str


@dataclass(frozen=True)
class PricingSheet(_Entries[GpuPricing]):
    object: str
    currency: str
    billing: str
    price_rule: str
    #: the date that the prices refer to
    market_snapshot: date
    count: int
    data: Tuple[GpuPricing, ...]


@dataclass(frozen=True)
class NetMbps:
    """Bandwidth to (down) and from (up) the machine, in Mbit/s."""

    down: int
    up: int


@dataclass(frozen=True)
class OfferPrices:
    """USD per hour for the whole machine."""

    on_demand: Decimal
    interruptible: Decimal


@dataclass(frozen=True)
class Offer:
    """A machine that can be deployed now; it is rented whole."""

    #: what to give to deploy
    machine_id: str
    gpu: str
    num_gpus: int
    region: str
    cpu: str
    vcpus: int
    ram_gb: int
    #: what is left for a new instance
    disk_gb: int
    net_mbps: NetMbps
    #: ports that can be opened to the internet
    ports: int
    #: PCIe generation
    pcie: int
    nvlink: bool
    #: highest CUDA version of the driver; empty for AMD
    cuda_max: str
    #: share of time the machine was up, 0 to 1
    reliability: float
    price_per_hour: OfferPrices


@dataclass(frozen=True)
class OfferList(_Entries[Offer]):
    object: str
    count: int
    data: Tuple[Offer, ...]


@dataclass(frozen=True)
class Instance:
    """One rental."""

    id: str
    #: running, stopped or destroyed
    status: str
    gpu: str
    num_gpus: int
    region: str
    template: str
    disk_gb: int
    #: od, spot (which deploy calls interruptible) or res
    type: str
    #: USD per hour of the whole machine, locked for life; the disk is not in it
    price_hr: Decimal
    hostname: str
    created_at: datetime
    #: None when not stopped
    stopped_at: Optional[datetime]
    object: str = "instance"


@dataclass(frozen=True)
class InstanceList(_Entries[Instance]):
    object: str
    data: Tuple[Instance, ...]


@dataclass(frozen=True)
class Volume:
    """A disk of the account's own, which survives the machines that its instances run on."""

    object: str
    #: ``v-`` and 8 hex characters
    id: str
    name: str
    size_gb: int
    #: USD per hour of its size
    price_hr: Decimal
    created_at: datetime
    deleted_at: Optional[datetime]
    #: the instance that has it
    in_use_by: Optional[str]
    #: what its snapshots take, compressed and each part once
    stored_bytes: int
    last_snapshot_at: Optional[datetime]


@dataclass(frozen=True)
class VolumeList(_Entries[Volume]):
    object: str
    data: Tuple[Volume, ...]


@dataclass(frozen=True)
class VolumeRelease:
    """A volume that was taken from an instance."""

    object: str
    volume_id: str
    #: the instance that had it
    instance_id: str
    #: what the instance wrote from then on is lost; None where it never had access
    lost_since: Optional[datetime]


@dataclass(frozen=True)
class VolumeSnapshot:
    """What a volume held at one moment."""

    #: restic's own
    id: str
    at: datetime
    #: of all its files; None where nobody said
    size_bytes: Optional[int]
    #: the instance that it is of; None for the owner's own
    instance_id: Optional[str]


@dataclass(frozen=True)
class VolumeWithSnapshots(Volume):
    #: the newest 100, newest first
    snapshots: Tuple[VolumeSnapshot, ...]


@dataclass(frozen=True)
class GpuMetrics:
    """What one GPU of an instance did in the seconds of a point; None: not known."""

    #: its number among the instance's GPUs, from 0
    place: int
    #: share of the time in which a kernel ran, and the greatest such share of a sample
    busy_percent: Optional[Decimal]
    busy_max_percent: Optional[Decimal]
    memory_used_mb: Optional[int]
    memory_total_mb: Optional[int]
    power_watts: Optional[Decimal]
    celsius: Optional[Decimal]
    sm_mhz: Optional[Decimal]
    #: memory errors that could not be corrected, since the host loaded its driver
    faults: Optional[int]
    #: that compute on it
    processes: Optional[int]


@dataclass(frozen=True)
class MetricPoint:
    """What an instance did in the seconds that begin at `at`: means. None: not known."""

    at: datetime
    #: share of the time of its vCPUs
    cpu_percent: Optional[Decimal]
    memory_used_bytes: Optional[Decimal]
    disk_used_bytes: Optional[Decimal]
    network_in_bytes_per_second: Optional[Decimal]
    network_out_bytes_per_second: Optional[Decimal]
    processes: Optional[int]
    #: by place
    gpus: Tuple[GpuMetrics, ...]


@dataclass(frozen=True)
class InstanceMetrics:
    object: str
    #: of each point
    step_seconds: int
    #: oldest first; none where nothing was measured
    points: Tuple[MetricPoint, ...]


@dataclass(frozen=True)
class Activity:
    """A change that a key of the account asked for."""

    #: of several refusals the last
    at: datetime
    #: the mutation in GraphQL that it was or went through; start, stop or destroy for an action
    operation: str
    #: ids and names of what it was about
    targets: Tuple[str, ...]
    key_id: str
    #: by a console session that was made from the key
    by_console: bool
    #: where it came from
    address: str
    #: why it was refused; None when it was done
    code: Optional[str]
    #: refusals of one key, operation and code within a clock hour are one entry
    times: int


@dataclass(frozen=True)
class TimelineEntry:
    """One thing that happened to an instance. What its kind says nothing of is None."""

    #: marks this entry: for ``after`` and ``before``
    cursor: str
    at: datetime
    #: such as rented, running, stopped, unreachable, changed, destroyed
    kind: str
    #: of a start: USD per hour for GPUs and disk from then on
    rate_per_hour: Optional[Decimal]
    #: of an end: what its GPUs cost since the start; of what was given back: that. USD
    amount: Optional[Decimal]
    #: of an end: how long it ran; of what was given back: for how long
    seconds: Optional[int]
    #: of an end: such as user, deadline, idle
    stop_reason: Optional[str]
    #: of a start that failed: whether the machine was at fault
    host_fault: Optional[bool]
    volume_id: Optional[str]
    volume_name: Optional[str]
    #: of a volume that was stored: all its files
    size_bytes: Optional[int]
    #: who asked for it; None where no key did, and after 90 days
    asked: Optional[Activity]


@dataclass(frozen=True)
class PageInfo:
    """The position of a page in its list."""

    has_next_page: bool
    has_previous_page: bool
    start_cursor: Optional[str]
    end_cursor: Optional[str]


@dataclass(frozen=True)
class Timeline(_Entries[TimelineEntry]):
    """What happened to an instance, newest first: a page of it."""

    object: str
    page_info: PageInfo
    data: Tuple[TimelineEntry, ...]


@dataclass(frozen=True)
class Destroyed:
    """What is left of an instance that DELETE destroyed."""

    object: str
    id: str
    status: str


@dataclass(frozen=True)
class Balance:
    object: str
    currency: str
    #: credit left, USD; below zero only by the disks of stopped instances
    balance: Decimal
    #: USD since the first of the UTC month
    month_spend: Decimal


@dataclass(frozen=True)
class Port:
    """A port that a program in the container serves HTTP on."""

    port: int
    #: for people, such as JupyterLab
    name: Optional[str]


@dataclass(frozen=True)
class TemplateVariable:
    name: str
    description: str
    #: its value where a launch gives none
    default: Optional[str]
    required: bool
    #: its value is better a secret of the account
    secret: bool
    #: whether the service generates a value if the launch gives none; ``client.instances.links`` shows it
    is_generated: bool

    @property
    def made(self) -> bool:
        """Deprecated: renamed to ``is_generated``."""
        return self.is_generated


@dataclass(frozen=True)
class Template:
    """A template of the catalogue: what deploy takes by its slug."""

    slug: str
    title: str
    category: str
    description: str
    #: OCI image
    image: str
    #: of all GPUs together; None where it does not matter
    vram_gb: Optional[int]
    #: the first is the web port
    ports: Tuple[Port, ...]
    variables: Tuple[TemplateVariable, ...]


@dataclass(frozen=True)
class LaunchSecret:
    """A secret of the account that the container gets: as a variable, or as a file below /run/secrets."""

    secret: str
    variable: Optional[str]
    file: Optional[str]


@dataclass(frozen=True)
class Launch:
    """What runs, beside template and disk."""

    name: Optional[str]
    env: Dict[str, str]
    secrets: Tuple[LaunchSecret, ...]
    entrypoint: Optional[Tuple[str, ...]]
    command: Optional[Tuple[str, ...]]
    ports: Tuple[Port, ...]
    tcp_ports: Tuple[int, ...]
    registry_login: Optional[str]
    #: user of the container; None for the image's own
    user: Optional[str]
    #: ALWAYS, ON_FAILURE or NEVER
    restart: str
    #: KEEP, STOP or DESTROY
    on_exit: str


@dataclass(frozen=True)
class AttachedVolume:
    """A volume of an instance."""

    id: str
    #: where the container has it
    path: str


@dataclass(frozen=True)
class InstanceLaunch:
    """What an instance was launched with, and what ends it."""

    object: str
    id: str
    name: str
    template: str
    disk_gb: int
    #: od, spot or res
    type: str
    stop_at: Optional[datetime]
    destroy_at: Optional[datetime]
    #: USD
    spend_limit: Optional[Decimal]
    #: minutes
    stop_when_idle: Optional[int]
    volumes: Tuple[AttachedVolume, ...]
    #: None where the template said it all; restart and on_exit are in small letters
    launch: Optional[Launch]


@dataclass(frozen=True)
class SavedTemplate:
    """A launch that the account keeps under a name."""

    name: str
    description: str
    #: slug of a template, or OCI image
    template: str
    disk_gb: int
    launch: Launch
    #: opens the console's dialog filled in with it, for anybody who has the link; without secrets
    link: str
    created_at: datetime

    def arguments(self) -> Dict[str, Any]:
        """What launches it again: ``client.instances.deploy(machine_id, **saved.arguments())``."""
        said = cast(Dict[str, Any], dataclasses.asdict(self.launch))
        said.update(restart=said["restart"].lower(), on_exit=said["on_exit"].lower())
        given = {name: value for name, value in said.items() if value not in (None, (), {})}
        return {"template": self.template, "disk_gb": self.disk_gb, **given}


@dataclass(frozen=True)
class InstanceLink:
    """A named port of an instance, and where it is opened."""

    name: str
    port: int
    #: with the token that its page takes from the address
    path: str
    #: a private port needs the cookie of a web link
    url: str
    #: whether anybody may visit the port
    open: bool


@dataclass(frozen=True)
class MadeToken:
    """A token or password that was made for an instance at its deploy."""

    variable: str
    value: str
    #: whether a link has it already
    in_link: bool

    def __repr__(self) -> str:
        return f"MadeToken(variable={self.variable!r}, in_link={self.in_link!r})"


@dataclass(frozen=True)
class InstanceLinks:
    """How what runs in an instance is opened. Whoever reads this may open it."""

    links: Tuple[InstanceLink, ...]
    tokens: Tuple[MadeToken, ...]


@dataclass(frozen=True)
class WebToken:
    """Admits programs to a private web port."""

    object: str
    #: shown only once; send it in `header` with each request
    token: str
    header: str
    #: address of the port
    url: str
    expires_at: datetime


class Misfit(ValueError):
    """A value that is not what the contract promises; the message says where."""


def decode(kind: Any, value: Any, where: str) -> Any:
    """The JSON value as `kind`: a dataclass of this module or the type of a field. Numbers with a fraction come as
    Decimal. Fields that `kind` does not know are ignored; optional ones may be missing. Raises Misfit."""
    if dataclasses.is_dataclass(kind):
        return _decode_object(kind, value, where)
    if get_origin(kind) is Union:
        return None if value is None else decode(get_args(kind)[0], value, where)
    if get_origin(kind) is dict:
        if not isinstance(value, Mapping):
            raise Misfit(f"{where} is not an object")
        return {name: decode(get_args(kind)[1], one, f"{where}.{name}") for name, one in value.items()}
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise Misfit(f"{where} is not a list")
        return tuple(decode(get_args(kind)[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    accepted, read = _READERS[kind]
    # Not isinstance: True is an int.
    if type(value) not in accepted:
        raise Misfit(f"{where} is not of the type {kind.__name__}")
    try:
        return read(value)
    except ValueError as error:
        raise Misfit(f"{where} is not of the type {kind.__name__}") from error


def _decode_object(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise Misfit(f"{where} is not an object")
    arguments = {}
    for name, (field_kind, has_default) in _fields(kind).items():
        if name in value:
            arguments[name] = decode(field_kind, value[name], f"{where}.{name}")
        elif get_origin(field_kind) is Union:
            arguments[name] = None
        elif not has_default:
            raise Misfit(f"{where}.{name} is missing")
    return kind(**arguments)


@lru_cache(maxsize=64)
def _fields(kind: Any) -> Dict[str, Tuple[Any, bool]]:
    hints = get_type_hints(kind)
    return {f.name: (hints[f.name], f.default is not dataclasses.MISSING) for f in dataclasses.fields(kind)}


def _timestamp(text: str) -> datetime:
    # Before Python 3.11 fromisoformat does not know "Z".
    instant = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    if instant.tzinfo is None:
        raise ValueError("no time zone")
    return instant.astimezone(timezone.utc)


_READERS: Dict[Type[Any], Tuple[Tuple[Type[Any], ...], Callable[[Any], Any]]] = {
    str: ((str,), str),
    bool: ((bool,), bool),
    int: ((int,), int),
    float: ((int, Decimal), float),
    Decimal: ((int, Decimal), Decimal),
    date: ((str,), date.fromisoformat),
    datetime: ((str,), _timestamp),
}
