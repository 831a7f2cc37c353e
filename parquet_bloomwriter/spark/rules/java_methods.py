"""Methods of the objects of the rules, to be called over py4j.

py4j remembers methods by the name of their class. If a program stops its SparkContext and starts
another one, the JVM and py4j's memory stay, but the rules are loaded anew, as other classes of the
same names. The remembered methods do not fit them. So methods of these objects are looked up and
called by Java's reflection, whose own classes are always the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def method_of(gateway: Any, target: Any, name: str) -> Callable[..., Any]:  # noqa: ANN401  py4j
    """Return a public method of a Java object as a function; it is the only one of its name."""
    (method,) = [one for one in target.getClass().getMethods() if one.getName() == name]
    kind = gateway.jvm.java.lang.Object

    def call(*arguments: object) -> Any:  # noqa: ANN401  what the method returns
        values = gateway.new_array(kind, len(arguments))
        for i, argument in enumerate(arguments):
            values[i] = argument
        return method.invoke(target, values)

    return call
