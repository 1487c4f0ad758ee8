"""Access to moto's internals; `Untyped` marks what comes from there, since moto has no types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Untyped: TypeAlias = Any
Json: TypeAlias = dict[str, Any]


def replace(owner: Untyped, name: str, replacement: Callable[..., Any]) -> Callable[..., Any] | None:
    """Replace owner.name; return its earlier value, None if there was none."""
    original: Callable[..., Any] | None = getattr(owner, name, None)
    setattr(owner, name, replacement)
    return original


def wrap(owner: Untyped, name: str, wrapper: Callable[..., Any]) -> None:
    """Replace owner.name with a function that calls wrapper(original, ...); owner.name must exist."""
    original = getattr(owner, name)

    def wrapped(*arguments: Untyped, **options: Untyped) -> Untyped:
        return wrapper(original, *arguments, **options)

    setattr(owner, name, wrapped)


def request_parameter(response: Untyped, name: str, default: object = None) -> Untyped:
    """Return one parameter of the API call that a moto response object answers."""
    return response._get_param(name, default)  # noqa: SLF001 - moto offers no public reader


def request_flag(response: Untyped, name: str) -> bool:
    """Return one boolean parameter of the API call; absent means False."""
    return bool(response._get_bool_param(name, if_none=False))  # noqa: SLF001 - moto offers no public reader


def template_at(response: Untyped, url: str) -> str:
    """Return the text that a TemplateURL or StackPolicyURL of the API call points to."""
    return str(response._get_stack_from_s3_url(url))  # noqa: SLF001 - moto offers no public reader


def resolvable_names(resource_map: Untyped) -> dict[str, Any]:
    """Return everything that Ref can resolve without creating anything: parameters, mappings and existing resources."""
    names: dict[str, Any] = resource_map._parsed_resources  # noqa: SLF001 - moto offers no public reader
    return names


def stack_event(stack: Untyped, status: str, reason: str | None) -> None:
    """Add an event of the stack itself, and notify the stack's topics."""
    stack._add_stack_event(status, resource_status_reason=reason)  # noqa: SLF001 - moto offers no public writer
