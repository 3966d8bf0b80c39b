"""The commands of tapward and their options, as `tapward --help` has them."""
import re
import subprocess


def options(text):
    return set(re.findall(r"--[a-z][a-z-]*", text))


def usages(tapward):
    """{command: its options}, with those of the groups that it refers to."""
    text = subprocess.run([tapward, "--help"], check=True, text=True,
                          capture_output=True).stdout
    head, *groups = re.split(r"^([A-Z]+ OPTIONS): ", text, flags=re.M)
    groups = {n: options(t.split("\n\n")[0])
              for n, t in zip(groups[::2], groups[1::2])}
    found = {}
    for name, usage in re.findall(r"^  ([a-z]+) +((?:.|\n(?!  [a-z]))*)", head,
                                  re.M):
        found[name] = options(usage)
        for group, more in groups.items():
            if group in usage:
                found[name] |= more
    return found
