"""Parameters as scikit-learn has them, without scikit-learn; and options of the library as parameters."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, TypeVar

from . import _truerank

_Self = TypeVar("_Self", bound="Params")
_Class = TypeVar("_Class", bound=type)


class Params:
    """What `__init__` takes are the parameters; each is kept under its own name and nothing else is done with it."""

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: _Self, **params: Any) -> _Self:
        """Sets parameters by name."""
        known = self._names()
        for name, value in params.items():
            if name not in known:
                kind = type(self).__name__
                raise ValueError(f"{kind} has no parameter '{name}'; known are {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = {name: found.default for name, found in inspect.signature(type(self).__init__).parameters.items()}
        chosen = {name: value for name, value in self.get_params().items() if value != usual[name]}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in chosen.items())})"


def takes(*stages: str, first: str = "", **others: Any) -> Callable[[_Class], _Class]:
    """Gives a class the options of stages of the library as parameters, with their defaults, and documents them.

    `first` names the parameter that may be given without its name; `others` are parameters that are no options.
    """
    options = [option for stage in stages for option in _truerank._options(stage)]
    defaults = {**{name: default for name, default, _ in options}, **others}
    keyword, positional = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = sorted(defaults, key=lambda name: name != first)
    parameters = [
        inspect.Parameter(name, positional if name == first else keyword, default=defaults[name]) for name in names
    ]
    signature = inspect.Signature([inspect.Parameter("self", positional), *parameters])

    def __init__(self: Any, *args: Any, **params: Any) -> None:
        bound = signature.bind(self, *args, **params)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]

    def decorate(cls: _Class) -> _Class:
        cls.__init__ = __init__  # type: ignore[misc]
        lines = "\n".join(f"    {name} : {help}" for name, _, help in options)
        cls.__doc__ = (cls.__doc__ or "").replace("{options}", lines.strip())
        return cls

    return decorate


def with_options(function: Callable[..., Any], *stages: str, **more: Any) -> Callable[..., Any]:
    """The function with the options of stages in its signature, with their defaults, and in its documentation.

    Only what people see changes: the library itself takes the options and knows their defaults. `more` are keywords that are no
    options of the library, with their defaults.
    """
    options = [option for stage in stages for option in _truerank._options(stage)]
    given = [found for found in inspect.signature(function).parameters.values() if found.kind != found.VAR_KEYWORD]
    named = {found.name for found in given}
    kind = inspect.Parameter.KEYWORD_ONLY
    defaults = {**{name: default for name, default, _ in options}, **more}
    added = [inspect.Parameter(name, kind, default=defaults[name]) for name in defaults if name not in named]

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        return function(*args, **keywords)

    del call.__wrapped__  # type: ignore[attr-defined]
    call.__signature__ = inspect.Signature([*given, *added])  # type: ignore[attr-defined]
    lines = "\n".join(f"{name} : {help}" for name, _, help in options if name not in named)
    call.__doc__ = f"{inspect.getdoc(function)}\n\nOptions\n-------\n{lines}"
    return call
