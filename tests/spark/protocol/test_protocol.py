"""The messages between the rules and Python: both ends read and write the same examples."""

# ruff: noqa: SLF001  objects of the JVM
from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter.spark import rules
from parquet_bloomwriter.spark.adaptor import compiler
from parquet_bloomwriter.spark.rules import protocol
from parquet_bloomwriter.spark.rules.protocol import read_request, write_answer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from parquet_bloomwriter.spark.rules.protocol import Answer, Request

HERE = Path(__file__).parent
MESSAGES: Any = json.loads((HERE / "messages.json").read_text(encoding="utf-8"))

REQUESTS: dict[str, Request] = {
    "prune": protocol.PruneRequest(
        roots=("/t", "/u/part 1"),
        text="(id = 5)",
        condition={
            "and": [
                {"in": ["s", "x"], "type": "long", "values": ["1", "2"]},
                {"in": ["name"], "type": "string", "values": ["w6k="]},
            ]
        },
        case_sensitive=True,
    ),
    "files": protocol.FilesRequest(snapshot="5f"),
    "unchanged": protocol.UnchangedRequest(snapshot="5f", present=b"\x05\x02"),
    "join": protocol.JoinRequest(
        roots=("/t",),
        text="id = k",
        column=("s", "x"),
        type="decimal(9,2)",
        case_sensitive=False,
    ),
    "join_filter": protocol.JoinFilterRequest(
        roots=("/t",),
        text="id = k",
        type="decimal(9,2)",
        index="/i/ids",
        snapshot="5f",
        indexed_column="s.x",
        present=b"\x05\x02",
        unknown=("/t/new.parquet",),
        num_unknown=2,
    ),
    "setting": protocol.SettingRequest(name="spark.bloomwriter.join.minBytes", text="10MB"),
    "report of use": protocol.Report(
        rule="PushDownBFIndexRule",
        roots=("/t",),
        text="(id = 5)",
        indexes=("ids", "names"),
        num_files=4,
        num_kept=1,
        num_bytes=5_000_000_000,
        bytes_kept=1000,
    ),
    "report of no use": protocol.Report(
        rule="JoinBFIndexRule",
        code="NOT_ELIGIBLE_JOIN",
        why="one side is going to be broadcast",
    ),
}

ANSWERS: dict[str, Answer] = {
    "prune": protocol.PruneAnswer(
        indexes=(
            protocol.PrunedIndex(name="ids", snapshot="5f", checked=True, excluded=b"\xfa\x01"),
        ),
    ),
    "prune without indexes": protocol.PruneAnswer(),
    "files": protocol.FilesAnswer(
        root="/t", files="10 1700000000000 a.parquet\0" + "20 1700000000001 d/b é.parquet\0"
    ),
    "unchanged": protocol.UnchangedAnswer(unchanged=b"\x04\x02"),
    "join": protocol.JoinAnswer(
        candidates=(
            protocol.JoinCandidate(
                name="ids", index="/i/ids", snapshot="5f", checked=False, column="s.x"
            ),
        )
    ),
    "join_filter": protocol.JoinFilterAnswer(
        filter=protocol.ProbeFilter(
            id="9c",
            text="Bloom filter of ids.s.x (1 KiB, values, 1 %)",
            path="/scratch/9c.bloom",
            offset=14,
            num_bytes=1024,
            fpp=0.01,
            mode="decimal32",
            cutoff=-2_208_988_800_000_000,
        )
    ),
    "join_filter without cutoff": protocol.JoinFilterAnswer(
        filter=protocol.ProbeFilter(
            id="9d",
            text="",
            path="/scratch/9d.bloom",
            offset=15,
            num_bytes=32,
            fpp=0.5,
            mode="plain",
            cutoff=None,
        )
    ),
    "join_filter without filter": protocol.JoinFilterAnswer(),
    "setting": protocol.SettingAnswer(value=10_485_760.0),
    "report": protocol.NoAnswer(),
}


def test_every_example_is_tested() -> None:
    assert set(REQUESTS) == set(MESSAGES["requests"])
    assert set(ANSWERS) == set(MESSAGES["answers"])
    kinds = {example["ask"] for example in MESSAGES["requests"].values()}
    assert kinds == set(protocol._REQUESTS)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", REQUESTS)
def test_python_reads_the_requests(name: str, *, traced: bool) -> None:
    found = read_request(json.dumps(MESSAGES["requests"][name] | {"traced": traced}))
    expected = REQUESTS[name]
    assert found.traced is traced
    assert type(found) is type(expected)
    assert found == type(expected)(**(_fields(expected) | {"traced": traced}))


@pytest.mark.parametrize("name", ANSWERS)
def test_python_writes_the_answers(name: str) -> None:
    assert json.loads(write_answer(ANSWERS[name])) == MESSAGES["answers"][name]


@pytest.mark.parametrize(
    ("change", "error"),
    [({"ask": "else"}, ValueError), ({"ask": None}, ValueError), ({"more": 1}, TypeError)],
)
def test_python_refuses_other_requests(change: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        read_request(json.dumps(MESSAGES["requests"]["files"] | change))


def test_java_writes_the_requests_and_reads_the_answers(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    session = spark.newSession()
    assert rules.enable(session), rules.problem_of(session)
    rules.disable(session)
    context: Any = session.sparkContext
    loader = session._jsparkSession.sharedState().jarClassLoader()
    messages = _messages_class(session, loader, monkeypatch, tmp_path)

    def call(name: str, *arguments: str) -> Any:  # noqa: ANN401  JSON
        (method,) = [one for one in messages.getDeclaredMethods() if one.getName() == name]
        values = context._gateway.new_array(context._jvm.java.lang.Object, len(arguments))
        for i, argument in enumerate(arguments):
            values[i] = argument
        return json.loads(method.invoke(None, values))

    assert call("requests") == MESSAGES["requests"]
    for name, answer in MESSAGES["answers"].items():
        assert call("read", name.split(" ")[0], json.dumps(answer)) == answer


def _messages_class(
    session: SparkSession,
    loader: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
) -> Any:  # noqa: ANN401
    """Compile `Messages.java` against the rules, and load it by the class loader of the rules."""
    context: Any = session.sparkContext
    thread = context._jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    with monkeypatch.context() as patch:
        patch.setattr(compiler, "_SOURCES", HERE)
        patch.setattr(compiler, "keep", lambda *_: None)
        thread.setContextClassLoader(loader)
        try:
            jar = compiler.put_jar(session, str(folder))
        finally:
            thread.setContextClassLoader(before)
    loader.addURL(context._jvm.java.io.File(jar).toURI().toURL())
    name = "bloomwriter.Messages"
    return context._jvm.java.lang.Class.forName(name, True, loader)  # noqa: FBT003  Java's


def _fields(request: Request) -> dict[str, Any]:
    from dataclasses import fields

    return {field.name: getattr(request, field.name) for field in fields(request)}
