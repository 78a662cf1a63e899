"""What the page table says of a page: its file, what it shows and which knobs it may use."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping

from abcdp_core.parameters import Scalar
from ui.view import controls_spec
from ui.view.controls_spec import SHARED


class NotGrantedError(Exception):
    """A page asks for what its line in the page table does not grant, which links rely on."""


@dataclasses.dataclass(frozen=True)
class Page:
    """One line of the table.

    Attributes:
        file: the file under ``pages/`` without its ending.
        title: its name in the navigation.
        help: what it shows, in a sentence beside its heading.
        group: its group in the navigation.
        experiments: those that it is about, the main one first, if not all of its views'; their
            parameters tell which shared knobs it uses.
        own: keys of the knobs it asks for itself.
        uses: shared knobs that it takes beside those of its experiments.
        instead: shared knob -> the own one that is in its place here, as it means something else.
        reasons: shared knob -> why it is not used here, where there is more to say than that.
        view: key of the knob that chooses what is shown, if there is one.
        views: its value -> the experiments shown then, the main one first.
        chooser: key of the knob that tells the scenario, if there is one.
        scenarios: its value -> the scenario; the value itself where that is not said.
        pins: whether its main figure can be pinned, to stay beside the next.
        own_data: whether it takes a person's own data, as not every server does.
        fills: whether it has a heading and knobs of its own, and fills the screen.
    """

    file: str
    title: str
    help: str
    group: str
    experiments: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    instead: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    view: str = ""
    views: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    chooser: str = ""
    scenarios: Mapping[str, str] = dataclasses.field(default_factory=dict)
    pins: bool = False
    own_data: bool = False
    fills: bool = False

    @functools.cached_property
    def every(self) -> tuple[str, ...]:
        """All its experiments, the main one first."""
        of_views = itertools.chain.from_iterable(self.views.values())
        return self.experiments or tuple(dict.fromkeys(of_views))

    def scenario(self, chosen: Scalar) -> str:
        """The scenario that a value of the chooser stands for."""
        return self.scenarios.get(str(chosen), str(chosen))

    def shown(self, view: Scalar | None) -> tuple[str, ...]:
        """The experiments that a view shows; all of them on a page without views."""
        return self.views.get(str(view), self.every)

    def key_of(self, name: str) -> str:
        """The key under which a shared knob, or what is in its place, stands here."""
        return self.instead.get(name, name)

    def in_place(self, view: Scalar | None) -> dict[str, str]:
        """Shared knob -> the own one in its place, where a view takes it."""
        used = controls_spec.used_by(self.shown(view))
        return {name: key for name, key in self.instead.items() if name in used}

    def unused(self, view: Scalar | None) -> dict[str, str]:
        """Shared knob -> why it is disabled while a view is shown."""
        used = controls_spec.used_by(self.shown(view)) | {*self.uses}
        return {
            name: self.reasons.get(name, "Not used on this page.")
            for name in SHARED
            if name not in used or name in self.reasons or name in self.instead
        }

    def knobs(self, view: Scalar | None) -> tuple[str, ...]:
        """Return the keys of the knobs that a view uses: shared ones, then the page's own."""
        unused, shown, replaced = self.unused(view), self.shown(view), self.in_place(view)
        shared = [name for name in SHARED if name in replaced or name not in unused]
        others = {*self.every} - {*shown}
        idle = {*self.instead.values()} - {*replaced.values()}
        own = [
            key
            for key in self.own
            if key in (self.view, self.chooser)
            or (key.rpartition(".")[0] not in others and key not in idle)
        ]
        return tuple(dict.fromkeys([*map(self.key_of, shared), *own]))

    def check(self, name: str, view: Scalar | None) -> None:
        """Refuse a knob or an experiment that is not granted.

        Raises:
            NotGrantedError: names it, and the page.
        """
        knobs_of_all = {*self.own, *SHARED, *controls_spec.EVERYWHERE, "preset"} - self.unused(
            view
        ).keys()
        if name not in knobs_of_all | {*self.shown(view)}:
            raise NotGrantedError(
                f"The page {self.title} asks for {name}, which its line in "
                "ui/view/page_table.py does not grant."
            )
