"""Where the programs of Rust are."""
import os
import shutil

from . import shell
from .claims import Skip


def rust_folder():
    """Those of the chosen version, not what chooses between versions."""
    found = shutil.which("cargo")
    if found is None:
        raise Skip("no cargo: tools/check installs it")
    rustup = f"{os.path.dirname(os.path.realpath(found))}/rustup"
    if os.path.exists(rustup):
        found = shell.run([rustup, "which", "cargo"]).ok().out.strip()
    return os.path.dirname(found)
