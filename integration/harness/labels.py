"""The labels of claims, read from the tests' source without running it."""
import ast
import glob
import os

ROOT = os.path.abspath(f"{os.path.dirname(os.path.abspath(__file__))}/../..")


def labels(path):
    """The texts of @claim in a module, in order."""
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    for node in tree.body:
        for call in getattr(node, "decorator_list", []):
            if isinstance(call, ast.Call) and call.func.id == "claim":
                yield ast.literal_eval(call.args[0])


def modules():
    """{module without test_: [labels]}."""
    return {os.path.basename(path)[len("test_"):-len(".py")]: list(labels(path))
            for path in sorted(glob.glob(f"{ROOT}/integration/test_*.py"))}
