"""Pickles: what this version writes it reads, and what earlier ones wrote it refuses in its own words."""

from __future__ import annotations

import base64
import copy
import importlib
import importlib.util
import os
import pickle
import pickletools
import subprocess
import sys

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import DataError
from symdiff.ground import pickles

#: What earlier versions wrote, in base64; none has a number of its format.
EARLIER = {
    "kernel": """
        gASVDQEAAAAAAACMEHN5bWRpZmYuY29tcGlsZXKUjAhfcmVidWlsZJSTlChdlCgojAVpbnB1dJQpjAF4lEsDhZSMBHJlYWyUdJQo
        jAhjb25zdGFudJQpQwgAAAAAAAAAQJQpaAd0lCiMCG11bHRpcGx5lEsBSwCGlE5LA4WUaAd0lEsASwKGlGVoBYWUjAZvdXRwdXSU
        jA5zeW1kaWZmLmtlcm5lbJSMB09wdGlvbnOUk5QpgZR9lCiMBWJhdGNolE6MBnJlZHVjZZROjApiYXRjaF9heGlzlEsAjAd0aHJl
        YWRzlE6MCGFjY3VyYWN5lIwHZGVmYXVsdJR1YowLaW50ZXJwcmV0ZXKUXZQpiYiHlGF0lFKULg==
    """,
    "kernel sizes": """
        gASVXgEAAAAAAACMEHN5bWRpZmYuY29tcGlsZXKUjAhfcmVidWlsZJSTlChdlCgojAVpbnB1dJQpjAFBlIwNc3ltZGlmZi5zaXpl
        c5SMBFNpemWUk5QpgZROfZQojAVfaGFzaJSKCIsQgbLYJJBCjAV0ZXJtc5SMAW6UhZRLAYaUhZR1hpRiaAgpgZROfZQoaAuKCIsQ
        gbLYJJBCaAxoDYWUSwGGlIWUdYaUYoaUjARyZWFslHSUKIwDZGV0lEsAhZROKWgZdJQojANsb2eUSwGFlE4paBl0lEsASwKGlGVo
        BYWUjAZvdXRwdXSUjA5zeW1kaWZmLmtlcm5lbJSMB09wdGlvbnOUk5QpgZR9lCiMBWJhdGNolE6MBnJlZHVjZZROjApiYXRjaF9h
        eGlzlEsAjAd0aHJlYWRzlE6MCGFjY3VyYWN5lIwHZGVmYXVsdJR1YowFbnVtcHmUXZQpiYmHlGF0lFKULg==
    """,
    "array": """
        gASVKwEAAAAAAACMDXN5bWRpZmYuYXJyYXmUjAVBcnJheZSTlCmBlE59lCiMC19wcm92ZW5hbmNllIwSc3ltZGlmZi5wcm92ZW5h
        bmNllIwKUHJvdmVuYW5jZZSTlGgGjAVGYWN0c5STlCiMEnN5bWRpZmYuZ3JhcGgud2Fsa5SMCXVuZmxhdHRlbpSTlF2UKCiMBWlu
        cHV0lCmMAXiUSwOFlIwEcmVhbJR0lEsAhZRlSwCGlFKUhZQpKYl0lIGUhZRSlIwEbm9kZZRoDV2UKChoDyloEGgRaBJ0lCiMA3Np
        bpRLAIWUTmgRaBJ0lCiMCGNvbnN0YW50lClDCAAAAAAAAABAlCloEnSUKIwIbXVsdGlwbHmUSwFLAoaUTksDhZRoEnSUSwOFlGVL
        AIaUUpR1hpRiLg==
    """,
    "hessian": """
        gASVPgEAAAAAAACMDXN5bWRpZmYuYXJyYXmUjAVBcnJheZSTlCmBlE59lCiMC19wcm92ZW5hbmNllIwSc3ltZGlmZi5wcm92ZW5h
        bmNllIwKUHJvdmVuYW5jZZSTlGgGjAVGYWN0c5STlCiMEnN5bWRpZmYuZ3JhcGgud2Fsa5SMCXVuZmxhdHRlbpSTlF2UKCiMBWlu
        cHV0lCmMAXiUSwOFlIwEcmVhbJR0lEsAhZRlSwCGlFKUhZQpaA1dlCgoaA8paBBoEWgSdJQojAhjb250cmFjdJRLAIWUSwCFlIWU
        KSmHlCloEnSUKIwDZXhwlEsBhZROKWgSdJQoaBpLAoWUKYWUSwBLAYaUSwBLA4aUSwFLA4aUhpSHlEsDSwOGlGgSdJRLA4WUZUsA
        hpRSlIWUiHSUgZSFlFKUjARub2RllGgudYaUYi4=
    """,
    "node": """
        gASVTQAAAAAAAACMEnN5bWRpZmYuZ3JhcGgud2Fsa5SMCXVuZmxhdHRlbpSTlF2UKCiMBWlucHV0lCmMAXiUSwOFlIwEcmVhbJR0
        lEsAhZRlSwCGlFKULg==
    """,
    "report": """
        gASVGQEAAAAAAACMDXN5bWRpZmYuY2hlY2uUjAZSZXBvcnSUk5QpgZR9lCiMCGZpbmRpbmdzlCmMBXBvaW50lH2UKIwBeJSMFm51
        bXB5Ll9jb3JlLm11bHRpYXJyYXmUjAxfcmVjb25zdHJ1Y3SUk5SMBW51bXB5lIwHbmRhcnJheZSTlEsAhZRDAWKUh5RSlChLASlo
        DIwFZHR5cGWUk5SMAmY4lImIh5RSlChLA4wBPJROTk5K/////0r/////SwB0lGKJQwhBhNuJ7RfAP5R0lGKMAXmUaAtoDksAhZRo
        EIeUUpQoSwEpaBeJQwjMRb3pz+jAv5R0lGJ1jAhjb21wYXJlZJRLBowMZGlzYWdyZWVtZW50lEcAAAAAAAAAAHViLg==
    """,
    "budget": """
        gASVRQEAAAAAAACMD3N5bWRpZmYub3B0aW9uc5SMBkJ1ZGdldJSTlCmBlH2UKIwFbm9kZXOUSoCWmACMBXN0ZXBzlEoAypo7jAZt
        ZW1vcnmUigUAUNbcAYwGbGltaXRzlGgAjAZMaW1pdHOUk5QpgZR9lCiMCmNoYXJhY3RlcnOUSkBCDwBoBUpADQMAjAVkZXB0aJRN
        6AOMC25hbWVfbGVuZ3RolEtAjA5saXRlcmFsX2xlbmd0aJRNkAGMDGludGVnZXJfYml0c5RNAASMCGVsZW1lbnRzlEoA4fUFjARh
        eGVzlEsgjA51bnBhY2tlZF9ieXRlc5RKAAAAEIwKbGluZV9ieXRlc5RKAABAAIwTdW5yb2xsZWRfb3BlcmF0aW9uc5RNIE6MEW5h
        dGl2ZV9vcGVyYXRpb25zlEqAhB4AdWKMBG5hbWWUjACUdWIu
    """,
    "kernel p0": """
        Y3N5bWRpZmYuY29tcGlsZXIKX3JlYnVpbGQKcDAKKChscDEKKFZpbnB1dApwMgoodFZ4CnAzCihJMwp0cDQKVnJlYWwKcDUKdHA2
        CmEoVmNvbnN0YW50CnA3Cih0Y19jb2RlY3MKZW5jb2RlCnA4CihWXHUwMDAwXHUwMDAwXHUwMDAwXHUwMDAwXHUwMDAwXHUwMDAw
        XHUwMDAwQApwOQpWbGF0aW4xCnAxMAp0cDExClJwMTIKKHRnNQp0cDEzCmEoVnBvd2VyCnAxNAooSTAKSTEKdHAxNQpOKEkzCnRw
        MTYKZzUKdHAxNwphKEkwCkkyCnRwMTgKYShnMwp0cDE5ClZvdXRwdXQKcDIwCmNjb3B5X3JlZwpfcmVjb25zdHJ1Y3RvcgpwMjEK
        KGNzeW1kaWZmLmtlcm5lbApPcHRpb25zCnAyMgpjX19idWlsdGluX18Kb2JqZWN0CnAyMwpOdHAyNApScDI1CihkcDI2ClZiYXRj
        aApwMjcKTnNWcmVkdWNlCnAyOApOc1ZiYXRjaF9heGlzCnAyOQpJMApzVnRocmVhZHMKcDMwCk5zVmFjY3VyYWN5CnAzMQpWZGVm
        YXVsdApwMzIKc2JWbnVtcHkKcDMzCihscDM0CigodEkwMApJMDAKdHAzNQphdHAzNgpScDM3Ci4=
    """,
    "array p2": """
        gAJjc3ltZGlmZi5hcnJheQpBcnJheQpxACmBcQFOfXECKFgLAAAAX3Byb3ZlbmFuY2VxA2NzeW1kaWZmLnByb3ZlbmFuY2UKUHJv
        dmVuYW5jZQpxBGNzeW1kaWZmLnByb3ZlbmFuY2UKRmFjdHMKcQUoY3N5bWRpZmYuZ3JhcGgud2Fsawp1bmZsYXR0ZW4KcQZdcQco
        KFgFAAAAaW5wdXRxCClYAQAAAHhxCUsDhXEKWAQAAAByZWFscQt0cQxLAIVxDWVLAIZxDlJxD4VxECkpiXRxEYFxEoVxE1JxFFgE
        AAAAbm9kZXEVaAZdcRYoKGgIKWgJaApoC3RxFyhYAwAAAHNpbnEYSwCFcRlOaApoC3RxGihYCAAAAGNvbnN0YW50cRspY19jb2Rl
        Y3MKZW5jb2RlCnEcWAgAAAAAAAAAAAAAQHEdWAYAAABsYXRpbjFxHoZxH1JxICloC3RxIShYCAAAAG11bHRpcGx5cSJLAUsChnEj
        TksDhXEkaAt0cSVLA4VxJmVLAIZxJ1JxKHWGcSliLg==
    """,
    "kernel dict, older": """
        gASVNAEAAAAAAACMEHN5bWRpZmYuY29tcGlsZXKUjAhfcmVidWlsZJSTlChdlCgojAVpbnB1dJQpjAF4lEsDhZSMBHJlYWyUdJQo
        jAhjb250cmFjdJRLAIWUSwCFlIWUKSmHlCloB3SUKIwIY29uc3RhbnSUKUMIAAAAAAAAAECUKWgHdJQojAhtdWx0aXBseZRLAEsC
        hpROSwOFlGgHdJRLAEsBSwOHlGVoBYWUfZQojAFhlIwGb3V0cHV0lIwBYpRoGnWMDnN5bWRpZmYua2VybmVslIwHT3B0aW9uc5ST
        lCmBlH2UKIwFYmF0Y2iUTowGcmVkdWNllIwDc3VtlIwKYmF0Y2hfYXhpc5RLAIwHdGhyZWFkc5ROjAhhY2N1cmFjeZSMB2RlZmF1
        bHSUdWKMBW51bXB5lCl0lFKULg==
    """,
    "array sizes, older": """
        gASVGAEAAAAAAACMDXN5bWRpZmYuYXJyYXmUjAVBcnJheZSTlCmBlE59lIwEbm9kZZSMEnN5bWRpZmYuZ3JhcGgud2Fsa5SMCXVu
        ZmxhdHRlbpSTlF2UKCiMBWlucHV0lCmMAUGUjA1zeW1kaWZmLnNpemVzlIwEU2l6ZZSTlCmBlE59lCiMBV9oYXNolIoIwgEJ7LAp
        A0uMBXRlcm1zlIwBbpSFlEsBhpSFlHWGlGJoDimBlE59lChoEYoIwgEJ7LApA0toEmgThZRLAYaUhZR1hpRihpSMBHJlYWyUdJQo
        jAhjb250cmFjdJRLAEsAhpRLAEsBhpRLAUsChpSGlEsASwKGlCmHlGgPaBiGlGgfdJRLAYWUZUsAhpRSlHOGlGIu
    """,
    "report, older": """
        gASVGQEAAAAAAACMDXN5bWRpZmYuY2hlY2uUjAZSZXBvcnSUk5QpgZR9lCiMCGZpbmRpbmdzlCmMBXBvaW50lH2UKIwBeJSMFm51
        bXB5Ll9jb3JlLm11bHRpYXJyYXmUjAxfcmVjb25zdHJ1Y3SUk5SMBW51bXB5lIwHbmRhcnJheZSTlEsAhZRDAWKUh5RSlChLASlo
        DIwFZHR5cGWUk5SMAmY4lImIh5RSlChLA4wBPJROTk5K/////0r/////SwB0lGKJQwhBhNuJ7RfAP5R0lGKMAXmUaAtoDksAhZRo
        EIeUUpQoSwEpaBeJQwjMRb3pz+jAv5R0lGJ1jAhjb21wYXJlZJRLBowMZGlzYWdyZWVtZW50lEcAAAAAAAAAAHViLg==
    """,
    "kernel, last without a number": """
        gASVFQEAAAAAAACMEHN5bWRpZmYuY29tcGlsZXKUjAhfcmVidWlsZJSTlChdlCgojAVpbnB1dJQpjAF4lEsDhZSMBHJlYWyUdJQo
        jAhjb25zdGFudJQpQwgAAAAAAAAAQJQpaAd0lCiMCG11bHRpcGx5lEsBSwCGlE5LA4WUaAd0lEsASwKGlGVoBYWUjAZvdXRwdXSU
        jBZzeW1kaWZmLnJ1bnRpbWUua2VybmVslIwHT3B0aW9uc5STlCmBlH2UKIwFYmF0Y2iUTowGcmVkdWNllE6MCmJhdGNoX2F4aXOU
        SwCMB3RocmVhZHOUTowIYWNjdXJhY3mUjAdkZWZhdWx0lHVijAtpbnRlcnByZXRlcpRdlCmJiIeUYXSUUpQu
    """,
    "array, last without a number": """
        gASVQgEAAAAAAACMFnN5bWRpZmYuZnJvbnRlbmQuYXJyYXmUjAVBcnJheZSTlCmBlE59lCiMC19wcm92ZW5hbmNllIwbc3ltZGlm
        Zi5mcm9udGVuZC5wcm92ZW5hbmNllIwKUHJvdmVuYW5jZZSTlGgGjAVGYWN0c5STlCiMF3N5bWRpZmYuZ3JhcGgudHJhdmVyc2Fs
        lIwJdW5mbGF0dGVulJOUXZQoKIwFaW5wdXSUKYwBeJRLA4WUjARyZWFslHSUSwCFlGVLAIaUUpSFlCkpiXSUgZSFlFKUjARub2Rl
        lGgNXZQoKGgPKWgQaBFoEnSUKIwDc2lulEsAhZROaBFoEnSUKIwIY29uc3RhbnSUKUMIAAAAAAAAAECUKWgSdJQojAhtdWx0aXBs
        eZRLAUsChpROSwOFlGgSdJRLA4WUZUsAhpRSlHWGlGIu
    """,
}


def contents(title: str) -> bytes:
    return base64.b64decode("".join(EARLIER[title].split()))


@pytest.mark.parametrize("title", EARLIER)
def test_pickles_of_earlier_versions_are_refused_by_name(title: str) -> None:
    with pytest.raises(DataError, match=r"earlier version of symdiff.*make the formula or kernel again"):
        pickle.loads(contents(title))


def test_they_are_refused_where_symdiff_was_not_imported() -> None:
    script = f"""
import pickle
try:
    pickle.loads({contents("array")!r})
except ValueError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("DataError symdiff.array is a module of an earlier version")


def values() -> dict[str, object]:
    x, A = sd.vector("x", 3), sd.matrix("A", "n", "n")
    return {
        "kernel": sd.compile(sd.gradient((x**2).sum(), x), [x], backend="numpy"),
        "array": np.sin(x) * 2,
        "sizes": A @ A,
        "hessian": sd.hessian(np.exp(x.sum()), x),
        "node": x.node,
    }


@pytest.mark.parametrize("title", values())
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_begin_with_the_number_and_are_read(title: str, protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    value = values()[title]
    written = pickle.dumps(value, protocol)
    again = pickle.loads(written)
    assert repr(again) == repr(value)
    assert repr(copy.deepcopy(value)) == repr(value)
    names = [arg for op, arg, _ in pickletools.genops(written) if isinstance(arg, str) and "GLOBAL" in op.name]
    assert not names or names[:2] == ["symdiff.ground.pickles restore", "symdiff.ground.pickles check_format"]
    if title == "kernel":
        np.testing.assert_array_equal(again(np.arange(3.0)), 2 * np.arange(3.0))
    monkeypatch.setattr(pickles, "FORMAT", pickles.FORMAT + 1)
    with pytest.raises(DataError, match=r"written by symdiff .*, in format 3; symdiff .* reads format 4: .*again"):
        pickle.loads(written)


def test_the_number_is_looked_at_before_names_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version may have moved everything that a pickle names."""
    written = pickle.dumps(values()["array"])
    moved = written.replace(b"symdiff.frontend.array", b"symdiff.frontend.gone_")
    assert moved != written
    with pytest.raises(ModuleNotFoundError):
        pickle.loads(moved)
    monkeypatch.setattr(pickles, "FORMAT", pickles.FORMAT + 1)
    with pytest.raises(DataError, match="in format 3"):
        pickle.loads(moved)


def test_an_array_keeps_what_its_node_does_not_tell() -> None:
    x = sd.vector("x", 3)
    slope = sd.gradient(np.exp(x).sum(), x)
    again = pickle.loads(pickle.dumps(slope))
    assert again.node is slope.node
    assert again.provenance.facts == slope.provenance.facts


def test_symbolic_sizes_are_the_same_in_another_process() -> None:
    A = sd.matrix("A", "n", "n")
    script = f"""
import pickle
import symdiff as sd
A = pickle.loads({pickle.dumps(A)!r})
assert A.node is sd.matrix("A", "n", "n").node
assert hash(A.shape[0]) == hash(sd.matrix("B", "n", "n").shape[0])
"""
    for seed in ("1", "2"):
        subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONHASHSEED": seed})


def test_other_modules_that_are_absent_are_absent_as_ever() -> None:
    assert importlib.util.find_spec("symdiff.nothing_of_this_name") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("symdiff.graph.nothing_of_this_name")
    with pytest.raises(DataError, match=r"symdiff\.kernel is a module of an earlier version"):
        importlib.import_module("symdiff.kernel")
    assert sum(type(finder).__name__ == "_EarlierModules" for finder in sys.meta_path) == 1
