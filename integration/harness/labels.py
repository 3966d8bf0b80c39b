"""The labels of claims, read from the tests' source without running it."""
import ast
import glob
import os

ROOT = os.path.abspath(f"{os.path.dirname(os.path.abspath(__file__))}/../..")


def parse(path):
    with open(path, encoding="utf-8") as f:
        return ast.parse(f.read()).body


def shared(call):
    """Of service.register(machine, service.STEP...): the steps' docstrings."""
    names = [arg.attr for arg in call.args[1:]]
    module = call.func.value.id
    texts = {node.name: ast.get_docstring(node) for node in
             parse(f"{ROOT}/integration/harness/{module}.py")
             if isinstance(node, ast.FunctionDef)}
    return [texts[name] for name in names]


def labels(path):
    """The texts of @claim in a module, and of steps that it registers, in
    order."""
    for node in parse(path):
        for call in getattr(node, "decorator_list", []):
            if isinstance(call, ast.Call) and call.func.id == "claim":
                yield ast.literal_eval(call.args[0])
        call = getattr(node, "value", None)
        if isinstance(node, ast.Expr) and isinstance(call, ast.Call) and \
                getattr(call.func, "attr", "") == "register":
            yield from shared(call)


def modules():
    """{module without test_: [labels]}."""
    return {os.path.basename(path)[len("test_"):-len(".py")]: list(labels(path))
            for path in sorted(glob.glob(f"{ROOT}/integration/test_*.py"))}
