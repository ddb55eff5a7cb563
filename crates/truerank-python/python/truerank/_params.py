"""Parameters in scikit-learn's manner, which need no scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

_Self = TypeVar("_Self", bound="Params")


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
        given = (f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        return f"{type(self).__name__}({', '.join(given)})"
