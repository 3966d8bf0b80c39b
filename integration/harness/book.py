"""The book (README.md and docs/): its blocks, what each is marked as, and what
a page shows held against what was printed. docs/README.md tells readers."""
import glob
import os
import re

ROOT = os.path.abspath(f"{os.path.dirname(os.path.abspath(__file__))}/../..")
# A mark stands alone on the line before its block.
BLOCK = re.compile(r"(?:^<!-- ([a-z ]+): (.*?) -->\n)?^```(\w*)\n(.*?)^```$",
                   re.S | re.M)
LANGUAGES = {"sh": ("run by", "not run"), "console": ("run by", "not run"),
             "ini": ("file",), "yaml": ("sample",), "text": ()}
STATUS = re.compile(r"\s+# ends with (\d+)$")
# Sections of a host's configuration; all others are a policy's.
HOST = re.compile(r"^\[(daemon|network|upstream|address .*|ca .*|ceiling|audit|ask|"
                  r"credential .*|limits|vm)\]$", re.M)


class Block:
    """A fenced block: its first line, its language, mark ("" or a word of
    LANGUAGES), what the mark says, and its text."""

    def __init__(self, line, mark, says, language, text):
        self.line, self.mark, self.says = line, mark, says
        self.language, self.text = language, text

    def is_run(self):
        return self.language in ("sh", "console") and not self.mark

    def steps(self):
        """Of a console: [(command, status, the lines it prints)]."""
        found = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                status = STATUS.search(line)
                found.append((line[2:], int(status[1]) if status else 0, []))
            elif found and found[-1][0].endswith("\\"):
                command, _, shown = found.pop()
                status = STATUS.search(line)
                found.append((f"{command}\n{line}",
                              int(status[1]) if status else 0, shown))
            else:
                assert found, f"line {self.line}: no command before {line!r}"
                found[-1][2].append(line)
        return found

    def whole(self):
        """An ini block as a file that stands by itself."""
        if HOST.search(self.text):
            return self.text if "[ceiling]" in self.text else (
                "[ceiling]\npolicy = none\n" + self.text)
        return self.text if "[policy]" in self.text else (
            "[policy]\nversion = 1\n" + self.text)


def pages():
    """The pages, as paths from the root of the tree."""
    return ["README.md", "SECURITY.md", *sorted(
        os.path.relpath(p, ROOT) for p in glob.glob(f"{ROOT}/docs/*.md"))]


def read(page):
    with open(f"{ROOT}/{page}", encoding="utf-8") as f:
        return f.read()


def blocks_of(text):
    return [Block(text.count("\n", 0, m.start(3)) + 1, m[1] or "", m[2] or "",
                  m[3], m[4]) for m in BLOCK.finditer(text)]


def blocks(page):
    return blocks_of(read(page))


def squeezed(lines):
    """Without what hangs on the width of columns."""
    return [" ".join(line.split()) for line in lines]


def fits(shown, printed):
    """Whether printed is what a page shows, in which `...` is whatever stands
    there within a line, and a line of `...` any number of lines."""
    pattern = ""
    for line in squeezed(shown):
        parts = [re.escape(part) for part in line.split("...")]
        pattern += r"(?:.*\n)*" if line == "..." else ".*".join(parts) + "\n"
    got = "".join(f"{line}\n" for line in squeezed(printed.splitlines()))
    return re.fullmatch(pattern, got) is not None
