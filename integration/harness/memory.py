"""What lies in the memory of processes, as root sees it."""
import os
import threading


def processes(*names):
    """{pid: comm} of the processes with one of these names, cut at 15."""
    found = {}
    cut = {name[:15] for name in names}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                comm = f.read().strip()
        except OSError:
            continue
        if comm in cut:
            found[int(pid)] = comm
    return found


def children(pid):
    """pid and all that descends from it, and what was left to init by it."""
    parents = {}
    for one in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{one}/stat", encoding="utf-8") as f:
                parents[int(one)] = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    family = {pid}
    while True:
        more = {p for p, up in parents.items() if up in family} - family
        if not more:
            return family
        family |= more


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip()


def holds(pid, *needles):
    """(mappings that hold one of needles, bytes that were looked at)."""
    found, looked = [], 0
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        maps = f.read().splitlines()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in maps:
            words = line.split()
            if "r" not in words[1] or "[vvar" in line or "[vsyscall]" in line:
                continue
            low, high = (int(x, 16) for x in words[0].split("-"))
            data = _read(mem, low, high)
            looked += len(data)
            found += [f"{line.strip()}: {needle[:8]!r}..." for needle in needles
                      if needle in data]
    return found, looked


def _read(mem, low, high):
    """Page by page where a page of it can't be read."""
    try:
        mem.seek(low)
        data = b""
        while len(data) < high - low:
            part = mem.read(high - low - len(data))
            if not part:
                break
            data += part
        return data
    except OSError:
        if high - low <= 4096:
            return b""
        middle = low + ((high - low) // 8192) * 4096 or low + 4096
        return _read(mem, low, middle) + _read(mem, middle, high)


def resident(pid):
    """Bytes of memory that are its own or shared, now."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def anonymous(pid):
    """Bytes that are its own: neither shared nor a file's."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(f.read().split("RssAnon:")[1].split()[0]) * 1024


class Watch:
    """Looks at anonymous() all the while; most is the largest it saw."""

    def __init__(self, pid, every=0.003):
        self.pid, self.every = pid, every
        self.most = anonymous(pid)
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        while not self.done.wait(self.every):
            self.most = max(self.most, anonymous(self.pid))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.done.set()
        self.thread.join()


def fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
