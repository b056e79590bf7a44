"""`inkwire sessions`: the conversations of this directory, the one used last first."""

from __future__ import annotations

import time
from pathlib import Path

import click

from inkwire.agent.session import SessionStore
from inkwire.terminal.sanitize import sanitize_line

__all__ = ["sessions"]


@click.command()
@click.option("--all", "everywhere", is_flag=True, help="Those of every directory.")
def sessions(everywhere: bool) -> None:
    """List the conversations of this directory; go on with one by `inkwire -r ID`."""
    infos = SessionStore().infos(None if everywhere else Path.cwd())
    if not infos:
        click.echo("no conversation yet" + ("" if everywhere else " in this directory (--all shows those of others)"))
        return
    for info in infos:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.modified))
        where = f"  {sanitize_line(info.workspace, 60)}" if everywhere else ""
        click.echo(f"{info.id}  {when}  {sanitize_line(info.title, 70)}{where}")
