"""The JSON lines of a run: which there are, and medians and spreads over their rounds."""

import contextlib
import json
import statistics

# Figures are of the calm rounds if there are so many, else of all; the report says which.
CALM_ENOUGH = 2


class Figure:
    """A value by rounds: its median, least and most, and how far it is to be trusted."""

    def __init__(self, values, noisy, of):
        self.values = values
        self.median, self.least, self.most = statistics.median(values), min(values), max(values)
        self.noisy, self.of = noisy, of

    @property
    def is_noisy(self):
        """Too few calm rounds: the noisy ones had to be counted."""
        return self.noisy > 0 and len(self.values) == self.of


class Missing(Exception):
    """There is no such line; the text says why."""


class Lines:
    def __init__(self, lines):
        self.all = lines
        self.good = [line for line in lines if "failed" not in line]

    @classmethod
    def read(cls, file):
        found = []
        with open(file) as lines:
            for line in lines:
                # A benchmark that was ended in the middle of a line leaves a torn one.
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
        return cls(found)

    def of(self, **wanted):
        """All good lines with these values."""
        return [line for line in self.good if all(line.get(name) == value for name, value in wanted.items())]

    def failures(self):
        """Reasons by benchmark and contender."""
        found = {}
        for line in self.all:
            if "failed" in line:
                found[(line.get("benchmark", ""), line.get("contender", ""))] = line["failed"]
        return found

    def rounds(self, **wanted):
        """Good lines by round; Missing if there is none."""
        found = {line.get("round", 1): line for line in self.of(**wanted)}
        if not found:
            for line in self.all:
                if "failed" in line and all(line.get(name) == value for name, value in wanted.items()):
                    raise Missing(f"{line['contender']} failed: {line['failed']}")
            who = wanted.get("contender") or wanted.get("library")
            raise Missing(f"no line of {wanted.get('benchmark')}{f', {who}' if who else ''}")
        return found

    def figure(self, value, **wanted):
        """`value(line)` over the rounds of one contender."""
        rounds = self.rounds(**wanted)
        return figure_of([(value(line), line.get("noisy", False)) for line in rounds.values()])

    def ratio(self, value, mine, theirs):
        """`value` of one contender by that of another, within rounds. `mine`, `theirs`: what their lines have."""
        pairs = [(ours / other, noisy) for ours, other, noisy in self.pairs(value, mine, theirs) if other]
        if not pairs:
            raise Missing("no round has both")
        return figure_of(pairs)

    def pairs(self, value, mine, theirs):
        """(`value` of one contender, of the other, is it noisy), for each round that has both."""
        ours, other = self.rounds(**mine), self.rounds(**theirs)
        return [(value(ours[number]), value(other[number]),
                 ours[number].get("noisy", False) or other[number].get("noisy", False))
                for number in sorted(ours.keys() & other.keys())]

    def versions(self):
        found = []
        for line in self.good:
            for one in str(line.get("version", "")).split(", "):
                if one and "None" not in one and one not in found:
                    found.append(one)
        return sorted(found, key=str.lower)


def figure_of(pairs):
    """Of (value, is it noisy) by rounds."""
    calm = [value for value, noisy in pairs if not noisy]
    chosen = calm if len(calm) >= CALM_ENOUGH else [value for value, _ in pairs]
    return Figure(chosen, len(pairs) - len(calm), len(pairs))


def number(value):
    """Three digits that count, thousands with a comma."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}"
