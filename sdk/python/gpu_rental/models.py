"""The service's objects, with the field names of its REST interface.

Money is :class:`decimal.Decimal` in USD, exact to 6 decimals. Timestamps are timezone-aware datetimes in UTC.
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
    """An envelope that supports iteration, indexing and ``len`` like its ``data``."""

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
    """A GPU model on the price sheet."""

    slug: str
    name: str
    vram_gb: int
    #: ``flagship``, ``datacenter``, ``consumer-flagship`` or ``consumer``.
    tier: str
    price_per_gpu_hour: GpuPrices
    #: Median market price in USD per GPU-hour at the snapshot date. None if the market is too thin for a median.
    market_median: Optional[Decimal]
    #: Number of GPUs in the model's current offers.
    available_gpus: int
    url: str


@dataclass(frozen=True)
class PricingSheet(_Entries[GpuPricing]):
    object: str
    currency: str
    billing: str
    price_rule: str
    #: Date of the market data behind the prices.
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
    """A machine that can be deployed now. It is only rented as a whole."""

    #: Id to pass to deploy.
    machine_id: str
    gpu: str
    num_gpus: int
    region: str
    cpu: str
    vcpus: int
    ram_gb: int
    #: Disk space available for a new instance.
    disk_gb: int
    net_mbps: NetMbps
    #: Number of ports that can be opened to the internet.
    ports: int
    #: PCIe generation.
    pcie: int
    nvlink: bool
    #: Highest CUDA version supported by the driver. Empty for AMD.
    cuda_max: str
    #: Share of time for which the machine was up, from 0 to 1.
    reliability: float
    price_per_hour: OfferPrices


@dataclass(frozen=True)
class OfferList(_Entries[Offer]):
    object: str
    count: int
    data: Tuple[Offer, ...]


@dataclass(frozen=True)
class Instance:
    """A rental."""

    id: str
    #: ``running``, ``stopped`` or ``destroyed``.
    status: str
    gpu: str
    num_gpus: int
    region: str
    template: str
    disk_gb: int
    #: ``od``, ``spot`` (called ``interruptible`` in deploy) or ``res``.
    type: str
    #: Price of the whole machine in USD per hour, excluding the disk. It is locked for the life of the instance.
    price_hr: Decimal
    hostname: str
    created_at: datetime
    #: None unless the instance is stopped.
    stopped_at: Optional[datetime]
    object: str = "instance"


@dataclass(frozen=True)
class InstanceList(_Entries[Instance]):
    object: str
    data: Tuple[Instance, ...]


@dataclass(frozen=True)
class Volume:
    """A disk owned by the account, which outlives the machines that its instances run on."""

    object: str
    #: ``v-`` followed by 8 hex characters.
    id: str
    name: str
    size_gb: int
    #: Price of its size in USD per hour.
    price_hr: Decimal
    created_at: datetime
    deleted_at: Optional[datetime]
    #: Id of the instance that holds it, if any.
    in_use_by: Optional[str]
    #: Size of its snapshots, compressed and deduplicated.
    stored_bytes: int
    last_snapshot_at: Optional[datetime]


@dataclass(frozen=True)
class VolumeList(_Entries[Volume]):
    object: str
    data: Tuple[Volume, ...]


@dataclass(frozen=True)
class VolumeRelease:
    """The release of a volume from an instance."""

    object: str
    volume_id: str
    #: Id of the instance that held it.
    instance_id: str
    #: Time since which changes by the instance are lost. None if it never had access.
    lost_since: Optional[datetime]


@dataclass(frozen=True)
class VolumeSnapshot:
    """A volume's content at one moment."""

    #: restic's id of the snapshot.
    id: str
    at: datetime
    #: Total size of its files. None if unknown.
    size_bytes: Optional[int]
    #: Id of the instance that wrote it. None if the owner created it.
    instance_id: Optional[str]


@dataclass(frozen=True)
class VolumeWithSnapshots(Volume):
    #: The newest 100 snapshots, newest first.
    snapshots: Tuple[VolumeSnapshot, ...]


@dataclass(frozen=True)
class GpuMetrics:
    """Metrics of one of an instance's GPUs during a point. Unknown values are None."""

    #: Index among the instance's GPUs, starting at 0.
    place: int
    #: Share of time in which a kernel was running and, below, the highest such share in one sample.
    busy_percent: Optional[Decimal]
    busy_max_percent: Optional[Decimal]
    memory_used_mb: Optional[int]
    memory_total_mb: Optional[int]
    power_watts: Optional[Decimal]
    celsius: Optional[Decimal]
    sm_mhz: Optional[Decimal]
    #: Uncorrectable memory errors since the host loaded its driver.
    faults: Optional[int]
    #: Number of processes computing on the GPU.
    processes: Optional[int]


@dataclass(frozen=True)
class MetricPoint:
    """Mean values of an instance's metrics over the seconds that begin at `at`. Unknown values are None."""

    at: datetime
    #: Use of its vCPUs.
    cpu_percent: Optional[Decimal]
    memory_used_bytes: Optional[Decimal]
    disk_used_bytes: Optional[Decimal]
    network_in_bytes_per_second: Optional[Decimal]
    network_out_bytes_per_second: Optional[Decimal]
    processes: Optional[int]
    #: Its GPUs, ordered by ``place``.
    gpus: Tuple[GpuMetrics, ...]


@dataclass(frozen=True)
class InstanceMetrics:
    object: str
    #: Number of seconds that each point covers.
    step_seconds: int
    #: Points, oldest first. Times without measurements have no point.
    points: Tuple[MetricPoint, ...]


@dataclass(frozen=True)
class Activity:
    """A change requested with one of the account's keys."""

    #: Time of the request or, if refusals were combined, of the last one.
    at: datetime
    #: Name of the GraphQL mutation, even for REST requests. For an action, ``start``, ``stop`` or ``destroy``.
    operation: str
    #: Ids and names that the request referred to.
    targets: Tuple[str, ...]
    key_id: str
    #: Whether a console session created with the key sent the request.
    by_console: bool
    #: Client address.
    address: str
    #: Error code if the request was refused. None if it succeeded.
    code: Optional[str]
    #: Number of refusals in this entry. Refusals with the same key, operation and code within a clock hour are combined.
    times: int


@dataclass(frozen=True)
class TimelineEntry:
    """An event in an instance's life. Fields that don't apply to its kind are None."""

    #: Position of this entry, for ``after`` and ``before``.
    cursor: str
    at: datetime
    #: Kind of event, such as ``rented``, ``running``, ``stopped``, ``unreachable``, ``changed`` or ``destroyed``.
    kind: str
    #: For a start, the rate of GPUs and disk afterwards in USD per hour.
    rate_per_hour: Optional[Decimal]
    #: For a stop, the cost of the GPUs since the start. For a service credit, its amount. In USD.
    amount: Optional[Decimal]
    #: For a stop, the seconds since the start. For a service credit, the seconds credited.
    seconds: Optional[int]
    #: For a stop, the reason, such as ``user``, ``deadline`` or ``idle``.
    stop_reason: Optional[str]
    #: For a failed start, whether the machine was at fault.
    host_fault: Optional[bool]
    volume_id: Optional[str]
    volume_name: Optional[str]
    #: For a stored snapshot, the total size of its files.
    size_bytes: Optional[int]
    #: The request that caused the event. None if no key requested it, and after 90 days.
    asked: Optional[Activity]
    #: For a service credit, the reason, such as ``outage`` or ``slow_start``. None from services that don't give one.
    credit_reason: Optional[str] = None


@dataclass(frozen=True)
class PageInfo:
    """The position of a page in its list."""

    has_next_page: bool
    has_previous_page: bool
    start_cursor: Optional[str]
    end_cursor: Optional[str]


@dataclass(frozen=True)
class Timeline(_Entries[TimelineEntry]):
    """A page of an instance's events, newest first."""

    object: str
    page_info: PageInfo
    data: Tuple[TimelineEntry, ...]


@dataclass(frozen=True)
class Destroyed:
    """The result of destroying an instance."""

    object: str
    id: str
    status: str


@dataclass(frozen=True)
class Balance:
    object: str
    currency: str
    #: Remaining credit in USD. Only the disks of stopped instances can bring it below zero.
    balance: Decimal
    #: Amount spent since the first of the UTC month, in USD.
    month_spend: Decimal


@dataclass(frozen=True)
class Port:
    """A port on which a program in the container serves HTTP."""

    port: int
    #: Display name, such as JupyterLab.
    name: Optional[str]


@dataclass(frozen=True)
class TemplateVariable:
    name: str
    description: str
    #: Value used if a launch sets none.
    default: Optional[str]
    required: bool
    #: Whether its value should be one of the account's secrets.
    secret: bool
    #: Whether the service generates a value if the launch sets none. ``client.instances.links`` returns that value.
    is_generated: bool

    @property
    def made(self) -> bool:
        """Deprecated: renamed to ``is_generated``."""
        return self.is_generated


@dataclass(frozen=True)
class Template:
    """A template from the catalogue, which can be deployed by its slug."""

    slug: str
    title: str
    category: str
    description: str
    #: OCI image.
    image: str
    #: Memory required across all GPUs. None if any amount is enough.
    vram_gb: Optional[int]
    #: Ports, the first of which is the web port.
    ports: Tuple[Port, ...]
    variables: Tuple[TemplateVariable, ...]


@dataclass(frozen=True)
class LaunchSecret:
    """One of the account's secrets, given to the container as a variable or as a file under /run/secrets."""

    secret: str
    variable: Optional[str]
    file: Optional[str]


@dataclass(frozen=True)
class Launch:
    """The settings of a workload other than its template and disk."""

    name: Optional[str]
    env: Dict[str, str]
    secrets: Tuple[LaunchSecret, ...]
    entrypoint: Optional[Tuple[str, ...]]
    command: Optional[Tuple[str, ...]]
    ports: Tuple[Port, ...]
    tcp_ports: Tuple[int, ...]
    registry_login: Optional[str]
    #: Container user. None for the image's own.
    user: Optional[str]
    #: ``ALWAYS``, ``ON_FAILURE`` or ``NEVER``.
    restart: str
    #: ``KEEP``, ``STOP`` or ``DESTROY``.
    on_exit: str


@dataclass(frozen=True)
class AttachedVolume:
    """A volume attached to an instance."""

    id: str
    #: Path in the container.
    path: str


@dataclass(frozen=True)
class SavedTemplate:
    """A launch saved by the account under a name."""

    name: str
    description: str
    #: Template slug or OCI image.
    template: str
    disk_gb: int
    launch: Launch
    #: URL that opens the console's form filled in with this launch for anyone who has it. It contains no secrets.
    link: str
    created_at: datetime

    def arguments(self) -> Dict[str, Any]:
        """Returns arguments that launch it again: ``client.instances.deploy(machine_id, **saved.arguments())``."""
        said = cast(Dict[str, Any], dataclasses.asdict(self.launch))
        said.update(restart=said["restart"].lower(), on_exit=said["on_exit"].lower())
        given = {name: value for name, value in said.items() if value not in (None, (), {})}
        return {"template": self.template, "disk_gb": self.disk_gb, **given}


@dataclass(frozen=True)
class InstanceLink:
    """A named port of an instance, with its URL."""

    name: str
    port: int
    #: Path to open, including the token that its page takes from the URL.
    path: str
    #: URL with this path. A private port needs a web link's cookie.
    url: str
    #: Whether anyone can visit the port.
    open: bool


@dataclass(frozen=True)
class MadeToken:
    """A token or password generated for an instance when it was deployed."""

    variable: str
    value: str
    #: Whether a link already includes it.
    in_link: bool

    def __repr__(self) -> str:
        return f"MadeToken(variable={self.variable!r}, in_link={self.in_link!r})"


@dataclass(frozen=True)
class InstanceLinks:
    """Links to an instance's services. They give access to anyone who can read them."""

    links: Tuple[InstanceLink, ...]
    tokens: Tuple[MadeToken, ...]


@dataclass(frozen=True)
class ModelSplit:
    """The memory that a model needs if it is split across a number of GPUs."""

    gpus: int
    #: Minimum memory per GPU in GB.
    vram_gb_min: int
    weight_bytes_per_gpu: float
    kv_bytes_per_gpu: float
    overhead_bytes_per_gpu: float


@dataclass(frozen=True)
class ModelMemory:
    """The GPU memory that a language model needs in vLLM."""

    object: str
    model: Optional[str]
    architecture: Optional[str]
    parameters: float
    weight_bits: int
    #: ``hub``, ``config`` or ``request``.
    weights_from: str
    weight_bytes: float
    kv_bytes_per_token: float
    kv_bytes: float
    context_length: int
    max_context_length: Optional[int]
    concurrency: int
    #: Recommended disk in GB.
    disk_gb: int
    splits: Tuple[ModelSplit, ...]


@dataclass(frozen=True)
class WebToken:
    """A token that gives programs access to a private web port."""

    object: str
    #: Send it in `header` with each request. It is shown only once.
    token: str
    header: str
    #: URL of the port.
    url: str
    expires_at: datetime


class Misfit(ValueError):
    """A value that violates the contract. The message says where."""


def decode(kind: Any, value: Any, where: str) -> Any:
    """Converts a JSON value to `kind`, which is a dataclass in this module or the type of a field.

    Numbers with a fraction are passed as Decimal. Unknown fields are ignored, and optional ones may be missing. Raises
    Misfit.
    """
    if kind is Any:
        return value
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
    # Doesn't use isinstance, because True is an int.
    if type(value) not in accepted:
        raise Misfit(f"{where} is not of type {kind.__name__}")
    try:
        return read(value)
    except ValueError as error:
        raise Misfit(f"{where} is not of type {kind.__name__}") from error


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
    # Before Python 3.11, fromisoformat doesn't accept "Z".
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
