"""What a stack is made from: template text, its parsed form, the parameters as given, and the resolver over both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from moto.cloudformation.parsing import OutputMap

from local_aws.parameters import check_parameters
from local_aws.template import check_resource_types, check_shape, parsed_template, resource_map

if TYPE_CHECKING:
    from local_aws.moto_border import Json, Untyped


@dataclass(frozen=True, slots=True, kw_only=True)
class StackContents:
    """A template with its parameters, checked, with no resource made yet."""

    text: str
    template: Json
    parameters: dict[str, str]
    names: Untyped


def stack_contents(stack: Untyped, text: str, parameters: dict[str, str]) -> StackContents:
    """The contents for this stack; raises ValidationError for what CloudFormation refuses before it starts."""
    template = parsed_template(text)
    check_shape(template)
    check_resource_types(template)
    check_parameters(template, parameters)
    names = resource_map(stack, template, parameters)
    return StackContents(text=text, template=template, parameters=parameters, names=names)


def current_contents(stack: Untyped) -> StackContents:
    """Return what the stack consists of now."""
    return StackContents(
        text=stack.template,
        template=stack.template_dict,
        parameters=stack.parameters,
        names=stack.resource_map,
    )


def place(stack: Untyped, contents: StackContents) -> None:
    """Makes the contents what the stack consists of: template, parameters, outputs."""
    stack.template, stack.template_dict = contents.text, contents.template
    stack.description = contents.template.get("Description")
    stack.parameters = contents.parameters
    stack.resource_map = contents.names
    stack.output_map = OutputMap(contents.names, contents.template, stack.stack_id)
