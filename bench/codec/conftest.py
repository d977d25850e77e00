import pathlib

import pytest


def pytest_addoption(parser):
    parser.addoption("--build-dir", type=pathlib.Path, required=True, help="where codec_bench was built")


@pytest.fixture
def codec_build_dir(request):
    return request.config.getoption("--build-dir")
