"""`memdeck doctor`: each part checked by itself, with the remedy where one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli import output
from tui.cli.common import Scope, json_option, opened, scope_options

if TYPE_CHECKING:
    from core import Finding


@click.command("doctor")
@click.option("--repair", is_flag=True, help="Set right what can be set right from the files.")
@json_option
@scope_options
def command(*, scope: Scope, repair: bool, as_json: bool) -> int:
    """Check every part that memdeck needs, and say what to do where one fails."""
    with opened(scope) as memory:
        findings = memory.doctor(repair=repair)
    if as_json:
        output.print_json([_finding_json(finding) for finding in findings])
    else:
        _print_findings(findings)
    return output.OK if all(finding.ok for finding in findings) else output.FAILURE


def _finding_json(finding: Finding) -> dict[str, object]:
    answer: dict[str, object] = {"check": finding.check, "ok": finding.ok, "detail": finding.detail}
    if finding.remedy:
        answer["remedy"] = finding.remedy
    return answer


def _print_findings(findings: tuple[Finding, ...]) -> None:
    width = max((output.cells(output.visible(finding.check)) for finding in findings), default=0)
    for finding in findings:
        check = output.visible(finding.check)
        state = output.styled("ok    ", "good") if finding.ok else output.styled("FAILED", "bad")
        output.line(f"{state}  {check}{' ' * (width - output.cells(check))}  {output.visible(finding.detail)}".rstrip())
        if finding.remedy and not finding.ok:
            output.line(f"        {' ' * width}  {output.visible(finding.remedy)}")
