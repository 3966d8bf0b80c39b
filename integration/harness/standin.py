#!/usr/bin/python3
"""Speaks the API of Firecracker or of Cloud Hypervisor, as its name says, and
runs the guest under QEMU, since neither runs without KVM.

A request with a field that the published interface does not have, or without
one that it requires, is refused; each is printed on the console. Differences
that it bridges: QEMU has no vsock without the host's kernel module, so the
agent's port is a virtio-serial one behind the same CONNECT and OK.
"""
import array
import json
import os
import re
import select
import socket
import subprocess
import sys
import threading

NAME = os.path.basename(sys.argv[0])
PORT = "tapward.agent"

# firecracker.yaml 1.17: path -> (required, optional)
FIRECRACKER = {
    "/machine-config": ({"vcpu_count", "mem_size_mib"},
                        {"smt", "track_dirty_pages", "cpu_template"}),
    "/boot-source": ({"kernel_image_path"}, {"initrd_path", "boot_args"}),
    "/drives/*": ({"drive_id", "is_root_device"},
                  {"path_on_host", "is_read_only", "cache_type",
                   "rate_limiter", "io_engine", "partuuid", "socket"}),
    "/network-interfaces/*": ({"iface_id", "host_dev_name"},
                              {"guest_mac", "mtu", "rx_rate_limiter",
                               "tx_rate_limiter"}),
    "/vsock": ({"guest_cid", "uds_path"}, {"vsock_id"}),
    "/actions": ({"action_type"}, set()),
}
# cloud-hypervisor.yaml 38.0
CLOUD_HYPERVISOR = {
    "/api/v1/vm.create": ({"payload"},
                          {"cpus", "memory", "disks", "serial", "console",
                           "vsock", "rng", "net"}),
    "/api/v1/vm.add-net": (set(), {"id", "mac", "num_queues", "queue_size",
                                   "tap", "ip", "mask", "mtu"}),
    "/api/v1/vm.boot": (set(), set()),
}

told = {}
fds = []


def say(text):
    print(text, flush=True)


def table():
    return FIRECRACKER if NAME == "firecracker" else CLOUD_HYPERVISOR


def fault_of(path, body):
    """What is wrong with a request, or None."""
    for row, (required, optional) in table().items():
        if not re.fullmatch(row.replace("*", "[a-z0-9]+"), path):
            continue
        missing = required - body.keys()
        strange = body.keys() - required - optional
        if missing or strange:
            return f"missing {sorted(missing)}, unknown {sorted(strange)}"
        last = path.rsplit("/", 1)[1]
        for key in ("drive_id", "iface_id"):
            if key in body and body[key] != last:
                return f"{key} is not {last}"
        return None
    return f"no such path: {path}"


def cpio(name, text):
    """One file as a cpio archive, newc."""
    def entry(path, mode, data):
        head = "070701" + "".join(f"{v:08x}" for v in (
            0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path) + 1, 0))
        out = head.encode() + path.encode() + b"\0"
        out += b"\0" * (-len(out) % 4)
        return out + data + b"\0" * (-len(data) % 4)
    return entry(name, 0o100444, text) + entry("TRAILER!!!", 0, b"")


def initrd(path):
    """With a serial port instead of a vsock in the agent's configuration."""
    with open(path, "rb") as f:
        data = f.read()
    at = data.index(b"address=")
    config = data[at:data.index(b"\0", at)]
    config = re.sub(rb"vsock=\d+", b"port=" + PORT.encode(), config)
    with open("/run/standin-initrd", "wb") as f:
        f.write(data + b"\0" * (-len(data) % 4) +
                cpio("tapward/config", config.split(b"070701")[0]))
    return "/run/standin-initrd"


def tap_by_name(name, node="/dev/net/tun"):
    import fcntl
    import struct
    fd = os.open(node, os.O_RDWR | os.O_NONBLOCK)
    # IFF_TAP | IFF_NO_PI, as the one it was made with
    fcntl.ioctl(fd, 0x400454ca, struct.pack("16sH22x", name.encode(), 0x1002))
    return fd


def guest():
    """(kernel, initrd, words, memory MiB, CPUs, mac, tap, disks, vsock)"""
    if NAME == "firecracker":
        boot, machine = told["/boot-source"], told["/machine-config"]
        net = told["/network-interfaces/eth0"]
        disks = [(d["path_on_host"], d["is_read_only"]) for d in (
            told.get("/drives/root"), told.get("/drives/disk")) if d]
        return (boot["kernel_image_path"], boot["initrd_path"],
                boot["boot_args"], machine["mem_size_mib"],
                machine["vcpu_count"], net["guest_mac"],
                tap_by_name(net["host_dev_name"]), disks,
                told["/vsock"]["uds_path"])
    vm, net = told["/api/v1/vm.create"], told["/api/v1/vm.add-net"]
    disks = [(d["path"], d["readonly"]) for d in vm["disks"]]
    return (vm["payload"]["kernel"], vm["payload"]["initramfs"],
            vm["payload"]["cmdline"], vm["memory"]["size"] >> 20,
            vm["cpus"]["boot_vcpus"], net["mac"], fds[0], disks,
            vm["vsock"]["socket"])


def boot():
    (kernel, ram, words, memory, cpus, mac, tap, disks, vsock) = guest()
    ours, theirs = socket.socketpair()
    os.set_inheritable(tap, True)
    os.set_inheritable(theirs.fileno(), True)
    argv = ["/usr/bin/qemu-system-x86_64", "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-M",
            "microvm,acpi=on,pic=off,pit=off", "-global",
            "virtio-mmio.force-legacy=false", "-accel", "tcg", "-cpu", "max",
            "-m", str(memory), "-smp", str(cpus), "-kernel", kernel, "-initrd",
            initrd(ram), "-append", f"{words} no_timer_check tsc=reliable "
            f"tsc_early_khz={tsc_khz()}", "-serial", "stdio", "-chardev",
            f"socket,id=agent,fd={theirs.fileno()}", "-device",
            "virtio-serial-device", "-device",
            f"virtserialport,chardev=agent,name={PORT}", "-netdev",
            f"tap,id=net,fd={tap},vhost=off", "-device",
            f"virtio-net-device,netdev=net,mac={mac}"]
    for n, (path, read_only) in enumerate(disks):
        argv += ["-drive", f"if=none,id=d{n},format=raw,file={path},"
                 f"file.locking=off,readonly={'on' if read_only else 'off'}",
                 "-device", f"virtio-blk-device,drive=d{n},serial="
                 + ("tapward-root", "tapward-disk")[n]]
    qemu = subprocess.Popen(argv, close_fds=False, stdin=subprocess.DEVNULL)
    threading.Thread(target=serve_vsock, args=(vsock, ours), daemon=True).start()
    threading.Thread(target=lambda: os._exit(qemu.wait()), daemon=True).start()


def tsc_khz():
    with open("/proc/cpuinfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("cpu MHz"):
                return int(float(line.split(":")[1]) * 1000)
    return 2000000


def serve_vsock(path, port):
    """CONNECT is closed until the guest has something to say."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)
    while True:
        conn, _ = listener.accept()
        line = b""
        while not line.endswith(b"\n") and len(line) < 32:
            byte = conn.recv(1)
            if not byte:
                break
            line += byte
        if line != b"CONNECT 1024\n" or not select.select([port], [], [], 0)[0]:
            conn.close()
            continue
        say("vsock: connected")
        conn.sendall(b"OK 1073741824\n")
        pump(conn, port)


def pump(a, b):
    other = {a: b, b: a}
    while True:
        for s in select.select([a, b], [], [])[0]:
            data = s.recv(65536)
            if not data:
                return
            other[s].sendall(data)


def answer(conn, status, text):
    data = text.encode()
    conn.sendall(f"HTTP/1.1 {status}\r\nServer: stand-in\r\n"
                 f"Content-Length: {len(data)}\r\n\r\n".encode() + data)


def take(conn):
    data = b""
    while b"\r\n\r\n" not in data:
        part, more, _, _ = conn.recvmsg(65536, socket.CMSG_SPACE(16))
        for level, kind, payload in more:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                got = array.array("i")
                got.frombytes(payload[:len(payload) // 4 * 4])
                fds.extend(got)
        if not part:
            return
        data += part
    head, body = data.split(b"\r\n\r\n", 1)
    length = re.search(rb"Content-Length: (\d+)", head)
    while length and len(body) < int(length.group(1)):
        body += conn.recv(65536)
    method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
    fields = json.loads(body) if body else {}
    say(f"{method} {path}")
    fault = fault_of(path, fields) if method == "PUT" else "not PUT"
    if fault:
        say(f"fault: {fault}")
        answer(conn, "400 Bad Request", json.dumps({"fault_message": fault}))
        return
    told[path] = fields
    answer(conn, "204 No Content", "")
    if path in ("/actions", "/api/v1/vm.boot"):
        boot()


def main():
    args = sys.argv[1:]
    path = args[args.index("--api-sock") + 1] if NAME == "firecracker" \
        else args[args.index("--api-socket") + 1].removeprefix("path=")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)
    while True:
        conn, _ = listener.accept()
        with conn:
            take(conn)


if __name__ == "__main__":
    main()
