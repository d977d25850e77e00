"""The soak's own modules, and those of tests/hostile that it measures with."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "hostile")]
