"""Runs a command on its own instance, as ``gpu run`` does. Start with :meth:`gpu_rental.Client.run`.

OpenSSH's ``ssh`` and ``ssh-keygen``, and ``tar``, must be installed, because Python includes no SSH. The scripts for the
container are in ``run_scripts.py``. They are generated from those of ``gpu run``, so that each can find the other's
runs.
"""

import json
import os
import queue
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .errors import ConnectionFailed, GpuRentalError, NotFound
from .landing import Folder, LandingFailed, land, safe_place
from .models import Destroyed, Instance
from .run_scripts import KEEPER, NAME, NOTHING_THERE, SCRIPTS
from .transport import Transport

#: Called with ``stdout`` or ``stderr`` and the bytes written to it. Each stream has its own thread.
OnOutput = Callable[[str, bytes], None]

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 5.0
#: Seconds without a response after which the client stops following a run. Its command continues.
GIVES_UP_AFTER = 3_600.0
#: Seconds to wait for the service to receive the exit code.
CODE_IS_KEPT_WITHIN = 10.0
#: Exit code of ssh after it has lost its connection.
LOST = 255
CHUNK = 65_536
#: Maximum number of characters shown of an error message from tar.
MAX_COMPLAINT = 400

DEPLOY = "mutation ($input: DeployBestInput!) { deployBest(input: $input) { id } }"
SEE = """query ($id: ID!) { instance(id: $id) {
    status stopReason runtime { phase message exitCode } launch { entrypoint } ssh { user host port hostKey } } }"""
ADD_KEY = "mutation ($publicKey: String!, $id: ID!) { addSshKey(publicKey: $publicKey, instanceId: $id) { id } }"
REMOVE_KEY = "mutation ($id: ID!) { removeSshKey(id: $id) { id } }"

# The values that match are written to a configuration file for ssh.
USER = re.compile(r"i-[0-9a-f]{8}")
HOST = re.compile(r"[a-z0-9.-]{1,253}")
HOST_KEY = re.compile(r"[a-z0-9@.-]{1,64} [A-Za-z0-9+/=]{1,4096}")


class RunFailed(GpuRentalError):
    """A run can't continue. If ``instance_id`` is set, its instance still exists, and
    :meth:`gpu_rental.Client.attach` can follow it."""

    def __init__(self, message: str, instance_id: Optional[str] = None) -> None:
        super().__init__(message)
        self.instance_id = instance_id


@dataclass(frozen=True)
class RunEnded:
    """The outcome of a run."""

    instance_id: str
    #: The command's exit code, or 128 plus the signal number if a signal killed it.
    exit_code: int


@dataclass(frozen=True)
class Terms:
    """A run's options that are stored in its launch."""

    out: Tuple[str, ...]
    keep: bool


def deploy_input(
    command: Sequence[str], terms: Terms, linger: int, launch: Mapping[str, Any], wanted: Mapping[str, Any]
) -> Dict[str, Any]:
    """Returns a run's DeployBestInput without the members that are None."""
    told = json.dumps({"out": list(terms.out), "keep": terms.keep})
    whole = {
        **launch,
        "entrypoint": ["/bin/sh", "-c", KEEPER, NAME, str(0 if terms.keep else linger), told],
        "command": list(command),
        "restart": "NEVER",
        "onExit": "KEEP" if terms.keep else "STOP",
    }
    given = {name: value for name, value in wanted.items() if value is not None}
    return {**given, "launch": {name: value for name, value in whole.items() if value is not None}}


def checked_out(paths: Sequence[str]) -> Tuple[str, ...]:
    """Raises ValueError for a path that would be written outside the local folder."""
    for path in paths:
        parts = PurePosixPath(path).parts
        is_strange = "\0" in path or (os.name == "nt" and (":" in path or "\\" in path))
        if not parts or path.startswith("/") or ".." in parts or is_strange:
            raise ValueError(f"{path!r} must be a path under the workspace, such as results or results/run-1")
    return tuple(str(PurePosixPath(path)) for path in paths)


def checked_folders(folders: Mapping[str, str]) -> List[Tuple[str, str]]:
    for source in folders:
        if not os.path.isdir(source):
            raise ValueError(f"{source!r} is not a local folder")
    return list(folders.items())


def to_own_output(stream: str, data: bytes) -> None:
    target = sys.stdout if stream == "stdout" else sys.stderr
    raw = getattr(target, "buffer", None)
    if raw is None:
        target.write(data.decode("utf-8", "replace"))
    else:
        raw.write(data)
    target.flush()


class Run:
    """A run as seen by one client."""

    def __init__(self, transport: Transport, id: str, terms: Terms, on_output: Optional[OnOutput]) -> None:
        self.id = id
        self._transport = transport
        self._terms = terms
        #: Paths that this client named itself, or None if it started the run and has therefore named all of them.
        self._named: Optional[Tuple[str, ...]] = None
        self._on_output = on_output or to_own_output
        self._folder = Path(tempfile.mkdtemp(prefix="gpu-run-"))
        self._target = ""
        self._key_id: Optional[str] = None
        self._events: "queue.Queue[Tuple[str, Any]]" = queue.Queue()
        self._children: List["subprocess.Popen[bytes]"] = []
        self._is_closed = threading.Event()
        self._ready: Optional[str] = None
        self._code: Optional[int] = None

    @classmethod
    def deploy(
        cls,
        transport: Transport,
        input: Dict[str, Any],
        terms: Terms,
        on_output: Optional[OnOutput],
    ) -> "Run":
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(transport.graphql, DEPLOY, {"input": input}, idempotency_key=input["idempotencyKey"])
            try:
                return cls(transport, asked.result()["deployBest"]["id"], terms, on_output)
            except KeyboardInterrupt:
                # Waits for the instance's id, so that it can be destroyed.
                with suppress(GpuRentalError):
                    cls(transport, asked.result()["deployBest"]["id"], terms, on_output)._destroy()
                raise

    @classmethod
    def find(cls, transport: Transport, id: str, named: Tuple[str, ...], on_output: Optional[OnOutput]) -> "Run":
        seen = _see(transport, id)
        entrypoint = (seen["launch"] or {}).get("entrypoint") or []
        if len(entrypoint) < 6 or entrypoint[3] != NAME:
            raise RunFailed(f"{id} was not started by gpu run", id)
        if seen["status"] == "DESTROYED":
            raise RunFailed(f"{id} has been destroyed")
        terms = _terms_of(entrypoint[5], id)
        if seen["status"] == "STOPPED":
            transport.request(Instance, "POST", f"/instances/{id}/actions", body=b'{"action":"start"}')
        run = cls(transport, id, terms, on_output)
        run._named = named
        return run

    def follow(self, folders: Optional[Sequence[Tuple[str, str]]], into: str) -> RunEnded:
        """Follows the run to its end. Sends `folders` first, or expects the command to have started if they are None."""
        has_begun = folders is None
        try:
            self._open()
            if folders is None:
                self._must_have_begun()
            else:
                self._send_all(folders)
            has_begun = True
            return RunEnded(self.id, self._to_the_end(into))
        except BaseException as error:
            is_interrupted = isinstance(error, KeyboardInterrupt)
            if not has_begun or (is_interrupted and not self._terms.keep):
                self._destroy()
            raise
        finally:
            self._close()

    def _open(self) -> None:
        """Waits until the container is running, and connects to it."""
        address = _see(self._transport, self.id)["ssh"]
        if address is None:
            raise RunFailed("this service doesn't offer SSH, which runs need", self.id)
        public_key = self._make_key()
        answer = self._transport.graphql(ADD_KEY, {"publicKey": public_key, "id": self.id})
        self._key_id = answer["addSshKey"]["id"]
        self._configure(address)
        self._until_running()
        self._in_thread(self._watch)
        while self._ready is None:
            self._next_event()

    def _must_have_begun(self) -> None:
        if self._ready != "yes":
            raise RunFailed(f"{self.id} never received its files; destroy it, then repeat the run", self.id)

    def _send_all(self, folders: Sequence[Tuple[str, str]]) -> None:
        for source, target in folders:
            self._until_done(lambda: self._send(source, target))

    def _to_the_end(self, into: str) -> int:
        """Passes on the output, fetches the results and returns the exit code. Destroys the instance unless it is kept."""
        left = {"stdout", "stderr"}
        for stream, name in (("stdout", "out"), ("stderr", "err")):
            self._in_thread(lambda stream=stream, name=name: self._pass_on(stream, name))  # type: ignore[misc]
        while left or self._code is None:
            kind, value = self._next_event()
            if kind == "passed":
                left.discard(value)
        for path, to in self._destinations(into):
            self._until_done(lambda: self._bring_back(path, into, to))
        if not self._terms.keep:
            self._finish()
        return self._code

    def _destinations(self, into: str) -> List[Tuple[str, str]]:
        """Returns each path with its local destination."""
        if self._named is None:
            return [(path, path) for path in self._terms.out]
        others = [path for path in self._terms.out if path not in self._named]
        return [*((path, path) for path in self._named), *((path, safe_place(path, self.id, into)) for path in others)]

    def _destroy(self) -> None:
        try:
            self._transport.request(Destroyed, "DELETE", f"/instances/{self.id}")
        except GpuRentalError:
            if _see(self._transport, self.id)["status"] != "DESTROYED":
                raise
        self._key_id = None

    def _close(self) -> None:
        """Disconnects and removes the client's key. If the key can't be removed now, it is deleted with the instance."""
        self._is_closed.set()
        for child in self._children:
            with suppress(OSError):
                child.kill()
        for child in self._children:
            child.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._key_id is not None:
            with suppress(GpuRentalError):
                self._transport.graphql(REMOVE_KEY, {"id": self._key_id})

    # Methods that run in threads.

    def _watch(self) -> None:
        """Signals to the container that a client is connected, and receives the exit code."""
        lost = _Lost()
        while not self._is_closed.is_set():
            child = self._ssh("watch", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for line in child.stdout or ():
                lost.over()
                what, _, rest = line.decode("utf-8", "replace").strip().partition(" ")
                if what == "ready":
                    self._events.put(("ready", rest.split(" ")[1] if " " in rest else "no"))
                elif what == "code" and re.fullmatch(r"\d{1,3}", rest):
                    self._events.put(("code", int(rest)))
            self._ended(child)
            self._before_next_try(lost)

    def _pass_on(self, stream: str, name: str) -> None:
        at = 0
        lost = _Lost()
        while not self._is_closed.is_set():
            child = self._ssh("follow", name, str(at), stdout=subprocess.PIPE)
            assert child.stdout is not None
            while chunk := os.read(child.stdout.fileno(), CHUNK):
                at += len(chunk)
                lost.over()
                self._on_output(stream, chunk)
            if self._ended(child) == 0:
                self._events.put(("passed", stream))
                return
            self._before_next_try(lost)

    def _in_thread(self, work: Callable[[], None]) -> None:
        def body() -> None:
            try:
                work()
            except BaseException as error:
                self._events.put(("failed", error))

        threading.Thread(target=body, daemon=True).start()

    def _next_event(self) -> Tuple[str, Any]:
        kind, value = self._events.get()
        if kind == "failed":
            raise value
        if kind == "ready":
            self._ready = value
        elif kind == "code":
            self._code = value
        return kind, value

    # Connections.

    def _make_key(self) -> str:
        file = self._folder / "key"
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"gpu run {self.id}", "-f", str(file)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except FileNotFoundError as error:
            raise RunFailed("the OpenSSH client (ssh and ssh-keygen) is not installed", self.id) from error
        return file.with_suffix(".pub").read_text().strip()

    def _configure(self, address: Mapping[str, Any]) -> None:
        user, host, port, host_key = (address[name] for name in ("user", "host", "port", "hostKey"))
        fits = USER.fullmatch(user) and HOST.fullmatch(host) and HOST_KEY.fullmatch(host_key) and type(port) is int
        if not fits:
            raise RunFailed("the service returned an invalid SSH address", self.id)
        known_hosts = self._folder / "known_hosts"
        known_hosts.write_text(f"gpu-run {host_key}\n")
        options: Dict[str, object] = {
            "Port": port,
            "IdentityFile": f'"{self._folder / "key"}"',
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": f'"{known_hosts}"',
            "GlobalKnownHostsFile": "none",
            "HostKeyAlias": "gpu-run",
            "StrictHostKeyChecking": "yes",
            "UpdateHostKeys": "no",
            "CheckHostIP": "no",
            "BatchMode": "yes",
            "LogLevel": "ERROR",
            "RequestTTY": "no",
            "ControlPath": "none",
            "ForwardAgent": "no",
            "ForwardX11": "no",
            "PermitLocalCommand": "no",
            "ClearAllForwardings": "yes",
            "ConnectTimeout": 15,
            "ServerAliveInterval": 10,
            "ServerAliveCountMax": 3,
        }
        if host == "localhost" or host.endswith(".localhost"):
            # Few resolvers know names under localhost.
            options["HostName"] = "127.0.0.1"
        lines = ["Host *", *(f"  {name} {value}" for name, value in options.items())]
        # For each option, the first value counts. The user's own file may configure the way out of the network, such as a
        # proxy.
        lines.append(f'Include "{Path.home() / ".ssh" / "config"}"')
        config = self._folder / "config"
        config.write_text("\n".join([*lines, ""]))
        config.chmod(0o600)
        self._target = f"{user}@{host}"

    def _ssh(self, script: str, *args: str, stdin: int = subprocess.DEVNULL, **streams: Any) -> "subprocess.Popen[bytes]":
        words = " ".join(shlex.quote(word) for word in (SCRIPTS[script], NAME, *args))
        command = ["ssh", "-F", str(self._folder / "config"), "-T", self._target, f"exec /bin/sh -c {words}"]
        streams.setdefault("stdout", subprocess.DEVNULL)
        child = subprocess.Popen(command, stdin=stdin, stderr=subprocess.DEVNULL, **streams)
        self._children.append(child)
        return child

    def _ended(self, child: "subprocess.Popen[bytes]") -> int:
        code = child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        with suppress(ValueError):
            self._children.remove(child)
        return code

    def _send(self, source: str, target: str) -> bool:
        receiving = self._ssh("receive", target, stdin=subprocess.PIPE)
        assert receiving.stdin is not None
        with receiving.stdin as pipe:
            packed = subprocess.run(["tar", "-cf", "-", "-C", source, "."], stdout=pipe).returncode
        code = self._ended(receiving)
        if code == LOST:
            return False
        if code != 0 or packed != 0:
            raise RunFailed(f"tar exited with {code or packed}", self.id)
        return True

    def _bring_back(self, path: str, into: str, to: str) -> bool:
        # Results are unpacked into a new folder, so that they can't affect the renter's own files.
        directory = tempfile.TemporaryDirectory(prefix=".gpu-run-", dir=into)
        draft = Folder.open(directory.name)
        try:
            sending = self._ssh("send", path, stdout=subprocess.PIPE)
            unpacking = subprocess.run(
                ["tar", "-xof", "-"], cwd=draft.working_directory, stdin=sending.stdout, stderr=subprocess.PIPE
            )
            code = self._ended(sending)
            # Without an archive, tar fails as well, so its exit code is only checked later.
            if code == NOTHING_THERE:
                return True
            if code == LOST:
                return False
            if code != 0:
                raise RunFailed(f"tar exited with {code}", self.id)
            if unpacking.returncode != 0:
                why = "; ".join(unpacking.stderr.decode("utf-8", "replace").splitlines())[-MAX_COMPLAINT:]
                raise RunFailed(f"{path} can't be unpacked here: {why}", self.id)
            land(draft, path, into, to)
            return True
        except LandingFailed as error:
            raise RunFailed(str(error), self.id) from error
        finally:
            draft.close()
            # A tree that is too deep to be removed is left behind, because the results must not be lost over it.
            with suppress(OSError, RecursionError):
                directory.cleanup()

    def _until_done(self, attempt: Callable[[], bool]) -> None:
        lost = _Lost()
        while not attempt():
            self._before_next_try(lost)

    def _before_next_try(self, lost: "_Lost") -> None:
        """Waits before reconnecting. Raises RunFailed if there is nothing left to connect to."""
        if self._is_closed.is_set():
            return
        with suppress(ConnectionFailed):
            seen = _see(self._transport, self.id)
            if seen["status"] == "DESTROYED":
                raise RunFailed(f"{self.id} was destroyed")
            if seen["status"] == "STOPPED":
                raise RunFailed(f"{self.id} was stopped ({seen['stopReason']}); its disk is kept", self.id)
            phase = (seen["runtime"] or {}).get("phase")
            if phase in ("EXITED", "FAILED"):
                raise RunFailed(f"{self.id}'s container ended", self.id)
        if lost.is_hopeless:
            raise RunFailed(f"{self.id} can't be reached", self.id)
        self._is_closed.wait(lost.next())

    def _until_running(self) -> None:
        deadline = time.monotonic() + GIVES_UP_AFTER
        pause = 0.1
        while time.monotonic() < deadline:
            seen = _see(self._transport, self.id)
            runtime = seen["runtime"]
            if runtime is None:
                raise RunFailed(f"{self.id} has no container: its machine has no host agent", self.id)
            if runtime["phase"] == "RUNNING":
                return
            if seen["status"] != "RUNNING" or runtime["phase"] in ("FAILED", "EXITED"):
                raise RunFailed(f"{self.id} is not running: {runtime['message'] or runtime['phase'].lower()}", self.id)
            time.sleep(pause)
            pause = min(pause * 1.5, 1.0)
        raise RunFailed(f"{self.id} is not running yet", self.id)

    def _finish(self) -> None:
        """Ends the container so that the service receives the exit code, which others may be waiting for. Then destroys
        the instance."""
        self._is_closed.set()
        with suppress(GpuRentalError):
            deadline = time.monotonic() + CODE_IS_KEPT_WITHIN
            with suppress(subprocess.TimeoutExpired):
                self._ssh("end").wait(CODE_IS_KEPT_WITHIN)
            while time.monotonic() < deadline and (_see(self._transport, self.id)["runtime"] or {}).get("exitCode") is None:
                time.sleep(0.15)
        self._destroy()


class _Lost:
    """Counts failed attempts and records the time of the first one."""

    def __init__(self) -> None:
        self._count = 0
        self._since = 0.0

    def over(self) -> None:
        self._count = 0

    @property
    def is_hopeless(self) -> bool:
        return self._count > 0 and time.monotonic() - self._since > GIVES_UP_AFTER

    def next(self) -> float:
        if self._count == 0:
            self._since = time.monotonic()
        self._count += 1
        return min(FIRST_PAUSE * 2.0 ** min(self._count - 1, 4), LONGEST_PAUSE)


def _terms_of(text: str, id: str) -> Terms:
    """Parses the options stored in a launch. Raises RunFailed for paths that escape the local folder, because anyone
    with a key of the account may have created the launch."""
    try:
        told = json.loads(text)
        out = checked_out([path for path in told.get("out", []) if isinstance(path, str)])
        return Terms(out, told.get("keep") is True)
    except (ValueError, AttributeError, TypeError) as error:
        raise RunFailed(f"{id} was not started by gpu run: {error}", id) from error


def _see(transport: Transport, id: str) -> Dict[str, Any]:
    instance: Optional[Dict[str, Any]] = transport.graphql(SEE, {"id": id})["instance"]
    if instance is None:
        raise NotFound("not_found", 404, f"no such instance: {id}")
    return instance
