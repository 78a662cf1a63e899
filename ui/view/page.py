"""What the page table says of a page: its file, what it shows and which knobs it may use."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping

from abcdp_core import studies
from abcdp_core.base.parameters import Scalar
from ui.view import controls_spec
from ui.view.controls_spec import SHARED, Knob


@dataclasses.dataclass(frozen=True, eq=False)
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
        replaces: shared knob -> the own one that is in its place here, as it means something else.
        without: shared knobs of its experiments that have no place here.
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
    replaces: Mapping[str, str] = dataclasses.field(default_factory=dict)
    without: tuple[str, ...] = ()
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

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of a link that mean something here."""
        return (*SHARED, *controls_spec.EVERYWHERE, *self.own, "preset")

    def scenario(self, chosen: Scalar) -> str:
        """The scenario that a value of the chooser stands for."""
        return self.scenarios.get(str(chosen), str(chosen))

    def knob(self, key: str, scenario: str = controls_spec.FIRST_SCENARIO) -> Knob:
        """Return a knob with its bounds in a scenario, which limits also what can be shown.

        Raises:
            KeyError: there is none.
        """
        found = controls_spec.find(key, self.every, scenario)
        if key != self.view or not self.chooser or key == self.chooser:
            return found
        options = [name for name, each in self.views.items() if _serves(each[0], scenario)]
        return Knob(dataclasses.replace(found.parameter, options=tuple(options)), found.default)

    def limited(self) -> set[str]:
        """Keys of its own knobs whose choices depend on the scenario."""
        return {*self.own} & {self.view, *controls_spec.LIMITED_BY_SCENARIO}

    def shown(self, view: Scalar | None) -> tuple[str, ...]:
        """The experiments that a view shows; all of them on a page without views."""
        return self.views.get(str(view), self.every)

    def key_of(self, name: str) -> str:
        """The key under which a shared knob, or what is in its place, stands here."""
        return self.replaces.get(name, name)

    def unused(self, view: Scalar | None) -> set[str]:
        """Shared knobs that are not shown while a view is."""
        used = controls_spec.used_by(self.shown(view)) | {*self.uses}
        return {*SHARED} - (used - {*self.without, *self.replaces})

    def knobs(self, view: Scalar | None) -> tuple[str, ...]:
        """Return the keys of the knobs that a view uses: shared ones, then the page's own."""
        shown, used = self.shown(view), controls_spec.used_by(self.shown(view))
        unused = self.unused(view) - (used & {*self.replaces})
        shared = [name for name in SHARED if name not in unused]
        others = {*self.every} - {*shown}
        idle = {key for name, key in self.replaces.items() if name not in used}
        own = [
            key
            for key in self.own
            if key in (self.view, self.chooser)
            or (key.rpartition(".")[0] not in others and key not in idle)
        ]
        return tuple(dict.fromkeys([*map(self.key_of, shared), *own]))

    def granted(self, view: Scalar | None) -> set[str]:
        """Knobs and experiments that a view may ask for."""
        return {*self.keys, *self.shown(view)} - self.unused(view)


@functools.cache
def _serves(study: str, scenario: str) -> bool:
    """Whether a study can show a scenario."""
    return bool(getattr(studies.load(study), "serves", bool)(scenario))
