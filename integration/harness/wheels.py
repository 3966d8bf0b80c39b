"""A package of Python's, as an index serves it."""
import base64
import hashlib
import zipfile

WHEEL = "widget-1.0-py3-none-any.whl"


def make_wheel(to):
    """As the binary distribution format has it; to: a path or a file."""
    files = {
        "widget.py": "NAME = 'the widget'\n",
        "widget-1.0.dist-info/METADATA":
            "Metadata-Version: 2.1\nName: widget\nVersion: 1.0\n",
        "widget-1.0.dist-info/WHEEL":
            "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\n"
            "Tag: py3-none-any\n"}
    rows = "".join("{},sha256={},{}\n".format(
        name, base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
        .decode().rstrip("="), len(text)) for name, text in files.items())
    files["widget-1.0.dist-info/RECORD"] = \
        rows + "widget-1.0.dist-info/RECORD,,\n"
    with zipfile.ZipFile(to, "w") as f:
        for name, text in files.items():
            f.writestr(name, text)
