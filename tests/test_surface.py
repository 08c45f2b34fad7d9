"""What `import antiphon` gives, and what it costs."""

import subprocess
import sys
from pathlib import Path

import antiphon


def test_programs_that_tests_start_are_those_of_this_tree(tmp_path: Path):
    code = "import antiphon; print(antiphon.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == antiphon.__file__


def test_every_public_name_is_there():
    for name in antiphon.__all__:
        assert getattr(antiphon, name) is not None
    assert set(antiphon.__all__) <= set(dir(antiphon))


def test_importing_loads_nothing_heavy():
    code = "import sys, antiphon; print([m for m in sys.modules if m.partition('.')[0] in sys.argv[1:]])"
    heavy = ["httpx2", "pydantic", "click", "asyncio", "starlette", "uvicorn", "rich", "genai_prices", "json"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_conversation_needs_no_client():
    code = "import sys; from antiphon import Conversation; print('httpx2' in sys.modules, 'pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"


def test_asking_loads_no_rules():
    code = (
        "import sys; from antiphon import Session, connect; Session(connect('openai-chat/gpt-5', key='k')).request('…')"
        "; print([m for m in sys.modules if m.startswith('antiphon.wire.rules')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
