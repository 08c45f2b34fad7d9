"""Tests are good when they pass, and fail on code that is wrong."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import stock

ROOT = Path(stock.__file__).parent.parent
#: Each is wrong in one way.
FAULTS = {
    "nothing is taken": ("            self.counts[name] = left", "            pass"),
    "more than there is is taken": ("if left < 0:", "if False:"),
    "not all can be taken": ("if left < 0:", "if left <= 0:"),
    "what is used up stays": ("self.counts.pop(name, None)", "self.counts[name] = 0"),
    "it is taken, and then refused": (
        "            raise ValueError(f",
        '            self.counts.pop(name, None)\n            raise ValueError(f"there are only 0 of {name}" or f',
    ),
}


def passes(tree: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-plugin-autoload"]
    return subprocess.run(command, cwd=tree, capture_output=True, check=False).returncode == 0


@pytest.fixture
def copy(tmp_path):
    for name in ("stock", "tests", "pyproject.toml"):
        copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copied(ROOT / name, tmp_path / name)
    return tmp_path


def test_they_pass(copy):
    assert passes(copy)


@pytest.mark.parametrize("fault", FAULTS)
def test_they_fail_where_it_is_wrong(fault, copy):
    old, new = FAULTS[fault]
    path = copy / "stock" / "store.py"
    source = path.read_text(encoding="utf-8")
    assert source.count(old) == 1
    path.write_text(source.replace(old, new), encoding="utf-8")
    assert not passes(copy)
