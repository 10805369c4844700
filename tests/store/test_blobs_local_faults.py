"""The local store under full disks, refusing file systems, kills and rotten memory.

The kernel itself does the harm where it can: a small tmpfs, a read-only mount, a file size limit,
and seccomp filters that let one system call fail in a child process.
"""

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import io
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from blob_sources import stream

from tgv_dagster.store.blobs import (
    Assurance,
    BlobMissing,
    BlobTooLarge,
    Incoming,
    LocalBlobStore,
    ReadBackMismatch,
    SourceUnreadable,
    Step,
    StoreDenied,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreNotThere,
    StoreReadOnly,
    StoreUnreachable,
    Verified,
    blob_key,
)

CONTENT = b"Vertrag " * 100_000
KEY = blob_key(hashlib.sha256(CONTENT).hexdigest())
SYSCALLS = {
    "x86_64": {"fsync": 74, "linkat": 265, "fadvise64": 221, "flock": 73},
    "aarch64": {"fsync": 82, "linkat": 37, "fadvise64": 223, "flock": 32},
}


def files(root: Path) -> list[str]:
    found = (path for path in root.rglob("*") if path.is_file())
    return sorted(str(p.relative_to(root)) for p in found if p.name != "tgv-store.json")


def in_child(act: Callable[[], object]) -> int:
    """Run `act` in a forked child; return its exit code, negative for the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 99
        with contextlib.suppress(BaseException):
            act()
            code = 0
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def outcome_in_child(act: Callable[[], object]) -> str:
    """Run `act` in a forked child; return `ok` or the name and text of its error."""
    read, write = os.pipe()

    def report() -> None:
        try:
            act()
            text = "ok"
        except StoreError as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write, text.encode())

    in_child(report)
    os.close(write)
    with os.fdopen(read) as answer:
        return answer.read()


class _Instruction(ctypes.Structure):
    _fields_ = [  # the form ctypes asks for
        ("code", ctypes.c_uint16),
        ("jump_true", ctypes.c_uint8),
        ("jump_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_uint16),
        ("instructions", ctypes.POINTER(_Instruction)),
    ]


def refuse(name: str, code: int) -> None:
    """Let the kernel answer one system call of this process with an error from now on."""
    number = SYSCALLS[platform.machine()][name]
    lines = (_Instruction * 4)(
        _Instruction(0x20, 0, 0, 0),  # load the number of the call
        _Instruction(0x15, 0, 1, number),  # go on when it is this one, else skip a line
        _Instruction(0x06, 0, 0, 0x00050000 | code),  # answer with the error
        _Instruction(0x06, 0, 0, 0x7FFF0000),  # allow
    )
    program = _Program(len(lines), lines)
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(
        set_seccomp, filter_mode, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "no seccomp filter")


@contextlib.contextmanager
def tmpfs(place: Path, size: str) -> Iterator[Path]:
    """Mount a small file system. Raises `CalledProcessError` where this user may not."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


def _may_mount() -> bool:
    with tempfile.TemporaryDirectory() as scratch:
        try:
            with tmpfs(Path(scratch) / "probe", "64k"):
                return True
        except (subprocess.CalledProcessError, OSError):
            return False


MAY_MOUNT = _may_mount()
FULL_DISK = "tmpfs of 1 MiB" if MAY_MOUNT else "file size limit of 256 KiB"
READ_ONLY = "read-only mount" if MAY_MOUNT else "directory without write permission"


def limit_file_size(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.mark.parametrize("way", [FULL_DISK])
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path, way: str) -> None:
    def fill(root: Path) -> None:
        store = LocalBlobStore(root)
        kept = store.put("acme", io.BytesIO(b"small enough"))
        if not MAY_MOUNT:
            limit_file_size(256 * 1024)
        with pytest.raises((StoreFull, BlobTooLarge), match=r"[Ff]ree space|file size limit"):
            store.put("acme", io.BytesIO(CONTENT * 3))
        assert files(root) == [f"acme/{kept.key}"]
        assert not store.put("acme", io.BytesIO(b"small enough too")).already_there

    if MAY_MOUNT:
        with tmpfs(tmp_path / "small", "1m") as root:
            fill(root)
    else:
        assert in_child(lambda: fill(tmp_path)) == 0


def test_a_file_size_limit_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    store = LocalBlobStore(tmp_path)

    def put() -> None:
        limit_file_size(256 * 1024)
        store.put("acme", io.BytesIO(CONTENT))

    outcome = outcome_in_child(put)

    assert outcome.startswith("BlobTooLarge")
    assert "ulimit" in outcome
    assert files(tmp_path) == []


@pytest.mark.parametrize("way", [READ_ONLY])
def test_a_read_only_store_is_said_and_can_be_read(tmp_path: Path, way: str) -> None:
    root = tmp_path / "store"
    if MAY_MOUNT:
        with tmpfs(root, "4m"):
            key = LocalBlobStore(root).put("acme", io.BytesIO(CONTENT)).key
            subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
            _read_but_not_write(root, key, StoreReadOnly)
    else:
        key = LocalBlobStore(root).put("acme", io.BytesIO(CONTENT)).key
        for directory in (root, *(path for path in root.rglob("*") if path.is_dir())):
            directory.chmod(0o500)
        _read_but_not_write(root, key, StoreDenied)


def _read_but_not_write(root: Path, key: str, refusal: type[StoreError]) -> None:
    store = LocalBlobStore(root)
    assert store.verify("acme", key) == Verified(key[-64:], len(CONTENT))
    with pytest.raises(refusal):
        store.put("acme", io.BytesIO(b"new"))
    with pytest.raises(refusal):
        store.delete("acme", key)
    assert files(root) == [f"acme/{key}"]


def test_a_store_of_somebody_else_is_denied(tmp_path: Path) -> None:
    """As another user where the test runs as root, whom no permission stops."""
    root = tmp_path / "store"
    key = LocalBlobStore(root).put("acme", io.BytesIO(CONTENT)).key
    for path in (tmp_path, *tmp_path.parents):
        if path.is_relative_to(tempfile.gettempdir()) and path != Path(tempfile.gettempdir()):
            path.chmod(0o755)
    for path in (root, *root.rglob("*")):
        path.chmod(0o555)
    store = LocalBlobStore(root)
    (root / "acme" / key).chmod(0)

    def become_other() -> None:
        # Whoever may not become another user is no user whom permissions do not stop.
        with contextlib.suppress(PermissionError):
            os.setegid(65534)
            os.seteuid(65534)

    def put() -> None:
        become_other()
        store.put("acme", io.BytesIO(b"new"))

    def verify() -> None:
        become_other()
        verdict = store.verify("acme", key)
        raise StoreError(type(verdict).__name__, "as seen by another user")

    assert outcome_in_child(put).startswith("StoreDenied")
    assert outcome_in_child(verify).startswith("StoreError: Unreachable")


@pytest.mark.parametrize(
    ("call", "code", "error"),
    [
        ("fsync", errno.EIO, "StoreFailed"),
        ("fsync", errno.ENOSPC, "StoreFull"),
        ("fsync", errno.EDQUOT, "StoreFull"),
        ("linkat", errno.ENOSPC, "StoreFull"),
        ("linkat", errno.EROFS, "StoreReadOnly"),
        ("linkat", errno.EACCES, "StoreDenied"),
        ("linkat", errno.ESTALE, "StoreUnreachable"),
        ("linkat", errno.EMFILE, "StoreFailed"),
    ],
)
def test_an_error_of_the_system_has_its_type_and_leaves_nothing(
    tmp_path: Path, call: str, code: int, error: str
) -> None:
    store = LocalBlobStore(tmp_path)

    def put() -> None:
        refuse(call, code)
        store.put("acme", io.BytesIO(CONTENT))

    assert outcome_in_child(put).startswith(error)
    assert files(tmp_path) == []
    assert not store.put("acme", io.BytesIO(CONTENT)).already_there


@pytest.mark.parametrize("call", ["linkat", "flock"])
def test_file_systems_without_links_or_locks_serve(tmp_path: Path, call: str) -> None:
    store = LocalBlobStore(tmp_path)

    def put_twice() -> None:
        refuse(call, errno.ENOTSUP)
        first = store.put("acme", io.BytesIO(CONTENT))
        again = store.put("acme", io.BytesIO(CONTENT))
        assert (first.already_there, again.already_there) == (False, True)

    assert in_child(put_twice) == 0
    assert files(tmp_path) == [f"acme/{KEY}"]
    assert store.verify("acme", KEY) == Verified(KEY[-64:], len(CONTENT))


def test_a_directory_that_cannot_be_synced_is_stated(tmp_path: Path) -> None:
    store = LocalBlobStore(tmp_path)
    synced = store.durability.fsynced

    def put() -> None:
        mine = LocalBlobStore(
            tmp_path,
            on_step=lambda step: refuse("fsync", errno.EINVAL) if step is Step.LINKED else None,
        )
        mine.put("acme", io.BytesIO(CONTENT))
        assert mine.durability.fsynced == Assurance.NOT_OFFERED

    assert synced == Assurance.DONE
    assert in_child(put) == 0
    assert files(tmp_path) == [f"acme/{KEY}"]


def test_a_name_that_cannot_be_made_durable_is_no_success(tmp_path: Path) -> None:
    """The second file of a directory, so that no sync but that of its own name is due."""
    ready: list[bool] = []
    store = LocalBlobStore(
        tmp_path,
        on_step=lambda step: refuse("fsync", errno.EIO) if step is Step.LINKED and ready else None,
    )
    store.put_sidecar("acme", "one.json", b"{}")

    def put() -> None:
        ready.append(True)
        store.put_sidecar("acme", "two.json", b"{}")

    assert outcome_in_child(put).startswith("StoreFailed")


def test_every_new_directory_is_synced_once(tmp_path: Path) -> None:
    """Directories opened as such are those that are synced; the hook cannot be taken off again."""
    opened: list[str] = []

    def watch(event: str, details: tuple[object, ...]) -> None:
        if event == "open" and isinstance(details[2], int) and details[2] & os.O_DIRECTORY:
            opened.append(str(details[0]))

    def put_two() -> None:
        sys.addaudithook(watch)
        store = LocalBlobStore(tmp_path)
        opened.clear()
        store.put("acme", io.BytesIO(CONTENT))
        bucket = tmp_path / "acme"
        levels = [bucket / KEY[:12], bucket / KEY[:9], bucket / "sha256", bucket, tmp_path]
        assert opened == [str(level) for level in levels]
        opened.clear()
        store.put("acme", io.BytesIO(CONTENT))
        assert opened == [str(bucket / KEY[:12])]

    assert in_child(put_two) == 0


@pytest.mark.parametrize("step", list(Step))
def test_a_kill_at_any_step_leaves_nothing_or_everything(tmp_path: Path, step: Step) -> None:
    LocalBlobStore(tmp_path)

    def die(reached: Step) -> None:
        if reached is step:
            os.kill(os.getpid(), signal.SIGKILL)

    killed = in_child(
        lambda: LocalBlobStore(tmp_path, on_step=die).put("acme", io.BytesIO(CONTENT))
    )

    assert killed == -signal.SIGKILL
    after = LocalBlobStore(tmp_path, stale_seconds=-1)
    visible = list(after.iter_keys("acme"))
    assert visible in ([], [KEY])
    assert (visible == [KEY]) == (list(Step).index(step) >= list(Step).index(Step.LINKED))
    assert files(tmp_path) == [f"acme/{key}" for key in visible]
    assert after.put("acme", io.BytesIO(CONTENT)).already_there == bool(visible)
    assert after.verify("acme", KEY) == Verified(KEY[-64:], len(CONTENT))


def test_a_kill_while_the_source_still_flows_leaves_nothing_visible(tmp_path: Path) -> None:
    LocalBlobStore(tmp_path)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        with contextlib.suppress(BaseException):
            LocalBlobStore(tmp_path).put("acme", os.fdopen(read, "rb", buffering=0))
        os._exit(0)
    os.close(read)
    os.write(write, b"the first half")
    _wait_for(lambda: any(p.stat().st_size for p in tmp_path.glob("acme/incoming/*")))
    living = LocalBlobStore(tmp_path, stale_seconds=-1).swept
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(write)

    assert (living.removed, living.kept) == (0, 1)
    after = LocalBlobStore(tmp_path, stale_seconds=-1)
    assert after.swept.removed == 1
    assert files(tmp_path) == []


def test_randomly_killed_writers_leave_only_whole_blobs(tmp_path: Path) -> None:
    LocalBlobStore(tmp_path)
    contents = [bytes([n]) * (40_000 + n) for n in range(30)]

    def write_all() -> None:
        store = LocalBlobStore(tmp_path)
        while True:
            for content in contents:
                store.delete("acme", store.put("acme", io.BytesIO(content)).key)
                store.put("acme", io.BytesIO(content))

    for delay in (0.005, 0.011, 0.017, 0.023, 0.031, 0.043, 0.059, 0.083):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                write_all()
            os._exit(0)
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        store = LocalBlobStore(tmp_path, stale_seconds=-1)
        for key in store.iter_keys("acme"):
            assert isinstance(store.verify("acme", key), Verified)
        assert [f for f in files(tmp_path) if "/sha256/" not in f] == []


def _wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        threading.Event().wait(0.005)


GROUP = [bytes([n]) * 5000 for n in range(6)]


@pytest.mark.parametrize("number", [1, 4, 6])
@pytest.mark.parametrize("step", list(Step))
def test_a_kill_inside_a_group_leaves_each_blob_whole_or_away(
    tmp_path: Path, step: Step, number: int
) -> None:
    LocalBlobStore(tmp_path)
    passed: list[Step] = []

    def die(reached: Step) -> None:
        passed.append(reached)
        if passed.count(step) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def incoming() -> list[Incoming]:
        return [Incoming("acme", io.BytesIO(content)) for content in GROUP]

    killed = in_child(lambda: LocalBlobStore(tmp_path, on_step=die).put_all(incoming()))

    assert killed == -signal.SIGKILL
    after = LocalBlobStore(tmp_path, stale_seconds=-1)
    visible = list(after.iter_keys("acme"))
    assert all(isinstance(after.verify("acme", key), Verified) for key in visible)
    steps = list(Step)
    if steps.index(step) < steps.index(Step.LINKED):
        assert visible == []
    if steps.index(step) > steps.index(Step.LINKED):
        assert len(visible) == len(GROUP)
    assert sum(one.already_there for one in after.put_all(incoming())) == len(visible)
    assert len(list(after.iter_keys("acme"))) == len(GROUP)


def test_no_blob_of_a_group_gets_its_name_before_all_are_synced(tmp_path: Path) -> None:
    steps: list[Step] = []
    store = LocalBlobStore(tmp_path)
    LocalBlobStore(tmp_path, on_step=steps.append).put_all(
        Incoming("acme", io.BytesIO(content)) for content in GROUP
    )
    assert len(list(store.iter_keys("acme"))) == len(GROUP)
    assert steps.index(Step.LINKED) > max(n for n, s in enumerate(steps) if s is Step.READ_BACK)
    assert steps.index(Step.READ_BACK) > max(n for n, s in enumerate(steps) if s is Step.SYNCED)


def test_a_source_that_fails_inside_a_group_leaves_nothing(tmp_path: Path) -> None:
    closed = io.BytesIO(b"x")
    closed.close()
    store = LocalBlobStore(tmp_path)
    with pytest.raises(SourceUnreadable):
        store.put_all([Incoming("acme", io.BytesIO(b"a")), Incoming("acme", closed)])
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "harm",
    [lambda b: b[:-1], lambda b: b + b"!", lambda b: b"\0" + b[1:]],
    ids=["shorter", "longer", "changed"],
)
def test_what_reads_back_differently_is_not_published(
    tmp_path: Path, harm: Callable[[bytes], bytes]
) -> None:
    def rot(step: Step) -> None:
        if step is Step.SYNCED:
            (temp,) = tmp_path.glob("acme/incoming/*")
            temp.chmod(0o600)
            temp.write_bytes(harm(CONTENT))

    store = LocalBlobStore(tmp_path)
    rotting = LocalBlobStore(tmp_path, on_step=rot)

    with pytest.raises(ReadBackMismatch, match="nothing was stored"):
        rotting.put("acme", io.BytesIO(CONTENT))

    assert files(tmp_path) == []
    assert not store.exists("acme", KEY)


def test_young_and_locked_files_are_not_swept(tmp_path: Path) -> None:
    LocalBlobStore(tmp_path).put("acme", io.BytesIO(b"x"))
    incoming = tmp_path / "acme" / "incoming"
    young, old, locked = (incoming / f"{name}.part" for name in ("young", "old", "locked"))
    for path in (young, old, locked):
        path.write_bytes(b"half")
    for path in (old, locked):
        os.utime(path, (time.time() - 7200, time.time() - 7200))

    with locked.open("rb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        swept = LocalBlobStore(tmp_path).swept

    assert (swept.removed, swept.kept) == (1, 2)
    assert sorted(path.name for path in incoming.iterdir()) == ["locked.part", "young.part"]


@pytest.mark.parametrize("mode", ["ab", "r+b"])
def test_a_file_that_changes_while_it_is_read_is_not_stored(tmp_path: Path, mode: str) -> None:
    source = tmp_path / "scan.pdf"
    source.write_bytes(bytes(48 << 20))
    stop = threading.Event()

    def scan() -> None:
        with source.open(mode) as scanner:
            while not stop.wait(0.001):
                scanner.write(b"x")
                scanner.flush()

    scanner = threading.Thread(target=scan)
    scanner.start()
    store = LocalBlobStore(tmp_path / "store")
    with pytest.raises(SourceUnreadable, match="changed"):
        store.put("acme", source)
    stop.set()
    scanner.join()

    assert files(tmp_path / "store") == []
    assert store.put("acme", source).size == source.stat().st_size


@pytest.mark.parametrize("kind", ["directory", "named pipe", "absent", "dangling link"])
def test_only_regular_files_are_read_as_sources(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "source"
    match kind:
        case "directory":
            source.mkdir()
        case "named pipe":
            os.mkfifo(source)
        case "dangling link":
            source.symlink_to(tmp_path / "nowhere")
    store = LocalBlobStore(tmp_path / "store")

    with pytest.raises(SourceUnreadable):
        store.put("acme", source)

    assert files(tmp_path / "store") == []


@pytest.mark.parametrize("kind", ["directory", "link", "named pipe"])
def test_something_else_under_the_name_of_a_blob_is_not_taken_for_it(
    tmp_path: Path, kind: str
) -> None:
    store = LocalBlobStore(tmp_path)
    place = tmp_path / "acme" / KEY
    place.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(CONTENT)
    match kind:
        case "directory":
            place.mkdir()
        case "link":
            place.symlink_to(elsewhere)
        case "named pipe":
            os.mkfifo(place)

    with pytest.raises(StoreError):
        store.put("acme", io.BytesIO(CONTENT))
    with pytest.raises(StoreFailed):
        store.open("acme", KEY)
    assert not isinstance(store.verify("acme", KEY), Verified)


def test_a_mount_point_without_its_volume_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreNotThere, match="Mount"):
        LocalBlobStore(tmp_path, create=False)

    assert list(tmp_path.iterdir()) == []


def test_directories_an_administrator_removed_come_back(tmp_path: Path) -> None:
    store = LocalBlobStore(tmp_path)
    key = store.put("acme", io.BytesIO(CONTENT)).key
    store.delete("acme", key)
    for directory in ("acme/incoming", f"acme/{key[:12]}"):
        (tmp_path / directory).rmdir()

    assert not store.put("acme", io.BytesIO(CONTENT)).already_there
    assert store.verify("acme", KEY) == Verified(KEY[-64:], len(CONTENT))


def test_blobs_are_private_and_write_protected(tmp_path: Path) -> None:
    store = LocalBlobStore(tmp_path / "store")
    key = store.put("acme", io.BytesIO(CONTENT)).key

    assert (tmp_path / "store" / "acme" / key).stat().st_mode & 0o777 == 0o400
    assert (tmp_path / "store" / "acme").stat().st_mode & 0o077 == 0


def test_many_processes_set_up_one_store(tmp_path: Path) -> None:
    children = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                LocalBlobStore(tmp_path / "store").put("acme", io.BytesIO(bytes([number]) * 10))
                code = 0
            os._exit(code)
        children.append(child)

    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

    assert codes == [0] * 8
    assert len(list(LocalBlobStore(tmp_path / "store").iter_keys("acme"))) == 8


def test_the_memory_stays_bounded(tmp_path: Path) -> None:
    """64 MiB through a child that may use 16 MiB more than it has."""
    store = LocalBlobStore(tmp_path)
    piece = bytes(1 << 20)

    def put() -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        stored = store.put("acme", stream(*(piece for _ in range(64))))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert stored.size == 64 << 20
        assert grown < 16 * 1024

    assert in_child(put) == 0


def test_a_blob_that_vanishes_while_listed_is_missing(tmp_path: Path) -> None:
    store = LocalBlobStore(tmp_path)
    key = store.put("acme", io.BytesIO(CONTENT)).key
    listing = store.iter_keys("acme")
    assert next(listing) == key

    store.delete("acme", key)

    with pytest.raises(BlobMissing):
        store.open("acme", key)
    assert list(listing) == []


def test_a_lost_directory_in_the_middle_is_unreachable(tmp_path: Path) -> None:
    store = LocalBlobStore(tmp_path)

    def lose(step: Step) -> None:
        if step is Step.READ_BACK:
            tmp_path.joinpath(f"acme/{KEY[:12]}").rmdir()

    losing = LocalBlobStore(tmp_path, on_step=lose)

    with pytest.raises(StoreUnreachable):
        losing.put("acme", io.BytesIO(CONTENT))
    assert files(tmp_path) == []
    assert not store.put("acme", io.BytesIO(CONTENT)).already_there
