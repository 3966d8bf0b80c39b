"""Programs and libraries from npm that the tests run: see node/package.json."""
import fcntl
import os

from . import shell


def programs():
    """The folder they are in, installed by the npm client on first use."""
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.environ.get("TAPWARD_NODE") or os.path.normpath(
        f"{here}/../../build/node")
    with open(f"{here}/../node/package.json", encoding="ascii") as f:
        wanted = f.read()
    os.makedirs(folder, exist_ok=True)
    # Runs beside each other may share the folder.
    with open(f"{folder}/lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _installed(folder) != wanted:
            _install(folder, wanted)
    return folder


def _installed(folder):
    """What was installed whole, last."""
    try:
        with open(f"{folder}/installed.json", encoding="ascii") as f:
            return f.read()
    except FileNotFoundError:
        return None


def _install(folder, wanted):
    with open(f"{folder}/package.json", "w", encoding="ascii") as f:
        f.write(wanted)
    shell.run(["npm", "install", "--no-audit", "--no-fund",
               "--no-package-lock", "--loglevel=error"], cwd=folder,
              timeout=600).ok()
    with open(f"{folder}/installed.json", "w", encoding="ascii") as f:
        f.write(wanted)


def environment(env=None):
    """env with which a script of node finds them."""
    return {**(os.environ if env is None else env),
            "NODE_PATH": f"{programs()}/node_modules"}
