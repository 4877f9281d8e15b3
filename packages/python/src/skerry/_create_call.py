"""How a creation is called: by the names of its fields, and with a template or a snapshot."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, TypeVar, cast

from .errors import SkerryInputError

Create = TypeVar("Create", bound=Callable[..., Any])


def needs_template(create: Create) -> Create:
    """What Python itself says of a call without ``template`` does not tell what to give."""

    @wraps(create)
    def checked(self: object, *args: object, **fields: object) -> Any:
        if args:
            raise SkerryInputError("`create` takes its fields by name.", remediation='Write `create(template="base")`.')
        named = [fields.get("template"), fields.get("snapshot")]
        if not any(isinstance(name, str) and name != "" for name in named):
            raise SkerryInputError(
                "`create` needs the name of a template.",
                remediation='Write `create(template="base")`; `templates.list()` says which templates there are.',
            )
        return create(self, **fields)

    return cast(Create, checked)
