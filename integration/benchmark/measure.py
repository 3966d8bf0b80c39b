"""Measuring: whose CPU counts, one round of load, and the tables.

On a machine that others use too, the fair figure is the CPU time of the
proxy's processes (/proc/PID/schedstat) for each unit of work; rates and
latencies stand beside it. Rounds of all contestants are interleaved.
"""
import os
import re
import statistics
import subprocess


def cpu_ns(pids):
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
        except OSError:
            pass
    return total


def children(pid):
    """pid and all below it."""
    found = [pid]
    for line in subprocess.run(
            ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True,
            check=True).stdout.splitlines():
        child, parent = map(int, line.split())
        if parent in found:
            found.append(child)
    return found


def pss_kb(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
            total += sum(int(line.split()[1]) for line in f
                         if line.startswith("Pss:"))
    return total


class Round:
    """What one contestant did in one round."""

    def __init__(self, cpu, part, seconds, units, p50=None, p99=None, done=0):
        self.cpu, self.part = cpu / units, part / units
        self.rate = units / seconds
        self.p50, self.p99, self.bytes = p50, p99, done


class Contestant:
    """Somebody who carries load.

    argv(argv) runs a program where its guest is; to is ADDRESS:PORT there, ca
    what vouches for it. pids() are the processes whose CPU counts, aside those
    of them that an aim leaves out (facts and names of aims: Aim). authority is
    what a CONNECT asks for, if one goes first. pace: how many times less work
    it gets than others, since it is so many times slower.
    """

    def __init__(self, name, argv, to, ca, pids, *, authority=None, pace=1,
                 aside=lambda: []):
        self.name, self.argv, self.to, self.ca = name, argv, to, ca
        self.pids, self.aside = pids, aside
        self.authority, self.pace = authority, pace

    def watch(self, run):
        """(what run() returned, CPU seconds of all, of those in an aim)."""
        pids = self.pids()
        aside = set(self.aside())
        judged = [pid for pid in pids if pid not in aside]
        before, part = cpu_ns(pids), cpu_ns(judged)
        got = run()
        return (got, (cpu_ns(pids) - before) / 1e9,
                (cpu_ns(judged) - part) / 1e9)

    def program(self, argv):
        got = subprocess.run(self.argv(argv), capture_output=True, text=True,
                             timeout=600, check=False)
        if got.returncode != 0:
            raise RuntimeError(
                f"{self.name}: {argv}: {got.stdout}{got.stderr}"[:900])
        return got.stdout

    def load(self, host, mode, count, parallel, path, first=0):
        """One round of integration/load.c."""
        count = max(parallel, count // self.pace)
        argv = [f"{os.environ['TAPWARD_BUILD']}/integration/load"]
        if self.authority:
            argv += ["-c", self.authority]
        argv += ["-f", str(first), self.to, host, self.ca, mode, str(count),
                 str(parallel), path]
        out, cpu, part = self.watch(lambda: self.program(argv))
        _, seconds, done, p50, p99, resumed = out.split()
        if mode == "resumed" and int(resumed) < count - parallel:
            raise RuntimeError(f"{self.name}: {resumed} of {count} resumed")
        return Round(cpu, part, float(seconds), count, int(p50), int(p99),
                     int(done))

    def h2load(self, host, count, connections, streams, path, log):
        """One round of h2load over HTTP/2."""
        count = max(connections, count // self.pace)
        if os.path.exists(log):
            os.unlink(log)
        out, cpu, part = self.watch(lambda: self.program(
            ["h2load", "-n", str(count), "-c", str(connections), "-m",
             str(streams), f"--connect-to={self.to}", f"--log-file={log}",
             f"https://{host}{path}"]))
        good = re.search(r"status codes: (\d+) 2xx", out)
        if not good or int(good.group(1)) != count or \
                "Application protocol: h2" not in out:
            raise RuntimeError(f"{self.name}: {out}"[:900])
        with open(log, encoding="ascii") as f:
            us = sorted(int(line.split("\t")[2]) for line in f)
        seconds = re.search(r"finished in ([\d.]+)(m?s)", out)
        took = float(seconds.group(1)) / (1000 if seconds.group(2) == "ms" else 1)
        return Round(cpu, part, took, count, us[len(us) // 2],
                     us[len(us) * 99 // 100])


class Aim:
    """At most so many times what a rival takes. It is held against what our
    processes take without those that the contestant puts aside (aside says in
    words which); the table has both figures."""

    def __init__(self, most, rival, aside=""):
        self.most, self.rival, self.aside = most, rival, aside


class Bench:
    """rounds of everything; only: rows whose title holds it; scale: how much
    less work than usual (--quick)."""

    def __init__(self, rounds, only, scale=1):
        self.rounds, self.only, self.scale = rounds, only, scale
        self.missed = []

    def wants(self, title):
        return not self.only or self.only in title

    def count(self, n):
        return max(8, n // self.scale)

    def table(self, title, unit, contestants, measure, *, scale=1e6, aim=None):
        """measure(contestant, round) is a Round. unit: of CPU time for a unit
        of work, scale of them a second."""
        if not self.wants(title):
            return None
        rounds = {c.name: [] for c in contestants}
        for i in range(self.rounds):
            for c in contestants:
                rounds[c.name].append(measure(c, i))
        return self.show(title, unit, contestants, rounds, scale, aim)

    def show(self, title, unit, contestants, rounds, scale, aim):
        first = contestants[0].name
        median = {name: statistics.median(r.cpu for r in rs) * scale
                  for name, rs in rounds.items()}
        print(f"\n{title} (CPU of the proxy, {unit}; median of {self.rounds})")
        print(f"  {'':34}{'CPU':>10}{'':>9}{'ours/it':>9}{'a second':>11}"
              f"{'p50 us':>9}{'p99 us':>9}")
        for c in contestants:
            self.line(c.name, rounds[c.name], median, first, scale)
        part = statistics.median(r.part for r in rounds[first]) * scale
        if aim and aim.aside:
            print(f"  {'  without ' + aim.aside:34}{part:10.2f}")
        if aim:
            self.judge(title, aim, median[first], part, median[aim.rival])
        return median

    def line(self, name, rounds, median, first, scale):
        spread = (max(r.cpu for r in rounds)
                  - min(r.cpu for r in rounds)) / 2 * scale
        rate = statistics.median(r.rate for r in rounds)
        text = (f"  {name:34}{median[name]:10.2f} \u00b1{spread:7.2f}"
                f"{median[first] / median[name]:9.2f}{rate:11.1f}")
        if rounds[0].p50 is not None:
            text += (f"{statistics.median(r.p50 for r in rounds):9.0f}"
                     f"{statistics.median(r.p99 for r in rounds):9.0f}")
        print(text, flush=True)

    def judge(self, title, aim, ours, part, theirs):
        held = part if aim.aside else ours
        is_met = held <= aim.most * theirs
        print(f"  aim: at most {aim.most:g} x {aim.rival}: "
              f"{held / theirs:.2f}, {'met' if is_met else 'MISSED'}"
              + (f" ({ours / theirs:.2f} with all)" if aim.aside else ""),
              flush=True)
        if not is_met:
            self.missed.append(title)
