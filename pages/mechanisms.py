"""Mechanisms: what each makes of the same privacy budget."""

from ui import asking, blocks, captions, controls, export, labels, locks, pin, router, state, watch
from ui.job import Job

router.guard()

COMPARED, POSTERIOR, COVERAGE = "compare-mechanisms", "mechanism-posterior", "coverage"
ACCOUNTING = "accounting"


INTRODUCTION = (
    "Many ways to answer from the same data with the same privacy budget. The published ones pay "
    "for every accepted draw, or for every draw they look at; others pay once, for a few noisy "
    "numbers, and everything else follows from those without further cost."
)


def main() -> None:
    shown = {"error": error, "what a budget buys": budget, "coverage": coverage}
    shown[blocks.head("Mechanisms")]()


def error() -> None:
    if state.has_preset():
        controls.own("mse-curves.metric")
    else:
        controls.own("compare-mechanisms.scenario", "mse-curves.metric")
    job = pin.growing(COMPARED, lambda: asking.ask(COMPARED), draw_error)
    if not state.has_preset():
        controls.more("compare-mechanisms.runs")
    complete = job.result is not None and not job.result.is_partial
    budgets = [other_budgets()] if complete and not state.has_preset() else []
    release = one_release(job.result)
    blocks.theory(COMPARED, POSTERIOR)
    export.block("mechanisms", job, release, *(each for each in budgets if each))


def draw_error(found: blocks.Found, pinned: pin.Pinned) -> None:
    asking.follow_click()
    click_it = locks.if_free(
        "mechanism-posterior.mechanism", "Click a mark to see its posterior below. "
    )
    click = asking.choose_release if state.has_preset() else asking.choose_mechanism
    blocks.compared(found, pinned, asking.error_metric, ("summary", "grid", "main"), click)
    blocks.note(
        f"{INTRODUCTION} Each mechanism is at its own best ε_abc, chosen on simulated data sets "
        f"and never on those it is scored on. {click_it}A mark is "
        "open where some runs accepted nothing; their estimate is the prior mean. Mechanisms with "
        "a δ promise (ε, δ)-differential privacy, which is less than the pure kind.\n\n"
        "**Why an embedding's noise does not grow with c.** It asks the data one question, what "
        "their mean features are, and pays once; draws are then chosen by looking at the answer. "
        "The sparse vector pays for every *yes*. It is still the right choice where nothing can be "
        "embedded, as with the clipped distances of outbreaks, or for a single question."
    )
    described(found)
    labels.show(found)


def other_budgets() -> Job | None:
    """The same at many budgets, for who asks: it takes a while."""
    with blocks.folded("At other budgets", key="mechanisms-budgets") as unfolded:
        if not unfolded:
            return None
        params, seed = asking.ask(COMPARED, epsilon_total=asking.budgets(COMPARED))
        return watch.growing_under("at-budgets", COMPARED, params, seed, draw_budgets)


def draw_budgets(found: blocks.Found) -> None:
    blocks.figure("at-budgets", found, ("summary",), of=asking.error_metric())


def described(found: blocks.Found) -> None:
    """What each of the mechanisms is, by their names in the figures."""
    with blocks.folded("What the mechanisms are", key="mechanisms-described") as unfolded:
        if unfolded:
            names = captions.mechanisms_of(found)
            blocks.tiles([captions.mechanism(name) for name in names])
            blocks.small_print(captions.papers_of(names))


def one_release(compared: blocks.Found | None) -> blocks.Found:
    blocks.heading(
        "One release",
        "The posterior that a single release stands for, at the sidebar's ε_total, beside prior "
        "and truth.",
    )
    controls.own("mechanism-posterior.mechanism")
    params, seed = asking.ask(POSTERIOR)
    blocks.note(captions.mechanism(params.to_text()["mechanism"]))
    found = watch.result(POSTERIOR, params, seed)
    blocks.figure("posterior", found, ("errors", "main"))
    labels.also(found, compared)
    return found


def budget() -> None:
    controls.own("compare-mechanisms.scenario")
    found, pinned = pin.result(ACCOUNTING, lambda: asking.ask_budget_first(ACCOUNTING))
    blocks.main_figure("noise", found, pinned)
    blocks.note(
        "Each mark compares a way to add up the costs with the best one here for its mechanism. "
        "The extra noise buys no privacy. Pure guarantees and those with a δ are compared apart."
    )
    blocks.heading(
        "What the budget is spent on",
        "The cost of one part is the most that one person can move it, in units of its noise: ε "
        "for Laplace noise, μ for Gaussian noise. The sparse vector pays for the threshold and "
        "for each accepted sample, rejected draws are free; the embedding pays for its vector, "
        "and any number of samples from it is free.",
    )
    blocks.table(found, "price")
    blocks.heading(
        "What an attacker gets",
        "An attacker who has to tell two neighbouring data sets apart raises false alarms (type I "
        "errors) and misses (type II errors). Each line is what the best one misses; nearer to the "
        "diagonal is more private. "
        "Guarantees that share ε can lie far apart, which is why one pair (ε, δ) is not enough to "
        "compare them. *Exact* is the truth about the noise; a *bound* lies below it; *attained* "
        "is the best attack found. It lies on the truth or above it, because a better attack may "
        "exist, but none below *any pure ε*.",
    )
    blocks.figure("tradeoff", found, ("tradeoff",))
    described(found)
    labels.show(found, stamp="")
    blocks.theory(ACCOUNTING)
    export.block("budget", found)


def coverage() -> None:
    if not state.has_preset():
        controls.own("compare-mechanisms.scenario", "coverage.truths")
    job = pin.growing(COVERAGE, ask_coverage, draw_coverage)
    if not state.has_preset():
        controls.more("coverage.runs")
    blocks.theory(COVERAGE)
    export.block("coverage", job)


def ask_coverage() -> asking.Asked:
    if state.has_preset():
        return asking.ask(COVERAGE)
    smallest = asking.budgets(COVERAGE)[0]
    both = (smallest, float(state.current("epsilon_total")))
    return asking.ask(COVERAGE, epsilon_total=both)


def draw_coverage(found: blocks.Found, pinned: pin.Pinned) -> None:
    blocks.main_figure("coverage", found, pinned, ("summary", "main"))
    blocks.note(
        "A private posterior can be trusted if its 90 % intervals contain the truth nine times in "
        "ten, on average over truths from the prior. The *noise-aware* one is made for that, as it "
        "takes the noise that was added into account. The *noise-ignored* one does not, and can be "
        "far too sure where noise is larger than what the data leave open. Where noise alone "
        "decides what the sparse vector accepts, its draws are a sample of the prior: intervals "
        "from many such draws contain the truth as often, but nothing was learnt."
    )
    if caution := captions.cautions(found):
        blocks.warning(caution)
    blocks.figure("width", found, ("summary", "releases"))
    described(found)
    labels.show(found)


main()
