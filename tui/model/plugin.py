"""Call objects of other packages, and report any failure with the plug-in's name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui.model.problem import BenchtuiError, UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tui.model.typed import Rule

PLUGIN_FAILED = "plugin-failed"


class PluginError(UsageError):
    """Raised when a plug-in raises an exception or violates its contract; the text names the
    plug-in.
    """


class LackingError(PluginError, AttributeError):
    """Raised for an attribute that a plug-in does not have, so that `hasattr` returns False."""


class Contract(Struct, frozen=True):
    """Contract for a plug-in's object: rules for results of methods (`returns`), and for
    attributes.

    `made`: by method, a function that converts its result, also given the plug-in's name.
    """

    returns: Mapping[str, Rule]
    attributes: Mapping[str, Rule] = {}
    made: Mapping[str, Callable[[Any, str], Any]] = {}


class Plugin:
    """An object of another package whose results are checked against a contract.

    Exceptions that are not BenchtuiErrors, and violations of the contract, become PluginError with
    the plug-in's name.
    """

    def __init__(
        self,
        inner: Any,
        who: str,
        contract: Contract,
        accept: Callable[[str, Any], str] | None = None,
    ):
        own = self.__dict__
        own["_inner"], own["_who"], own["_contract"], own["_accept"] = inner, who, contract, accept

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        inner, who, contract = self._inner, self._who, self._contract
        if not hasattr(type(inner), name) and name not in getattr(inner, "__dict__", {}):
            raise LackingError(f"{who}: missing {name}")
        found = guarded(who, name, getattr, inner, name)
        if name in contract.returns and not callable(found):
            raise PluginError(f"{who}: {name} is a value; expected a method")
        if not callable(found) or name in contract.attributes:
            return self._checked(name, found, contract.attributes.get(name))
        called = self._caller(name, found)
        self.__dict__[name] = called  # looked up once
        return called

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)

    def _caller(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        who, rule, make = self._who, self._contract.returns.get(name), self._contract.made.get(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            value = self._checked(name, guarded(who, name, function, *args, **kwargs), rule)
            return value if make is None or value is None else guarded(who, name, make, value, who)

        return call

    def _checked(self, name: str, value: Any, rule: Rule | None) -> Any:
        error = rule(value) if rule is not None else ""
        if not error and self._accept is not None:
            error = self._accept(name, value)
        if error:
            separator = "" if error[0] in ".[" else ": "
            raise PluginError(f"{self._who}: {name}{separator}{error}")
        return value


def guarded(who: str, what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of a plug-in; a generator is consumed completely. Raises PluginError."""
    try:
        value = function(*args, **kwargs)
        return list(value) if isinstance(value, Iterator) else value
    except BenchtuiError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"{who}: {what} failed: {error!r}{_place(error)}") from error


def _place(error: BaseException) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)[1:]
    return f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""


@functools.cache
def guarded_model(model: type[BaseModel], who: str) -> type[BaseModel]:
    """Wrap a plug-in's pydantic model so that its validators raise only errors of the profile, or
    PluginError.
    """
    from pydantic import create_model, model_validator

    def validate(_: Any, value: Any, handler: Callable[[Any], Any]) -> Any:
        return guarded_validation(who, handler, value)

    wrapped: Any = model_validator(mode="wrap")(classmethod(validate))  # type: ignore[arg-type]  # any model's
    made: Any = create_model(
        model.__name__,
        __base__=model,
        __module__=model.__module__,
        __doc__=model.__doc__,
        __validators__={"guarded_validation": wrapped},
    )
    return made


def guarded_validation(who: str, handler: Callable[[Any], Any], value: Any) -> Any:
    """Validate with a plug-in's model.

    Errors that validators may raise pass through, as errors in the profile; any others become
    PluginError.
    """
    from pydantic_core import PydanticCustomError, PydanticOmit, PydanticUseDefault

    try:
        return handler(value)
    except (
        ValueError,
        AssertionError,
        PydanticCustomError,
        PydanticOmit,
        PydanticUseDefault,
        BenchtuiError,
    ):
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"{who}: its profile model failed: {error!r}{_place(error)}") from error
