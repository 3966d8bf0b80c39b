"""A test is a claim: a sentence, and a function that fails when it is false.

Modules register claims with @claim; run() checks them in order, prints one
line each and leaves the counts to its caller.
"""
import fnmatch
import os
import signal
import sys
import time
import traceback

_claims = []

# Several times the longest: a claim that hangs is false, and the next has
# its turn.
CLAIM_MAX_S = 300


class Skip(Exception):
    """This machine can't show the claim; the text says what is missing."""


def claim(text):
    def register(function):
        _claims.append((function.__module__, text, function))
        return function

    return register


def until(condition, seconds=10, what="the condition", every=0.02):
    """Polls condition() until it is true; its value is returned."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(every)


def equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def contains(text, part, what=""):
    if part not in text:
        raise AssertionError(f"{what}: {part!r} is not in {text!r}")


def lacks(text, part, what=""):
    if part in text:
        raise AssertionError(f"{what}: {part!r} is in {text!r}")


def _on_alarm(number, frame):
    raise AssertionError(f"not over within {CLAIM_MAX_S} s")


def chosen(only=()):
    """(label, function) of the claims whose label holds any of only."""
    for module, text, function in _claims:
        label = f"{module.removeprefix('test_')}: {text}"
        if not only or any(fnmatch.fnmatch(label, f"*{o}*") for o in only):
            yield label, function


def run(only=()):
    """Checks every claim that is chosen; returns (passed, failed, skipped)."""
    signal.signal(signal.SIGALRM, _on_alarm)
    counts = {"ok": 0, "FAILED": 0, "skipped": 0}
    for label, function in chosen(only):
        began = time.monotonic()
        note = ""
        signal.alarm(CLAIM_MAX_S)
        try:
            result = function()
            word = "ok"
            if isinstance(result, str):
                note = f"  [{result}]"
        except Skip as e:
            word, note = "skipped", f"  [{e}]"
        except KeyboardInterrupt:
            raise
        except BaseException as e:  # a claim that exits is false too
            word = "FAILED"
            note = "\n" + "".join(traceback.format_exception(e))
            if os.environ.get("TAPWARD_TEST_STOP"):
                print(label, note)
                sys.exit(1)
        finally:
            signal.alarm(0)
        counts[word] += 1
        took = time.monotonic() - began
        print(f"{word:7} {label} ({took:.1f} s){note}", flush=True)
    return counts["ok"], counts["FAILED"], counts["skipped"]
