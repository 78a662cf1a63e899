"""Create a total privacy budget for a data set, or show what is left.

`budget create NAME --epsilon 3 --unit person` creates a budget. `release ... --budget NAME` deducts
from it before the data are read, and refuses a release that does not fit. `budget show` says what
is left. A budget is never changed or deleted. All budgets are in one file, the ledger, in your data
folder, or where `--ledger` or the environment variable ABCDP_LEDGER says.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.sentences import counted
from abcdp_core.cli import arguments
from abcdp_core.cli.console import say
from abcdp_core.release import budget_file
from abcdp_core.release.budget import NEIGHBOURS, Budget
from abcdp_core.release.budget_file import Account, Reservation

ARTICLE = re.compile(r"(one|an?|the)\b", re.IGNORECASE)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parts = parser.add_subparsers(dest="what", required=True, metavar="create | show")
    create = parts.add_parser("create", help="create a budget", allow_abbrev=False)
    create.add_argument("name", metavar="NAME")
    create.add_argument("--epsilon", required=True, metavar="E",
                        help="total ε of all releases from the data")  # fmt: skip
    create.add_argument("--delta", default="0", metavar="D",
                        help="total δ (0: pure differential privacy)")  # fmt: skip
    create.add_argument("--unit", required=True, metavar="UNIT",
                        help="what is protected, such as person, patient or day")  # fmt: skip
    create.add_argument("--neighbors", "--neighbours", default=NEIGHBOURS[0], metavar="N",
                        dest="neighbours",
                        help=f"{' or '.join(NEIGHBOURS)} ({NEIGHBOURS[0]})")  # fmt: skip
    show = parts.add_parser("show", help="show what is left", allow_abbrev=False)
    show.add_argument("name", nargs="?", metavar="NAME")
    show.add_argument("--documents", nargs="+", type=arguments.path, default=[], metavar="FILE",
                      help="releases that must be in the ledger")  # fmt: skip
    for part in (create, show):
        add_ledger(part)


def add_ledger(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where the ledger is."""
    parser.add_argument("--ledger", type=arguments.path, metavar="FILE",
                        default=budget_file.usual_place(),
                        help="file of all budgets (%(default)s)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Create a budget, or show what is left.

    Raises:
        ParameterError: the request is not possible, or a release is not in the ledger.
    """
    if options.what == "create":
        _create(options)
    else:
        _show(options)
    return 0


def _create(options: argparse.Namespace) -> None:
    if ARTICLE.match(options.unit):
        raise ParameterError(f"unit = {options.unit}: must be a noun without article.")
    budget = Budget(
        options.name,
        budget_file.amount("epsilon", options.epsilon),
        budget_file.amount("delta", options.delta),
        options.unit,
        options.neighbours,
    )
    budget_file.create(options.ledger, budget)
    say(f"{_promise(budget)} Written to {options.ledger}")


def _show(options: argparse.Namespace) -> None:
    if options.name is None:
        known = budget_file.accounts(options.ledger)
        lines = [f"{_promise(each.budget)} {_left(each)}" for each in known.values()]
        say(*lines or ["There is no budget yet."])
    else:
        account = budget_file.account(options.ledger, options.name)
        say(_promise(account.budget), *_history(account), _left(account))
    documents = {str(file): _reservation(file) for file in options.documents}
    if missing := budget_file.missing(options.ledger, documents):
        raise ParameterError(
            f"ledger = {options.ledger}: does not contain {', '.join(missing)}. It is another "
            f"ledger, an older copy, or was changed: more has been spent than it says."
        )
    if documents:
        count = counted(len(documents), "release is", "releases are")
        say(f"{count} in the ledger.")
    for file, reservation in documents.items():
        if options.name not in (None, reservation.budget):
            say(f"{file} used another budget, {reservation.budget}.")


def _promise(budget: Budget) -> str:
    delta = f", δ = {budget.delta}" if budget.delta else ""
    return (
        f"{budget.name}: ε = {budget.epsilon}{delta} for all releases together; protects one "
        f"{budget.unit} ({budget.neighbours})."
    )


def _left(account: Account) -> str:
    return f"Left: ε = {account.left():f} in pure differential privacy, for one release or several."


def _history(account: Account) -> list[str]:
    returned = {e.content["entry"] for e in account.entries if e.kind == "return"}
    lines = []
    for entry in (each for each in account.entries if each.kind == "reserve"):
        content = entry.content
        delta = f", δ = {content['delta']}" if content["delta"] != "0" else ""
        back = " (returned: nothing was released)" if entry.number in returned else ""
        spent = f"ε = {content['epsilon']}{delta}"
        lines.append(f"  {content['day']}  {spent}  {content['what']}{back}")
    return lines


def _reservation(file: Path) -> Reservation:
    """Return the ledger entry that a release cites."""
    # Imported late because what reads releases is slow to import.
    from abcdp_core.release.verification import read_file

    try:
        return budget_file.reservation_in(read_file(file)[1])
    except FileNotFoundError as error:
        raise ParameterError(f"documents = {file}: file not found.") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ParameterError(f"documents = {file}: cites no ledger.") from error
