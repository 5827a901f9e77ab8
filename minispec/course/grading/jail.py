"""Shuts a process in, with what the system allows, and says what it got.

Runs in the worker, before the submission is loaded, and imports nothing of minispec. On Linux the layers are, from the
outside in: namespaces (an own root of read-only libraries, no other processes, no network), another user id, Landlock
where namespaces are refused, resource limits, and a seccomp filter. Each is tried by itself, and what is missing is
missing in the report too. Elsewhere there are resource limits only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import Any, NoReturn

LAYERS = ("namespaces", "user", "landlock", "limits", "seccomp")
RETRY = 77
"""Exit code of a worker that could make namespaces but not furnish them: start it again without."""
MAX_OUTPUT_MB, MAX_THREADS, MAX_FILES, WORK_MB = 4, 32, 64, 32

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_DETACH, _PDEATHSIG, _SECCOMP, _SECCOMP_FILTER, _NO_NEW_PRIVS, _NOBODY = 2, 1, 22, 2, 38, 65534
_ARCH = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_EPERM, _ENOSYS, _CLONE_THREAD = 1, 38, 0x10000

# Numbers of system calls on x86-64 and aarch64 (-1: there is none).
_PIVOT_ROOT, _CAPSET, _CLONE, _PRLIMIT = (155, 41), (126, 91), (56, 220), (302, 261)
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # on both
_DENIED = {
    "socket": (41, 198), "socketpair": (53, 199), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "unshare": (272, 97), "setns": (308, 268), "fork": (57, -1), "vfork": (58, -1),
    "execve": (59, 221), "execveat": (322, 281), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "open_by_handle_at": (304, 265), "pidfd_getfd": (438, 438), "kill": (62, 129),
    "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190),
    "semctl": (66, 191), "semop": (65, 193), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189),
    "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "setpriority": (141, 140),
    "sched_setscheduler": (144, 119), "sched_setattr": (314, 274), "sched_setaffinity": (203, 122),
    "ioprio_set": (251, 30), "process_madvise": (440, 440),
}  # fmt: skip
_NOT_THERE = {"clone3": (435, 435), "openat2": (437, 437)}
"""Their arguments cannot be looked at; libraries do without where they are not there."""
_SET_ID = 0o6000
_DENIED_ARGUMENTS = {
    # Name: numbers, which argument, refused values (for modes: any of these bits).
    "fcntl": ((72, 25), 1, (8, 10, 15, 1024, 1026)),  # who gets a descriptor's signals: F_SETOWN and its kin, leases
    "ioctl": ((16, 29), 1, (0x8901, 0x8902, 0x5452, 0x5412)),  # FIOSETOWN, SIOCSPGRP, FIOASYNC, TIOCSTI
    "prctl": ((157, 167), 0, (1,)),  # PR_SET_PDEATHSIG: to outlive the grader
}
_DENIED_MODES = {
    "chmod": ((90, -1), 1),
    "fchmod": ((91, 52), 1),
    "fchmodat": ((268, 53), 2),
    "fchmodat2": ((452, 452), 2),
    "open": ((2, -1), 2),
    "creat": ((85, -1), 1),
    "openat": ((257, 56), 3),
    "mknod": ((133, -1), 1),
    "mknodat": ((259, 33), 2),
}


def enter(wanted: dict[str, Any]) -> tuple[dict[str, bool], str]:
    """Shut this process in; where that takes forks, only the innermost process returns.

    Parameters
    ----------
    wanted : dict
        ``layers`` (those to try), ``root`` and ``work`` (empty folders of ours), ``libraries`` (folders to see),
        ``packages`` (name to folder or file), ``uid``, ``memory_mb``, ``cpu_s``, ``close`` (file descriptors that
        only the innermost process keeps).

    Returns
    -------
    layers : dict
        Which hold.
    folder : str
        Where the submission may write.
    """
    layers, got = set(wanted["layers"]), dict.fromkeys(LAYERS, False)
    is_root, parent = os.geteuid() == 0, os.getppid()
    work = wanted["work"]
    linux = sys.platform == "linux" and platform.machine() in _ARCH
    may_change = is_root and _is_known(wanted["uid"])
    if linux and "namespaces" in layers and _unshare(is_root):
        die_with_parent(parent)  # other credentials make the kernel forget it
        _furnish(wanted, owner=wanted["uid"] if may_change else -1)
        _fork_twice(wanted["close"])
        got["namespaces"], work = True, "/work"
    if may_change and "user" in layers and (got["namespaces"] or _may_read(wanted)):
        os.chown(work, wanted["uid"], wanted["uid"])
        os.setgroups([])
        os.setresgid(*[wanted["uid"]] * 3)
        os.setresuid(*[wanted["uid"]] * 3)
        got["user"] = True
    if linux:
        die_with_parent(1 if got["namespaces"] else parent)
        _drop_privileges()
        if "landlock" in layers and not got["namespaces"]:
            got["landlock"] = _landlock(wanted)
    got["limits"] = _limit(wanted, is_own_user=got["user"] or got["namespaces"])
    if linux and "seccomp" in layers:
        got["seccomp"] = _filter_calls()
    os.chdir(work)
    return got, work


def die_with_parent(parent: int) -> None:
    """End when the process that started this one ends, however that comes about.

    Parameters
    ----------
    parent : int
        Its process id; it may be gone already.
    """
    if sys.platform == "linux":
        _call("prctl", _PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *args: Any) -> None:
    """Call libc and raise OSError where it fails."""
    if getattr(_libc(), name)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _unshare(is_root: bool) -> bool:
    flags = _NEWNS | _NEWUTS | _NEWIPC | _NEWPID | _NEWNET
    uid, gid = os.getuid(), os.getgid()
    try:
        _call("unshare", flags if is_root else flags | _NEWUSER)
    except OSError:
        return False
    if not is_root:
        with contextlib.suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny")
        try:
            Path("/proc/self/uid_map").write_text(f"{_NOBODY} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{_NOBODY} {gid} 1")
        except OSError:
            os._exit(RETRY)
    return True


def _furnish(wanted: dict[str, Any], *, owner: int) -> None:
    """Make a root of our own: libraries and packages read-only, one small folder to write to, and go there."""
    root = wanted["root"]
    try:
        _mount(None, "/", None, _REC | _PRIVATE)
        _mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, f"size={WORK_MB}m,nr_inodes=2000,mode=755")
        for path in wanted["libraries"]:
            _bind(path, root + path)
            for packages in [*Path(path).glob("python3*/*-packages"), *Path(path).glob("*-packages")]:
                if packages.is_dir():
                    _mount("tmpfs", root + str(packages), "tmpfs", _RDONLY | _NOSUID | _NODEV, "size=4k,mode=755")
        for name, path in wanted["packages"].items():
            _bind(path, f"{root}/packages/{name}")
        for link in ("/lib", "/lib64"):
            if os.path.islink(link) and not os.path.lexists(root + link):
                os.symlink(os.readlink(link), root + link)
        for device in ("/dev/null", "/dev/urandom"):
            _bind(device, root + device, read_only=False)
        for folder in ("/work", "/old"):
            os.mkdir(root + folder, 0o700)
        os.chown(root + "/work", owner, -1)
        os.chdir(root)
        if _libc().syscall(_number(_PIVOT_ROOT), b".", b"old") != 0:
            raise OSError("pivot_root")
        os.chdir("/")
        _call("umount2", b"/old", _DETACH)
    except OSError:
        os._exit(RETRY)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    def text(value: str | None) -> bytes | None:
        return None if value is None else value.encode()

    _call("mount", text(source), text(target), text(kind), ctypes.c_ulong(flags), text(data))


def _bind(path: str, target: str, *, read_only: bool = True) -> None:
    """Show a file or folder at another place; flags that are locked on it have to be kept."""
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        Path(target).touch()
    _mount(path, target, None, _BIND | _REC)
    kept = os.statvfs(target).f_flag & (_NOSUID | _NODEV | _NOEXEC | _RDONLY | 0x400 | 0x800 | 0x1000)
    atime = {0x400: 1024, 0x800: 2048, 0x1000: 1 << 21}  # noatime, nodiratime, relatime: ST_ flag to MS_ flag
    flags = sum(atime.get(bit, bit) for bit in (1 << n for n in range(13)) if kept & bit)
    _mount(None, target, None, flags | _BIND | _REMOUNT | _NOSUID | (_RDONLY if read_only else 0))


def _fork_twice(close: list[int]) -> None:
    """Go on as the child of the first process of the new namespace; when that one ends, the kernel ends all of it."""
    for _ in range(2):
        child = os.fork()
        if child:
            for fd in close:
                os.close(fd)
            _wait_for(child)
        _call("prctl", _PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _wait_for(child: int) -> NoReturn:
    """Wait for one child, reap others, and end as it did."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _is_known(uid: int) -> bool:
    """Whether this system, which may be a container without root's rights outside, has such a user and group."""
    for name in ("uid_map", "gid_map"):
        with contextlib.suppress(FileNotFoundError):  # not Linux
            ranges = [map(int, line.split()) for line in Path(f"/proc/self/{name}").read_text().splitlines()]
            if not any(first <= uid < first + count for first, _, count in ranges):
                return False
    return True


def _may_read(wanted: dict[str, Any]) -> bool:
    """Whether another user can reach the libraries."""
    for path in [*wanted["libraries"], *wanted["packages"].values()]:
        real = Path(path).resolve()
        if any(not folder.stat().st_mode & 0o001 for folder in real.parents):
            return False
    return True


def _drop_privileges() -> None:
    header, data = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    _libc().syscall(_number(_CAPSET), header, data)
    _call("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)


def _number(numbers: tuple[int, int]) -> int:
    return numbers[_ARCH[platform.machine()][0]]


def _landlock(wanted: dict[str, Any]) -> bool:
    """Allow reading libraries and packages, and writing the work folder; no TCP; no signals to others."""
    libc = _libc()
    abi = libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if abi < 1:
        return False
    files = (1 << (13 + (abi >= 2) + (abi >= 3) + 0)) - 1 | ((1 << 15) if abi >= 5 else 0)
    ruleset = struct.pack("=QQQ", files, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    fd = libc.syscall(_LANDLOCK_CREATE, ruleset, size, 0)
    if fd < 0:
        return False
    read_file, read_folder, make_special = 1 << 2, 1 << 3, 1 << 0 | 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11
    readable = [*wanted["libraries"], *wanted["packages"].values(), wanted["links"], "/dev/urandom", "/dev/null"]
    rules = [(path, read_file | (read_folder if os.path.isdir(path) else 0)) for path in readable]
    for path, access in [*rules, (wanted["work"], files & ~make_special)]:
        place = os.open(path, os.O_PATH)
        added = libc.syscall(_LANDLOCK_ADD, fd, 1, struct.pack("=Qi", access, place), 0)
        os.close(place)
        if added != 0:
            return False
    done = bool(libc.syscall(_LANDLOCK_RESTRICT, fd, 0) == 0)
    os.close(fd)
    return done


def _limit(wanted: dict[str, Any], *, is_own_user: bool) -> bool:
    """Limit what can be; return whether all limits hold. macOS refuses some, and does not mind that of memory."""
    held = sys.platform != "darwin"

    def limit(what: int, soft: int, hard: int | None = None) -> None:
        nonlocal held
        top = resource.getrlimit(what)[1]
        bound = soft if hard is None else hard
        allowed = bound if top == resource.RLIM_INFINITY else min(bound, top)
        try:
            resource.setrlimit(what, (min(soft, allowed), allowed))
        except (OSError, ValueError):
            held = False

    limit(resource.RLIMIT_AS, wanted["memory_mb"] << 20)
    limit(resource.RLIMIT_CPU, wanted["cpu_s"], wanted["cpu_s"] + 1)
    limit(resource.RLIMIT_FSIZE, MAX_OUTPUT_MB << 20)
    limit(resource.RLIMIT_NOFILE, MAX_FILES)
    limit(resource.RLIMIT_CORE, 0)
    if is_own_user:  # otherwise all processes of this user count
        limit(resource.RLIMIT_NPROC, MAX_THREADS)
    return held


def _filter_calls() -> bool:
    """Refuse system calls that only harm: processes, programs, sockets, signals, shared memory, set-id files."""
    _, arch = _ARCH[platform.machine()]
    load, equal, above, has_bit, done = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill, refuse = 0x7FFF0000, 0x80000000, 0x00050000
    code = [(load, 0, 0, 4), (equal, 1, 0, arch), (done, 0, 0, kill), (load, 0, 0, 0)]
    code += [(above, 0, 1, 0x40000000), (done, 0, 0, refuse | _EPERM)]  # x32 calls on x86-64
    for denied, number in ((_DENIED, _EPERM), (_NOT_THERE, _ENOSYS)):
        for numbers in denied.values():
            if _number(numbers) >= 0:
                code += [(equal, 0, 1, _number(numbers)), (done, 0, 0, refuse | number)]
    tests = [(numbers, which, equal, values) for numbers, which, values in _DENIED_ARGUMENTS.values()]
    tests += [(numbers, which, has_bit, (_SET_ID,)) for numbers, which in _DENIED_MODES.values()]
    for numbers, which, test, values in tests:
        if _number(numbers) >= 0:
            code += [(equal, 0, 2 + 2 * len(values), _number(numbers)), (load, 0, 0, 16 + 8 * which)]
            code += [step for value in values for step in ((test, 0, 1, value), (done, 0, 0, refuse | _EPERM))]
            code.append((done, 0, 0, allow))
    for numbers, test, value in ((_CLONE, has_bit, _CLONE_THREAD), (_PRLIMIT, equal, 0)):
        code += [(equal, 0, 4, _number(numbers)), (load, 0, 0, 16), (test, 0, 1, value)]
        code += [(done, 0, 0, allow), (done, 0, 0, refuse | _EPERM)]
    code.append((done, 0, 0, allow))
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(program)))
    return bool(_libc().prctl(_SECCOMP, _SECCOMP_FILTER, header, 0, 0) == 0)
