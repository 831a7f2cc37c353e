"""Add the optimizer rules to a session, switch them on and off, and trace their decisions.

Rules are Java objects in the session's `experimental.extraOptimizations`. They work on every query
that is planned in the session: DataFrames, SQL, views, tables, subqueries and joins. A rule that
fails leaves the plan unchanged.
"""

# ruff: noqa: SLF001  PySpark's way to the JVM
from __future__ import annotations

import logging
import threading
import weakref
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.spark.adaptor.compiler import put_jar
from parquet_bloomwriter.spark.jobs import scratch_folder
from parquet_bloomwriter.spark.rules.bridge import Bridge
from parquet_bloomwriter.spark.rules.explain import Decision
from parquet_bloomwriter.spark.rules.mailbox import Attendants
from parquet_bloomwriter.spark.settings import (
    DEFAULTS,
    HYBRID_ENABLED,
    MIN_JOIN_BYTES,
    is_connect,
)
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from parquet_bloomwriter.spark.rules.protocol import Rule

_log = logging.getLogger(__name__)
_PACKAGE = "bloomwriter."
_RULES = ("PushDownBFIndexRule", "JoinBFIndexRule")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Adaptor:
    """The rules of one session, with both ends of the bridge between them and Python."""

    bridge: Bridge
    java: Any
    """The Java end, `Bridge.java`."""

    rules: tuple[Any, ...]
    """Java objects, in the order in which they are applied."""

    gateway: Any
    """The gateway of py4j to the JVM."""

    def method(self, name: str) -> Callable[..., Any]:
        """Return a method of the Java end."""
        return method_of(self.gateway, self.java, name)


_adaptors: weakref.WeakKeyDictionary[SparkSession, _Adaptor | Reason] = weakref.WeakKeyDictionary()
"""The rules of each session, or the reason why the session cannot have rules."""

_creation_lock = threading.Lock()
_switch_lock = threading.RLock()
"""Held while rules are switched on or off, and for the whole of a trace."""


def enable(spark: SparkSession, *, homes: Iterable[str] = ()) -> bool:
    """Let queries of a session use indexes.

    The first time, the rules are compiled (about a second) and added to the session. Where that
    fails, queries go on without indexes, and `problem_of` and `trace` say why.

    Args:
        spark: The session. It does not include sessions made from it by `newSession`.
        homes: Folders of indexes that do not lie beside their tables.

    Returns:
        Whether queries use indexes now.

    Raises:
        InvalidArgument: If the session is one of Spark Connect, which plans queries on the server.
    """
    adaptor = _adaptor_of(spark)
    if isinstance(adaptor, Reason):
        return False
    adaptor.bridge.homes.update(homes)
    with _switch_lock:
        adaptor.method("setForTracing")(False)  # noqa: FBT003  Java's
        _set_rules(spark, [*_foreign_rules(spark), *adaptor.rules])
    return True


def disable(spark: SparkSession) -> None:
    """Let queries of a session use no index."""
    if not is_connect(spark):
        with _switch_lock:
            _set_rules(spark, _foreign_rules(spark))


def is_enabled(spark: SparkSession) -> bool:
    """Return whether queries of a session use indexes."""
    if is_connect(spark):
        return False
    with _switch_lock:
        return len(_foreign_rules(spark)) < len(_all_rules(spark))


def trace(df: DataFrame, *, homes: Iterable[str] = ()) -> tuple[Decision, ...]:
    """Return what the rules decide about a query, whether they are switched on or not.

    The query is planned anew and not run. Decisions about queries of other threads are not
    returned, and a trace does not change whether these queries use indexes.

    Args:
        df: The query.
        homes: As for `enable`.

    Raises:
        InvalidArgument: As for `enable`.
    """
    spark = df.sparkSession
    adaptor = _adaptor_of(spark)
    if isinstance(adaptor, Reason):
        rule: Rule = "PushDownBFIndexRule"
        return (Decision(rule=rule, relation="", index=None, condition="", reason=adaptor),)
    adaptor.bridge.homes.update(homes)
    with _switched_on(spark, adaptor), adaptor.bridge.traced() as found:
        analyzed = df._jdf.queryExecution().analyzed()
        adaptor.method("trace")(spark._jsparkSession.sessionState(), analyzed)
    return found.decisions


@contextmanager
def _switched_on(spark: SparkSession, adaptor: _Adaptor) -> Iterator[None]:
    """Add the rules to the session; if they are switched off, for traced queries only."""
    with _switch_lock:
        was_enabled = is_enabled(spark)
        adaptor.method("setForTracing")(not was_enabled)
        _set_rules(spark, [*_foreign_rules(spark), *adaptor.rules])
        try:
            yield
        finally:
            if not was_enabled:
                _set_rules(spark, _foreign_rules(spark))


def problem_of(spark: SparkSession) -> Reason | None:
    """Return why a session cannot have rules, or None.

    Raises:
        InvalidArgument: As for `enable`.
    """
    adaptor = _adaptor_of(spark)
    return adaptor if isinstance(adaptor, Reason) else None


def clear_caches() -> None:
    """Forget snapshots, lists of files and filters that the rules of all sessions keep.

    Queries that other threads are planning may go on without indexes.
    """
    from py4j.protocol import Py4JError

    for adaptor in list(_adaptors.values()):
        if not isinstance(adaptor, Reason):
            adaptor.bridge.clear()
            with suppress(Py4JError):  # a JVM that has ended has no caches
                adaptor.method("clear")()


register(clear_caches)


def _adaptor_of(spark: SparkSession) -> _Adaptor | Reason:
    """Return the rules of a session, which are made at the first call."""
    if is_connect(spark):
        raise InvalidArgument(
            "a session of Spark Connect plans its queries on the server",
            remedy="Use `where`, which needs no rules.",
        )
    with _creation_lock:
        adaptor = _adaptors.get(spark)
        if adaptor is None:
            try:
                adaptor = _new_adaptor(spark)
            except Exception as error:  # noqa: BLE001  whatever fails, queries go on
                text = f"the rules cannot be added to Spark {spark.version}: {_message(error)}"
                _log.warning("%s; queries go on without indexes", safe(text))
                _log.debug("%s", safe(str(error)))
                adaptor = Reason(code=Code.ADAPTOR_UNAVAILABLE, text=text)
            _adaptors[spark] = adaptor
    return adaptor


def _message(error: Exception) -> str:
    """Return the first line of an error's message, without the stack that py4j appends."""
    from py4j.protocol import Py4JJavaError

    text = str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
    return text.strip().partition("\n")[0] or type(error).__name__


def _new_adaptor(spark: SparkSession) -> _Adaptor:
    context: Any = spark.sparkContext
    # Executors fetch the jar whenever they start, so it is kept until the process ends.
    # `ADD JAR` would do the same, but not with a space, "#" or "%" in the path.
    jar = context._jvm.java.io.File(put_jar(spark, scratch_folder())).toURI()
    context._jsc.addJar(jar.toString())
    loader = spark._jsparkSession.sharedState().jarClassLoader()
    loader.addURL(jar.toURL())
    bridge = Bridge(spark)
    java = _new(context, loader, "Bridge")
    gateway = context._gateway
    mailbox = method_of(gateway, java, "mailbox")()
    take, answer = (method_of(gateway, mailbox, name) for name in ("next", "answer"))
    Attendants(take, answer, bridge)
    push_down = _new(context, loader, _RULES[0], java, HYBRID_ENABLED, DEFAULTS[HYBRID_ENABLED])
    join = _new(context, loader, _RULES[1], java, MIN_JOIN_BYTES, DEFAULTS[MIN_JOIN_BYTES])
    return _Adaptor(bridge=bridge, java=java, rules=(push_down, join), gateway=gateway)


def _new(context: Any, loader: Any, name: str, *arguments: object) -> Any:  # noqa: ANN401  py4j
    """Return a new object of a class that the gateway's own class loader does not know."""
    kind = context._jvm.java.lang.Class.forName(_PACKAGE + name, True, loader)  # noqa: FBT003  Java's
    (constructor,) = kind.getConstructors()
    parameters = context._gateway.new_array(context._jvm.java.lang.Object, len(arguments))
    for i, argument in enumerate(arguments):
        parameters[i] = argument
    return constructor.newInstance(parameters)


def _all_rules(spark: SparkSession) -> list[Any]:
    rules = _experimental(spark).extraOptimizations()
    return [rules.apply(i) for i in range(rules.length())]


def _foreign_rules(spark: SparkSession) -> list[Any]:
    """Return the rules of the session that other programs have added."""
    return [one for one in _all_rules(spark) if not one.getClass().getName().startswith(_PACKAGE)]


def _set_rules(spark: SparkSession, rules: list[Any]) -> None:
    jvm: Any = spark.sparkContext._jvm
    java = jvm.java.util.ArrayList()
    for rule in rules:
        java.add(rule)
    converted = jvm.org.apache.spark.api.python.PythonUtils.toSeq(java)
    getattr(_experimental(spark), "extraOptimizations_$eq")(converted)


def _experimental(spark: SparkSession) -> Any:  # noqa: ANN401
    return spark._jsparkSession.experimental()


def method_of(gateway: Any, target: Any, name: str) -> Callable[..., Any]:  # noqa: ANN401  py4j
    """Return a public method of a Java object as a function; it is the only one of its name.

    py4j remembers methods by the name of their class. If a program stops its SparkContext and
    starts another one, the JVM and py4j's memory stay, but the rules are loaded anew, as other
    classes of the same names. The remembered methods do not fit them. So methods of these objects
    are looked up and called by Java's reflection, whose own classes are always the same.
    """
    (method,) = [method for method in target.getClass().getMethods() if method.getName() == name]
    kind = gateway.jvm.java.lang.Object

    def call(*arguments: object) -> Any:  # noqa: ANN401  what the method returns
        values = gateway.new_array(kind, len(arguments))
        for i, argument in enumerate(arguments):
            values[i] = argument
        return method.invoke(target, values)

    return call
