"""Ray: the only module that imports it. Holders keep shards open on the nodes, builders make them.

A holder is a process that has opened some shards of one generation. Several holders, on different nodes, have the same
shards: they are replicas. Ray restarts a holder that dies; until then, `rprs.cluster.replicas` asks another.

Ray reads its environment when it is imported: `connect` sets it before.
"""

from __future__ import annotations

import gc
import json
import logging
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Any

from rprs.cluster.builders import Builders
from rprs.cluster.holding import Held, failure
from rprs.cluster.manifest import Manifest
from rprs.cluster.placement import HolderState, choose_groups, plan
from rprs.cluster.repeated import run_repeated
from rprs.cluster.replicas import Calls, Lost
from rprs.cluster.settings import NAMESPACE, RESOURCE, Patience, is_loopback, own_address
from rprs.errors import MissingExtra, RprsError, ShardUnavailable, UsageError
from rprs.files.hashes import digest
from rprs.read.bounded import ReadingProcesses
from rprs.scoring.threads import limit_cores

try:
    import ray
    from ray._common.utils import get_ray_address_file
    from ray._private import services, worker
    from ray.exceptions import GetTimeoutError, RayError, RayTaskError, TaskCancelledError
    from ray.util import list_named_actors
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ModuleNotFoundError as missing:
    raise MissingExtra("A cluster of several machines", "ray", "cluster") from missing

__all__ = ["Builder", "Engine", "Holder", "LocalNodes", "forget_last_head", "node_command", "run_ray"]

OBJECTS = 100_000_000  # bytes of Ray's object store: results are small
CAPACITY = 1_000_000  # holders on a node

# ---------------------------------------------------------------------------- processes on the nodes


@ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=0, max_concurrency=4, concurrency_groups={"life": 1})
class Holder:
    """A process that has opened some shards, and shows that it is there while it computes."""

    def __init__(self, url: str, manifest: bytes, numbers: Sequence[int], most_cores: int) -> None:
        self._held, self._most_cores = Held(url, manifest, numbers), most_cores

    def answer(self, method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        """What shards answer, or the errors that they raise, as plain values."""
        with limit_cores(self._most_cores):  # other holders have the rest of this machine
            return [self._held.answer(number, method, arguments) for number, arguments in requests]

    @ray.method(concurrency_group="life")
    def state(self) -> dict[str, Any]:
        """What `status` shows."""
        return {**self._held.state(), "node": ray.get_runtime_context().get_node_id()}


@ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0, concurrency_groups={"life": 1})
class Builder:
    """A process that runs steps of builds, one after the other, and answers meanwhile.

    Steps share the process that reads files, which takes as long to start as many small files to read.
    """

    def __init__(self) -> None:
        self._reading = ReadingProcesses(1)
        gc.freeze()  # what was imported stays, and need not be searched for garbage

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...], most: int) -> tuple[bool, Any]:
        """Run a step on at most so many cores; an error of a user comes back as plain values."""
        try:
            with limit_cores(most), self._reading.used():
                return True, function(*arguments)
        except (RprsError, OSError) as error:
            return False, failure(error)

    @ray.method(concurrency_group="life")
    def answer(self) -> None:
        """Show that the process is there."""

    @ray.method(concurrency_group="life")
    def end(self) -> None:
        """End the process, whatever it does."""
        os._exit(0)


# ---------------------------------------------------------------------------- the engine


class Engine:
    """The connection of this process to the Ray cluster that this machine is a node of."""

    def __init__(self, address: str, patience: Patience | None = None) -> None:
        self.address, self.patience = address, patience or Patience()
        self._builders: Builders | None = None  # which are started for the first step of a build
        if ray.is_initialized():
            return
        # Ray prints the logs of every process that is lost, hundreds of lines; our own messages say what matters.
        worker.print_to_stdstream = lambda *_, **__: None
        tokens = import_module("ray._raylet").AuthenticationTokenLoader  # compiled: without types
        tokens.instance().reset_cache()  # it has the token of an earlier cluster of this process
        try:
            if not is_loopback(address):
                services.get_node_to_connect_for_driver = partial(_own_node, own_address(address))
            ray.init(
                address=address,
                namespace=NAMESPACE,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
                configure_logging=False,
            )
        except (OSError, RuntimeError, ValueError, RayError) as error:
            reason = " ".join(str(error).split())[:200]
            raise UsageError(
                f"No Ray cluster answers at {address} ({reason}): start this machine's node with `rprs cluster node`, "
                "and give its token (RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH)"
            ) from None

    def close(self) -> None:
        """Leave the cluster; holders stay."""
        if self._builders is not None:
            self._builders.close()
        ray.shutdown()

    # ------------------------------------------------------------------------ tasks

    def run(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Run a function on the nodes: the results as they come, each with the place of its arguments.

        A task whose process is lost or does not answer runs again elsewhere, and so does one that takes much longer
        than the others; tasks give the same result wherever they run.
        """
        if self._builders is None:
            self._builders = Builders(_BuilderProcesses())
        self._builders.share_cores(len(arguments))
        yield from run_repeated(self._builders, function, arguments)

    # ------------------------------------------------------------------------ holders

    def nodes(self) -> list[str]:
        """The ids of the nodes that can hold shards."""
        return sorted(node["NodeID"] for node in ray.nodes() if _holds(node))

    def start(self, url: str, manifest: Manifest, replicas: int, processes: int | None = None) -> None:
        """Start the holders of a generation, and wait until each has opened its shards.

        Those that are there already stay, except one that shares a node with a replica of the same shards: another on a
        free node takes its place. What is not needed then is stopped.
        """
        nodes = self.nodes()
        if len(nodes) < replicas:
            raise UsageError(
                f"{replicas} replicas need {replicas} nodes, and there are {len(nodes)}: start more, or give --replicas"
            )
        present = [each for each in self._names(url) if each.generation == manifest.generation]
        groups = choose_groups(len(manifest.shards), processes, max(1, _cores() // replicas), present)
        most_cores = max(1, _cores() // (len(groups) * replicas))
        wanted = set(groups)
        known = [(each, _actor(each.name)) for each in present if each.shards in wanted]
        opened = [holder for holder, _ in self._wait([(each, actor) for each, actor in known if actor is not None])]
        planned = plan(groups, nodes, replicas, [*opened, *(each for each in present if each.shards not in wanted)])
        started = []
        for new in planned.new:
            name = _name(url, manifest.generation, new.shards, new.replica)
            options = {
                "name": name,
                "lifetime": "detached",
                "resources": {RESOURCE: 1},
                "scheduling_strategy": NodeAffinitySchedulingStrategy(new.node, soft=True),
            }
            actor = Holder.options(**options).remote(url, manifest.to_json(), new.shards, most_cores)  # type: ignore[attr-defined]  # of Ray
            started.append((HolderState(name, manifest.generation, new.shards, new.replica, False), actor))
        for holder, problem in self._wait(started):
            if problem:
                self._stop([holder.name])
                raise UsageError(f"The holder {holder.name} could not open its shards: {problem}")
        self._stop(planned.surplus)

    def _wait(self, holders: Sequence[tuple[HolderState, Any]]) -> Iterator[tuple[HolderState, str]]:
        """The holders with their nodes, once they have opened their shards, or with the reason why they have not."""
        waiting = {actor.state.remote(): holder for holder, actor in holders}
        while waiting:
            ready, _ = ray.wait(list(waiting), timeout=self.patience.opening)
            if not ready:
                raise ShardUnavailable(f"{next(iter(waiting.values())).name} (it was not opened in time)")
            for reference in ready:
                holder = waiting.pop(reference)
                try:
                    yield _with_state(holder, ray.get(reference)), ""
                except RayError as error:
                    yield holder, _reason(error)

    def stop(self, url: str, *, but: int | None = None) -> int:
        """Stop the holders of all generations, or of all but one; how many there were."""
        return self._stop([each.name for each in self._names(url) if each.generation != but])

    def _stop(self, names: Sequence[str]) -> int:
        for actor in filter(None, map(_actor, names)):
            ray.kill(actor)
        return len(names)

    def status(self, url: str) -> list[HolderState]:
        """All holders of a store."""
        actors = [(holder, _actor(holder.name)) for holder in self._names(url)]
        asked = [(holder, actor.state.remote()) for holder, actor in actors if actor is not None]
        if asked:
            ray.wait([each[-1] for each in asked], num_returns=len(asked), timeout=self.patience.replica)
        states = []
        for holder, reference in asked:
            try:
                states.append(_with_state(holder, ray.get(reference, timeout=0)))
            except (RayError, GetTimeoutError):
                states.append(holder)
        return states

    def serving(self, url: str) -> list[int]:
        """The generations that have holders, oldest first."""
        return sorted({each.generation for each in self._names(url)})

    def _names(self, url: str) -> list[HolderState]:
        """All holders of a store, whether they answer or not."""
        prefix = f"{digest(url)} "
        try:
            listed = list_named_actors(all_namespaces=True)
        except RayError as error:
            raise UsageError(
                f"The head at {self.address} is not that of this program any more ({type(error).__name__}): if it was "
                "started again without Redis, start the nodes, the collection and this program again"
            ) from None
        found = []
        for each in listed:
            if each["namespace"] == NAMESPACE and each["name"].startswith(prefix):
                _, generation, shards, replica, *_ = each["name"].split(" ")
                numbers = tuple(map(int, shards.split(",")))
                found.append(HolderState(each["name"], int(generation), numbers, int(replica), False))
        return sorted(found, key=lambda holder: holder.name)

    def calls(self, url: str, manifest: Manifest) -> Calls | None:
        """Asks the holders of a generation; None if a shard has none that answers."""
        transport = _Holders()
        replicas = self._replicas(url, manifest, transport)
        if replicas is None:
            return None
        return Calls(transport, replicas, [shard.name for shard in manifest.shards], self.patience)

    def renew(self, calls: Calls, url: str, manifest: Manifest) -> None:
        """Ask the holders that are there now, if they are others than before and each shard has one that answers."""
        names = {each.name for each in self._names(url) if each.generation == manifest.generation}
        if names != calls.names and isinstance(calls.transport, _Holders):
            replicas = self._replicas(url, manifest, calls.transport)
            if replicas is not None:
                calls.change(replicas)

    def _replicas(self, url: str, manifest: Manifest, transport: _Holders) -> dict[int, list[str]] | None:
        """The holders of each shard, those that answer first; None if a shard has none that answers."""
        by_shard: dict[int, list[str]] = {number: [] for number in range(len(manifest.shards))}
        for holder in self._names(url):
            if holder.generation == manifest.generation and transport.open(holder.name):
                for number in holder.shards:
                    by_shard[number].append(holder.name)
        present = transport.answering({name for names in by_shard.values() for name in names}, self.patience.replica)
        for replicas in by_shard.values():
            replicas.sort(key=lambda name: name not in present)
            if not replicas or replicas[0] not in present:
                return None
        return by_shard


class _Holders:
    """Requests to holders, and what comes of them."""

    def __init__(self) -> None:
        self._actors: dict[str, Any] = {}

    def open(self, name: str) -> bool:
        """Find a holder by its name; False if it is gone."""
        actor = _actor(name)
        if actor is not None:
            self._actors[name] = actor
        return actor is not None

    def answering(self, names: Iterable[str], seconds: float) -> set[str]:
        """Those of some holders that answer in time."""
        probes = {self.probe(name): name for name in names}
        if probes:
            ray.wait(list(probes), num_returns=len(probes), timeout=seconds)
        present = set()
        for probe, name in probes.items():
            with suppress(RayError):  # GetTimeoutError is one
                ray.get(probe, timeout=0)
                present.add(name)
        return present

    def ask(self, replica: str, method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> Sequence[Hashable]:
        """Ask a holder, without waiting."""
        batch = _Batch(self._actors[replica].answer.remote(method, requests))
        return [_Part(batch, place) for place in range(len(requests))]

    def probe(self, replica: str) -> Hashable:
        """Ask a holder whether it is there, without waiting."""
        reference: Hashable = self._actors[replica].state.remote()
        return reference

    def wait(self, references: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        """Wait until at least one answer is there; those that are."""
        ready = set(_ready(list({_sent(each): None for each in references}), seconds))
        return [each for each in references if _sent(each) in ready]

    def outcome(self, reference: Hashable) -> Any:
        """An answer that is there."""
        return reference.batch.answer(reference.place) if isinstance(reference, _Part) else _outcome(reference)


class _Batch:
    """Requests that a holder was asked together, and their answers once they were read."""

    def __init__(self, sent: Hashable) -> None:
        self.sent = sent
        self._answers: list[Any] | None = None

    def answer(self, place: int) -> Any:
        """One of the answers, which are there."""
        if self._answers is None:
            self._answers = _outcome(self.sent)
        return self._answers[place]


@dataclass(frozen=True, slots=True)
class _Part:
    """One request of a batch."""

    batch: _Batch
    place: int


def _sent(reference: Hashable) -> Hashable:
    """What Ray knows a reference by."""
    return reference.batch.sent if isinstance(reference, _Part) else reference


_choose_node = services.get_node_to_connect_for_driver


def _own_node(own: str, client: Any, **options: Any) -> Any:
    """The node of this machine that this process belongs to: the one with the address `own`, if there are several.

    Ray prefers the head; but when a head is started again, it ends whatever belonged to the one before.
    """
    return _choose_node(_WithoutHead(own, client), **options)


@dataclass(frozen=True, slots=True)
class _WithoutHead:
    own: str
    client: Any

    def get_all_node_info(self, **options: Any) -> dict[Any, Any]:
        """The nodes of this machine but the head; that one, if there are no others."""
        every = self.client.get_all_node_info(**options)
        nodes = {id: node for id, node in every.items() if not node.is_head_node}
        return {id: node for id, node in nodes.items() if node.node_manager_address == self.own} or nodes or every


class _BuilderProcesses:
    """The processes that build, which end with this one."""

    def cores(self) -> dict[str, int]:
        """The cores of each node that can build."""
        try:
            return {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if _holds(node)}
        except (RayError, RuntimeError, ConnectionError, TimeoutError, ValueError) as error:
            raise Lost(f"the head: {type(error).__name__}") from None

    def start(self, node: str) -> Any:
        """A new process on a node."""
        try:
            strategy = NodeAffinitySchedulingStrategy(node, soft=False)
            return Builder.options(scheduling_strategy=strategy).remote()  # type: ignore[attr-defined]  # of Ray
        except (RayError, RuntimeError, ConnectionError, TimeoutError, ValueError) as error:
            raise Lost(f"the head: {type(error).__name__}") from None

    def ask(self, process: Any) -> Hashable:
        """Ask a process whether it is there."""
        reference: Hashable = process.answer.remote()
        return reference

    def run(self, process: Any, function: Callable[..., Any], arguments: tuple[Any, ...], most: int) -> Hashable:
        """Run a function in a process."""
        reference: Hashable = process.run.remote(function, arguments, most)
        return reference

    def wait(self, references: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        """Wait until at least one answer is there; those that are."""
        return _ready(references, seconds)

    def outcome(self, reference: Hashable) -> Any:
        """An answer that is there."""
        return _outcome(reference)

    def end(self, process: Any) -> None:
        """End a process, by itself if it can hear us, which needs no head; else by the head."""
        with suppress(RayError, ValueError):
            process.end.remote()
            ray.kill(process)


def _ready(references: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
    ready, rest = ray.wait(list(references), num_returns=1, timeout=seconds)
    if ready and rest:
        ready = [*ready, *ray.wait(rest, num_returns=len(rest), timeout=0)[0]]
    return list(ready)


def _outcome(reference: Hashable) -> Any:
    """The value of a reference that is ready; a lost process or node is `Lost`, an error in our code is itself."""
    try:
        return ray.get(reference, timeout=0.5)
    except RayTaskError as error:
        raise error.as_instanceof_cause() from None
    except (RayError, GetTimeoutError, TaskCancelledError) as error:
        raise Lost(type(error).__name__) from None


def _cores() -> int:
    return int(sum(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]))


def _holds(node: dict[str, Any]) -> bool:
    return bool(node["Alive"] and node["Resources"].get(RESOURCE))


def _name(url: str, generation: int, shards: Sequence[int], replica: int) -> str:
    """A name that no other holder has had, so that those who know its actor know when it is another one."""
    return f"{digest(url)} {generation} {','.join(map(str, shards))} {replica} {token_hex(4)}"


def _actor(name: str) -> Any:
    """The holder of a name; None if it is gone."""
    try:
        return ray.get_actor(name, NAMESPACE)
    except ValueError:
        return None


def _with_state(holder: HolderState, state: dict[str, Any]) -> HolderState:
    return replace(holder, alive=True, node=state["node"], process=state["process"])


def _reason(error: Exception) -> str:
    """The last line of what a process raised."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else type(error).__name__


# ---------------------------------------------------------------------------- nodes


def node_command(ip: str, join: str | None, port: int, cores: int | None, folder: Path | None) -> list[str]:
    """The module and the arguments that run the head, or a node that joins it, until they are stopped."""
    words = ["rprs.cluster.starting", "start", f"--node-ip-address={ip}", "--block", "--disable-usage-stats"]
    words += [f"--object-store-memory={OBJECTS}", "--include-log-monitor=false"]
    words += [] if folder is None else [f"--temp-dir={folder}"]
    if join is None:
        return [*words, "--head", f"--port={port}", "--num-cpus=0", "--include-dashboard=false"]
    words += [f"--address={join}", f"--resources={json.dumps({RESOURCE: CAPACITY})}"]
    return words if cores is None else [*words, f"--num-cpus={cores}"]


def run_ray(words: Sequence[str]) -> None:
    """Run a command of Ray. The password of Redis is taken from the environment, and is on no command line."""
    from ray.scripts.scripts import cli

    options = []
    if username := os.environ.get("RAY_REDIS_USERNAME"):
        options.append(f"--redis-username={username}")
    if password := os.environ.pop("RAY_REDIS_PASSWORD", ""):
        options.append(f"--redis-password={password}")
        services.start_ray_process = partial(_start_process, services.start_ray_process, password)
    cli([*words, *options])


def _start_process(start: Callable[..., Any], password: str, command: Sequence[str], kind: str, **options: Any) -> Any:
    """Start a process of Ray; the one that uses Redis reads the password from its environment, which gflags offers."""
    words = [word.replace(f"--redis_password={password}", "--fromenv=redis_password") for word in command]
    if words != list(command):
        options["env_updates"] = {**(options.get("env_updates") or {}), "FLAGS_redis_password": password}
    # Commands of workers have it, too, under several names; they do not need it.
    return start([word.replace(f"password={password}", "password=") for word in words], kind, **options)


def forget_last_head(folder: Path | None) -> None:
    """Let a head start again beside nodes of this machine that outlived it.

    Ray would take them for a sign that it still runs, if the head before has noted its address in the same folder.
    """
    Path(get_ray_address_file(folder)).unlink(missing_ok=True)


class LocalNodes:
    """A head and some nodes as processes of this machine, which nothing but this machine can reach."""

    def __init__(self, nodes: int, cores: int, folder: str) -> None:
        from ray.cluster_utils import Cluster

        shared = {"object_store_memory": OBJECTS, "temp_dir": folder, "include_log_monitor": False}
        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **shared}
        )
        options = {"num_cpus": cores, "resources": {RESOURCE: CAPACITY}, **shared}
        self._nodes = [self._cluster.add_node(**options) for _ in range(nodes)]
        self.address = str(self._cluster.address)

    @property
    def processes(self) -> list[int]:
        """The process that each node consists of, as far as faults are concerned: Ray's raylet."""
        return [node.all_processes["raylet"][0].process.pid for node in self._nodes]

    def close(self) -> None:
        """End all processes."""
        self._cluster.shutdown()
