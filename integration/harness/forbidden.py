"""What a unit forbids, tried from inside: a row for each directive, or for what
one of many values forbids. Each attempt must fail as the row's errnos say."""
import re

# EPERM, ENOENT, EACCES, EROFS, EAFNOSUPPORT
DENIED = (1, 2, 13, 30, 97)

# Python, which raises OSError when it was refused.
TRIES = {
    "RestrictAddressFamilies packet": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "RestrictAddressFamilies vsock": "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
    "RestrictAddressFamilies netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "RestrictNamespaces user": "call(272, 0x10000000)",
    "RestrictNamespaces cgroup": "call(272, 0x02000000)",
    "RestrictNamespaces net": "call(272, 0x40000000)",
    "RestrictNamespaces mnt": "call(272, 0x00020000)",
    "RestrictRealtime": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
    "RestrictSUIDSGID": "chmod()",
    "LockPersonality": "call(135, 0x0400000)",
    "MemoryDenyWriteExecute": "mmap.mmap(-1, 4096, prot=7)",
    "SystemCallFilter clock": "call(227, 0, 0)",
    "SystemCallFilter debug": "call(101, 0, 0, 0, 0)",
    "SystemCallFilter keyring": "call(250, 0, -3, 0)",
    "SystemCallFilter module": "call(175, 0, 0, 0)",
    "SystemCallFilter raw-io": "call(172, 3)",
    "SystemCallFilter reboot": "call(169, 0, 0, 0, 0)",
    "SystemCallFilter swap": "call(167, 0, 0)",
    "SystemCallFilter sethostname": "call(170, b'x', 1)",
    "SystemCallFilter mount": "call(165, b'none', b'/tmp', b'tmpfs', 0, 0)",
    "SystemCallFilter chroot": "call(161, b'/')",
    "SystemCallFilter setuid": "call(105, 0)",
    "SystemCallFilter bpf": "call(321, 0, 0, 0)",
    "SystemCallFilter perf": "call(298, 0, 0, -1, -1, 0)",
    "SystemCallFilter uring": "call(425, 1, 0)",
    "SystemCallFilter chown": "os.chown(os.environ['RUNTIME_DIRECTORY'], 0, 0)",
    "CapabilityBoundingSet nice": "os.nice(-5)",
    "User": "call(117, 0, 0, 0)",
    "PrivateUsers": "refuse('4294967295' not in read('/proc/self/uid_map'))",
    "RootDirectory configuration": "open('/etc/tapward/tapward.ini')",
    "RootDirectory state": "os.listdir('/var/lib/tapward')",
    "RootDirectory control socket": "os.stat('/run/tapward/control.sock')",
    "RootDirectory shell": "os.stat('/bin/sh')",
    "BindReadOnlyPaths": "open('/usr/lib/probe', 'w')",
    "ProtectSystem": "open('/probe', 'w')",
    "ProtectHome": "os.listdir('/root')",
    "PrivateTmp": "open('/tmp/of-the-host')",
    "PrivateDevices": "os.stat('/dev/net/tun')",
    "DevicePolicy": "open('/dev/kmsg')",
    "ProtectProc": "open('/proc/1/status')",
    "ProcSubset": "open('/proc/meminfo')",
    "ProtectKernelTunables": "open('/proc/sys/kernel/hostname', 'w')",
    "ProtectKernelModules": "call(313, 0, b'', 0)",
    "ProtectKernelLogs": "call(103, 10, 0, 0)",
    "ProtectControlGroups": "os.mkdir('/sys/fs/cgroup/probe')",
    "ProtectClock": "time.clock_settime(time.CLOCK_REALTIME, 0)",
    "ProtectHostname": "socket.sethostname('x')",
    "PrivateMounts": "open('/opt/of-the-host')",
    "PrivateIPC": "call(29, 0x5eed, 16, 0o1000)",
    "RemoveIPC": "call(68, 0x5eed, 0o1000)",
    "KeyringMode": "call(248, b'user', b'x', b'y', 1, -3)",
    "UMask": "refuse(os.umask(0o077) == 0o077)",
    "NoNewPrivileges": "refuse('NoNewPrivs:\\t1' in read('/proc/self/status'))",
    "AmbientCapabilities": "refuse('CapAmb:\\t' + '0' * 16 in read('/proc/self/status'))",
    "LimitCORE": "more_than(resource.RLIMIT_CORE, 0)",
    "LimitNOFILE": "more_than(resource.RLIMIT_NOFILE, 65536)",
    "LimitMEMLOCK": "more_than(resource.RLIMIT_MEMLOCK, 64 << 20)",
    "LimitAS": "mmap.mmap(-1, 9 << 30)",
    "LimitNPROC": "more_than(resource.RLIMIT_NPROC, 16)",
    "RuntimeDirectoryMode": "refuse(os.stat(os.environ['RUNTIME_DIRECTORY']).st_mode & 0o777 == 0o700)",
}

SCRIPT = """
import ctypes, mmap, os, resource, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
    if libc.syscall(*a) == -1: raise OSError(ctypes.get_errno(), "")
def refuse(is_so):
    if is_so: raise OSError(1, "")
def read(path):
    with open(path) as f: return f.read()
def chmod():
    path = os.environ["RUNTIME_DIRECTORY"].split(":")[0] + "/probe"
    open(path, "w").close()
    try: os.chmod(path, 0o4755)
    finally: os.unlink(path)
def more_than(what, most):
    soft, hard = resource.getrlimit(what)
    if hard > most or hard == -1: return
    try: resource.setrlimit(what, (hard + 1, hard + 1))
    except (OSError, ValueError): raise OSError(1, "")

TRIES = %s
for name, (expression, errnos) in TRIES.items():
    try: eval(expression); print("OPEN", name)
    except OSError as e:
        print("shut" if e.errno in errnos else f"OPEN {e.errno}", name)
print("CapBnd", read("/proc/self/status").split("CapBnd:")[1].split()[0])
"""

# Of these alone nothing can be tried: what they take away others have, too, or
# it takes another machine.
UNTRIED = {
    "MountAPIVFS": "gives /proc, of which ProtectProc leaves little",
    "SystemCallArchitectures": "a call of another ABI needs code of another",
    "SystemCallErrorNumber": "how a call is refused, in all of the above",
    "DeviceAllow": "widens DevicePolicy",
    "LogRateLimitIntervalSec": "no wall",
    "TasksMax": "control groups of version 1 do not hold a container to it",
}

# Where a directive takes something out of sight or off the size of memory.
ERRNOS = {"LimitAS": (12,), "PrivateIPC": (1, 2)}


def script(names):
    """Tries these, each by the directive's name or by that and a word."""
    return SCRIPT % repr({
        name: (TRIES[name], ERRNOS.get(name.split()[0], DENIED))
        for name in names})


def probe(m, unit, names, lines=()):
    """Runs script(names) as the unit of the machine is confined; its output."""
    m.file("/opt/forbidden.py", script(names))
    m.sh("touch /tmp/of-the-host /opt/of-the-host")
    drop = "Type Exec[A-Za-z]* WatchdogSec Sockets Restart RestartSec LoadCredential".split()
    sed = " ".join(f"-e '/^{key}=/d'" for key in drop)
    add = "\\n".join(["Type=oneshot", *lines,
                      "ExecStart=/usr/bin/python3 /opt/forbidden.py"])
    m.sh(f"sed {sed} -e 's,^.Service.$,&\\n{add},' /lib/systemd/system/{unit} "
         f">/run/systemd/system/probe-{unit}; systemctl daemon-reload; "
         f"systemctl start probe-{unit}; systemctl reset-failed")
    return m.journal(f"probe-{unit}")


def directives(text):
    """Names of what the unit's [Service] forbids: its hardening section."""
    hardening = text.split("--- hardening")[1].split("[Install]")[0]
    return {line.split("=")[0] for line in hardening.splitlines()
            if re.match(r"[A-Za-z]+=", line)}


def untried(text, names):
    return directives(text) - {name.split()[0] for name in names} - set(UNTRIED)
