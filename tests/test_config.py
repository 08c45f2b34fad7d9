"""Configuration files, `.env`, and the order in which the default model is looked for."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon import Session, connect
from antiphon.cli import cli
from antiphon.config import Configuration, Environment, default_model, keys, load_configuration
from antiphon.config.default_model import LOCAL_MODEL, list_provider_defaults
from antiphon.config.dotenv import parse_dotenv
from antiphon.config.environment import apply_dotenv
from antiphon.config.paths import find_project_directories
from antiphon.config.trust import find_project, record_trust_decision
from antiphon.errors import ConfigurationError, MalformedJSONError
from antiphon.fakes import Fake
from antiphon.local import weights
from antiphon.providers.registry import PROVIDERS, resolve
from tests.lazily import Lazily

price_list = Lazily("genai_prices.data")

VARIABLES = {name for each in PROVIDERS.values() for name in (*each.key_env, *each.url_env)}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project directory, a user's directory beside it, and an environment with no keys."""
    for name in [*VARIABLES, *(name for name in os.environ if name.startswith("ANTIPHON_"))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "antiphon").mkdir(parents=True)
    directory = tmp_path / "project"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "config" / "antiphon" / "config.toml"


def trusted(directory: Path | None = None) -> None:
    record_trust_decision(find_project(directory), True)


class TestOrder:
    STEPS = ("flag", "program", "project", "user", "environment", "key", "local")

    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.sets(st.sampled_from(STEPS[:-1])))
    def test_the_first_that_names_a_model_decides(self, project: Path, user: Path, given_by: set[str]) -> None:
        for path, name in ((project / "antiphon.toml", "project"), (user, "user")):
            path.write_text(f'model = "x/{name}"' if name in given_by else "")
        trusted()
        arguments = {name: f"x/{name}" for name in ("flag", "program") if name in given_by}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ANTIPHON_MODEL", "x/environment" if "environment" in given_by else "")
            patch.setenv("MISTRAL_API_KEY", "k" if "key" in given_by else "")
            choice = default_model(load_configuration(), **arguments)
        first = next(name for name in self.STEPS if name in given_by or name == "local")
        named = {"key": list_provider_defaults()["mistral"], "local": LOCAL_MODEL}
        assert (choice.source, choice.model) == (first, named.get(first, f"x/{first}"))
        assert [step.name for step in choice.steps] == list(self.STEPS[: self.STEPS.index(first) + 1])
        assert not any(step.model for step in choice.steps[:-1])

    def test_what_decides_first_hides_mistakes_behind_it(self, project: Path) -> None:
        (project / "antiphon.toml").write_text("not toml")
        trusted()
        assert default_model(load_configuration(), flag="gpt-5").model == "gpt-5"
        with pytest.raises(ConfigurationError, match="is not valid TOML"):
            default_model(load_configuration())

    def test_every_provider_has_a_model_that_is_sold_there(self) -> None:
        sold = {(provider.id, model.id) for provider in price_list.providers for model in provider.models}
        for provider, model in list_provider_defaults().items():
            place, name = resolve(model)
            assert place.name == provider
            assert (provider, name) in sold
        assert weights.find_weights(LOCAL_MODEL).name == weights.DEFAULT_TIER


class TestFiles:
    def test_the_nearest_file_up_to_the_repository_holds(self, project: Path) -> None:
        (project / ".git").mkdir()
        (project.parent / "antiphon.toml").write_text('model = "outside"')
        (project / "pyproject.toml").write_text('[tool.antiphon]\nmodel = "top"')
        inner = project / "a" / "b"
        inner.mkdir(parents=True)
        (project / "a" / "pyproject.toml").write_text("[tool.other]\nx = 1")
        trusted(inner)
        assert load_configuration(inner).model == "top"
        (project / "a" / "antiphon.toml").write_text('model = "nearer"')
        trusted(inner)
        assert load_configuration(inner).model == "nearer"

    def test_outside_of_a_repository_and_of_home_nothing_is_searched_above(self, project: Path) -> None:
        (project.parent / "antiphon.toml").write_text('model = "planted"')
        trusted(project)
        assert load_configuration(project).model == ""

    def test_within_home_the_search_ends_there(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(project))
        assert find_project_directories(project / "a" / "b") == [project / "a" / "b", project / "a", project]

    def test_a_directory_that_is_gone_has_no_configuration(self, project: Path) -> None:
        shutil.rmtree(project)
        assert load_configuration().model == ""
        assert default_model(load_configuration()).source == "local"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('modle = "x"', "there is no setting `modle`; did you mean `model`?"),
            ("colour = 1", "there is no setting `colour`; there are model, models, mcp"),
            ("model = 3", "`model` is a name such as 'anthropic/claude-sonnet-5', not 3"),
            ("model = ' '", "`model` is a name"),
            ("mcp = 3", "`mcp` is a table, not int"),
            ("[mcp.files]\ncomand = 'x'", "there is no setting `mcp.files.comand`; did you mean `mcp.files.command`?"),
            ("model = ", "is not valid TOML"),
            ("\ud800", "is not UTF-8"),
        ],
    )
    def test_a_mistake_names_the_file_and_the_cure(self, project: Path, text: str, said: str) -> None:
        path = project / "antiphon.toml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        trusted()
        with pytest.raises(ConfigurationError) as raised:
            default_model(load_configuration(project)), load_configuration(project).mcp_servers()
        assert str(raised.value).startswith(str(path))
        assert said in str(raised.value)

    def test_servers_of_all_files_are_joined_by_name(self, project: Path, user: Path) -> None:
        user.write_text("[mcp.a]\ncommand = 'user'\n[mcp.d]\ncommand = 'user'\n[mcp.e]\ncommand = 'user'")
        (project / ".mcp.json").write_text(
            '{"mcpServers": {"a": {"command": "json"}, "b": {"command": "json"}, "d": {"command": "x", '
            '"disabled": true}}}'
        )
        (project / "antiphon.toml").write_text(
            "[mcp.b]\ncommand = 'own'\nargs = ['-v']\n[mcp.c]\nurl = 'https://example.com/mcp'"
        )
        trusted()
        servers = {server.name: server.command or server.url for server in load_configuration(project).mcp_servers()}
        assert servers == {"a": "json", "b": "own", "c": "https://example.com/mcp", "e": "user"}

    def test_variables_of_servers_come_from_dotenv_too(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (project / ".env").write_text("WEATHER_TOKEN=from-file\nOTHER=from-file")
        monkeypatch.setenv("OTHER", "real")
        (project / "antiphon.toml").write_text(
            "[mcp.a]\ncommand = 'x'\n[mcp.a.env]\nT = '${WEATHER_TOKEN}'\nO = '${OTHER}'"
        )
        trusted()
        (server,) = load_configuration(project).mcp_servers()
        assert server.env == {"T": "from-file", "O": "real"}
        assert "from-file" not in repr(load_configuration(project))

    def test_an_unset_variable_is_told_when_servers_are_wanted(self, project: Path) -> None:
        (project / "antiphon.toml").write_text("model = 'm'\n[mcp.a]\ncommand = '${NOT_SET_ANYWHERE}'")
        trusted()
        config = load_configuration(project)
        assert config.model == "m"
        with pytest.raises(ConfigurationError, match=r"antiphon\.toml: .*NOT_SET_ANYWHERE"):
            config.mcp_servers()

    @pytest.mark.parametrize("text", ["[]", '{"mcpServers": []}', "{"])
    def test_a_broken_mcp_json_is_an_error(self, project: Path, text: str) -> None:
        (project / "mcp.json").write_text(text)
        trusted()
        with pytest.raises((ConfigurationError, MalformedJSONError), match=r"mcp\.json"):
            load_configuration(project).mcp_servers()


class TestValue:
    def test_two_configurations_in_one_process_do_not_see_each_other(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = dict(os.environ)
        found: dict[str, Configuration] = {}
        for name in ("ann", "bob"):
            own = {"HOME": str(tmp_path / name), "XDG_CONFIG_HOME": str(tmp_path / name / "config")}
            project = tmp_path / name / "project"
            project.mkdir(parents=True)
            (project / ".env").write_text(f"OPENAI_API_KEY={name}\nOPENAI_BASE_URL=http://{name}/v1\n")
            (project / "antiphon.toml").write_text(f"model = 'openai/{name}'\n[mcp.{name}]\ncommand = 'x'")
            with monkeypatch.context() as user:
                user.setenv("XDG_CONFIG_HOME", own["XDG_CONFIG_HOME"])
                trusted(project)
                keys.store_key("groq", f"groq-{name}")
            found[name] = load_configuration(project, own)
        for name, each in found.items():
            model = connect(default_model(each).model, environment=each.environment)
            assert (model.name, model.url) == (f"openai/{name}", f"http://{name}/v1")
            assert PROVIDERS["openai"].key(each.environment) == name
            assert PROVIDERS["groq"].key(each.environment) == f"groq-{name}"
            assert [server.name for server in each.mcp_servers()] == [name]
            assert f"groq-{name}" not in repr(each)
        assert dict(os.environ) == before
        assert PROVIDERS["openai"].key() == PROVIDERS["groq"].key() == ""

    def test_a_session_asks_by_the_configuration_it_was_given(self, project: Path) -> None:
        with Fake(["Hello."]) as fake:
            (project / ".env").write_text(f"OPENAI_API_KEY=k\nOPENAI_BASE_URL={fake.base_url('openai-chat')}\n")
            trusted()
            configuration = load_configuration(project)
            assert Session("openai-chat/gpt-5", configuration=configuration).vibe("Hi").value == "Hello."

    def test_a_stored_key_serves_a_session_without_any_call_before(self) -> None:
        keys.store_key("mistral", "stored")
        assert Session().model.name == list_provider_defaults()["mistral"]
        assert Session("mistral/mistral-small").model.name == "mistral/mistral-small"

    def test_a_broken_file_of_keys_harms_nobody_who_needs_none(self, user: Path) -> None:
        user.with_name("keys.json").write_text("{")
        assert default_model(load_configuration(), "local/0.5b").model == "local/0.5b"
        with pytest.raises(ConfigurationError, match="repair or delete it"):
            default_model(load_configuration())

    @pytest.mark.parametrize(
        "command",
        [
            ["models"],
            ["models", "--why"],
            ["keys", "list"],
            ["keys", "set", "groq", "--no-try"],
            ["ask", "Hi"],
            ["chat"],
            ["run", "hello.vibe"],
            ["run", "hello.vibe", "--show", "prompt"],
            ["repl"],
            ["test", "hello.vibe"],
        ],
    )
    def test_no_command_writes_into_the_process(self, project: Path, command: list[str]) -> None:
        with Fake(answer=lambda _: "Hello.") as fake:
            (project / ".env").write_text(
                f"OPENAI_API_KEY=k\nOPENAI_BASE_URL={fake.base_url('openai-chat')}\nANTIPHON_MODEL=openai-chat/gpt-5\n"
            )
            (project / "hello.vibe").write_text('let said = do "Hi"\nprint(said)\ntest "one" { assert(1 == 1) }\n')
            trusted()
            variables, providers = dict(os.environ), dict(PROVIDERS)
            done = CliRunner().invoke(cli, command, input="sk-other\n" if "set" in command else "Hi\n")
            assert done.exit_code == 0, done.output
            assert (dict(os.environ), PROVIDERS) == (variables, providers)
            if command[0] in ("ask", "chat", "run") and "--show" not in command:
                assert "Hello." in done.output
            assert PROVIDERS["openai"].key() == ""


class TestDotenv:
    def test_keys_and_the_model_are_taken_and_nothing_else(self, project: Path) -> None:
        (project / ".env").write_text("ANTHROPIC_API_KEY=k\nANTIPHON_MODEL=m\nPATH=/evil\nPIP_INDEX_URL=x\nFOO=1\n")
        trusted()
        configuration = load_configuration()
        variables = configuration.environment
        assert configuration.notes == ()
        assert (variables["ANTHROPIC_API_KEY"], variables["ANTIPHON_MODEL"]) == ("k", "m")
        assert (variables["PATH"], variables.get("FOO")) == (os.environ["PATH"], os.environ.get("FOO"))
        assert default_model(configuration).steps[-1].found == f"in {project / '.env'}"

    @pytest.mark.parametrize("value", ["real", ""])
    def test_the_real_environment_is_stronger(self, project: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", value)
        (project / ".env").write_text("OPENAI_API_KEY=file")
        trusted()
        assert load_configuration().environment["OPENAI_API_KEY"] == value

    def test_no_key_from_elsewhere_goes_to_an_address_of_the_file(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GEMINI_API_KEY", "real")
        keys.store_key("anthropic", "stored")
        (project / ".env").write_text(
            "GOOGLE_GEMINI_BASE_URL=http://evil\nGOOGLE_API_KEY=bait\nANTHROPIC_BASE_URL=http://evil\n"
            "OPENAI_BASE_URL=http://localhost:1\nOPENAI_API_KEY=own\nLITELLM_BASE_URL=http://localhost:2"
        )
        trusted()
        configuration = load_configuration()
        notes, variables = configuration.notes, configuration.environment
        assert "GOOGLE_GEMINI_BASE_URL" not in variables
        assert "ANTHROPIC_BASE_URL" not in variables
        assert len(notes) == 2
        for note, key in zip(sorted(notes), ("stored", "GEMINI_API_KEY"), strict=True):
            assert note.startswith(f"{project / '.env'} sets ")
            assert f"the key for it ({key}" in note
        assert all("is ignored" in note and "evil" not in note and "stored " not in note[-10:] for note in notes)
        assert PROVIDERS["openai"].address(variables) == "http://localhost:1"
        assert PROVIDERS["litellm"].address(variables) == "http://localhost:2"

    def test_an_address_of_the_users_own_is_kept_without_a_word(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "mine")
        monkeypatch.setenv("OPENAI_BASE_URL", "http://mine")
        (project / ".env").write_text("OPENAI_BASE_URL=http://theirs")
        trusted()
        configured = load_configuration()
        assert list(configured.notes) == []
        assert configured.environment["OPENAI_BASE_URL"] == "http://mine"

    def test_all_that_is_to_be_told_is_told(self, project: Path) -> None:
        keys.store_key("anthropic", "stored")
        (project / ".env").write_text("nothing\nOPENAI_API_KEY=a\0b\nANTHROPIC_BASE_URL=http://evil\n")
        trusted()
        keys.get_keys_path().chmod(0o644)
        configured = load_configuration()
        first, *lines, last = configured.notes
        assert "others could read" in first
        assert lines == [f"line {number} of {project / '.env'} is not NAME=value; it is ignored" for number in (1, 2)]
        assert "sets ANTHROPIC_BASE_URL" in last
        assert "OPENAI_API_KEY" not in configured.environment

    def test_a_line_that_is_none_is_told_without_its_content(self, project: Path) -> None:
        (project / ".env").write_text("# keys\nANTHROPIC_API_KEY sk-secret\nOPENAI_API_KEY='open\n")
        trusted()
        assert list(load_configuration().notes) == [
            f"line {number} of {project / '.env'} is not NAME=value; it is ignored" for number in (2, 3)
        ]

    @pytest.mark.parametrize(
        ("line", "value"),
        [
            ("A=b", "b"),
            ("export A = b c ", "b c"),
            ("A=b # c", "b"),
            ("A=b#c", "b#c"),
            ("A=", ""),
            ("A=#c", ""),
            ("A='b # c' # d", "b # c"),
            (r"A='b\n'", r"b\n"),
            (r'A="b\n\"c\" $D" # e', 'b\n"c" $D'),
        ],
    )
    def test_the_usual_ways_to_write_values_are_read(self, line: str, value: str) -> None:
        assert parse_dotenv(line) == ({"A": value}, [])

    @given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])))
    def test_any_quoted_text_comes_back(self, text: str) -> None:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        assert parse_dotenv(f'A="{escaped}"') == ({"A": text}, [])

    @given(st.text())
    def test_no_file_breaks_the_parser(self, text: str) -> None:
        values, _ = parse_dotenv(text)
        assert all("\0" not in value for value in values.values())


class TestPage:
    def test_renderers_are_named_from_where_the_file_is(self, project: Path, user: Path) -> None:
        user.write_text('[page]\nrenderers = "~/looks"\n')
        (project / "antiphon.toml").write_text('[page]\nrenderers = "page/renderers"\n')
        assert load_configuration().renderers() == [(user, Path.home() / "looks")]
        trusted()
        own = project / "antiphon.toml"
        assert load_configuration().renderers()[1:] == [(own, project / "page" / "renderers")]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("page = 1", "`page` is a table, not int"),
            ("[page]\nrenderes = 'x'", "there is no setting `page.renderes`; did you mean `page.renderers`?"),
            ("[page]\nrenderers = ['x']", "`page.renderers` is a directory such as 'page/renderers', not ['x']"),
            ("[page]\nrenderers = ' '", "`page.renderers` is a directory such as 'page/renderers', not ' '"),
        ],
    )
    def test_a_mistake_is_named(self, user: Path, text: str, message: str) -> None:
        user.write_text(text)
        with pytest.raises(ConfigurationError) as told:
            load_configuration().renderers()
        assert str(told.value) == f"{user}: {message}"


def test_a_variable_that_is_set_to_nothing_is_the_users(tmp_path: Path) -> None:
    own = Environment({"OPENAI_API_KEY": ""}, tmp_path / "keys.json")
    found, _ = apply_dotenv(own, {"OPENAI_API_KEY": "sk-of-the-project"}, tmp_path / ".env")
    assert found["OPENAI_API_KEY"] == ""
    assert found.describe_key_source(PROVIDERS["openai"]) == ""
