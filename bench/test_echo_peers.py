"""bench/echo_peers.py: which peers a list means, what they are made of, and what is said where a compiler is missing."""
import argparse
import dataclasses
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import echo_peers  # pylint: disable=wrong-import-position


def names(text):
    return [peer.name for peer in echo_peers.choose(text)]


def test_the_default_needs_no_registry():
    assert names(echo_peers.DEFAULT) == ["grpc-async", "grpc-callback"]


def test_all_means_every_peer():
    assert names("all") == ["grpc-async", "grpc-callback", "tonic", "grpc-go"]


def test_a_list_keeps_the_order_of_the_peers():
    assert names("tonic,grpc-async") == ["grpc-async", "tonic"]


def test_an_unknown_peer_is_refused_with_the_known_ones():
    with pytest.raises(argparse.ArgumentTypeError, match="'tonik'.*grpc-async,grpc-callback,tonic,grpc-go"):
        names("grpc-async,tonik")


def test_versions_come_from_the_manifests():
    tonic, grpc_go = echo_peers.choose("tonic,grpc-go")
    assert tonic.versions()["tonic"].startswith("0.14.")
    assert grpc_go.versions()["grpc-go"].startswith("1.")


def compiler(tmp_path, text):
    program = tmp_path / "compiler"
    program.write_text(f"#!/bin/sh\necho '{text}'\n")
    program.chmod(0o755)
    return dataclasses.replace(echo_peers.RUST, command=(str(program), "--version"))


def test_a_compiler_that_is_too_old_is_named_with_the_version_that_it_takes(tmp_path):
    with pytest.raises(echo_peers.BuildFailed, match=r"tonic needs cargo and rustc 1\.88 or later.* is 1\.63\.0\."):
        compiler(tmp_path, "rustc 1.63.0").check("tonic")


def test_a_newer_compiler_will_do(tmp_path):
    compiler(tmp_path, "rustc 1.100.0 (abc 2027-01-01)").check("tonic")


def test_a_missing_compiler_is_named_with_the_version_that_it_takes(tmp_path):
    absent = dataclasses.replace(echo_peers.GO, command=(str(tmp_path / "go"), "version"))
    with pytest.raises(echo_peers.BuildFailed, match=r"grpc-go needs go 1\.\d+\.\d+ or later.*does not run"):
        absent.check("grpc-go")
