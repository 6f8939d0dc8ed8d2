"""What clients saw of locks, and whether a lock server may have behaved so.

All times are of one clock, time.monotonic() of one machine, so their order is real. A grant was surely held from the
moment its client knew of it until the client asked for its release, or until the time that it was told was over,
whichever came first. The server never promises more; so two of these spans of one key must not overlap, and whoever
asked after somebody else had been told must have got a higher fence, if both were told theirs.
"""

from dataclasses import dataclass

# A client knows the time that it was told only as well as it was quick to read the reply.
MARGIN = 0.15


@dataclass
class Grant:
    key: str
    owner: str
    asked: float
    told: float
    fence: int              # None if it was not told
    until: float            # what the client was promised, extensions included
    released: float = None  # when it asked for the release, if it did

    @property
    def end(self):
        promised = self.until - MARGIN
        return promised if self.released is None else min(promised, self.released)


def violations(grants):
    """Sentences, each about something that must not be."""
    found = []
    for key in sorted({grant.key for grant in grants}):
        of_key = [grant for grant in grants if grant.key == key]
        fenced = [grant for grant in of_key if grant.fence is not None]
        found += overlaps(of_key) + same_fences(fenced) + fences_out_of_order(fenced)
    return found


def overlaps(grants):
    found = []
    held = sorted((one for one in grants if one.end > one.told), key=lambda one: one.told)
    last = None
    for grant in held:
        if last is not None and grant.told < last.end:
            found.append(f"{grant.key}: {last.owner} held it for {(last.end - grant.told) * 1e3:.1f} ms more when"
                         f" {grant.owner} was told that it is his (fences {last.fence}, {grant.fence})")
        if last is None or grant.end > last.end:
            last = grant
    return found


def same_fences(grants):
    seen, found = {}, []
    for grant in grants:
        other = seen.setdefault(grant.fence, grant)
        if other is not grant:
            found.append(f"{grant.key}: {other.owner} and {grant.owner} have the same fence {grant.fence}")
    return found


def fences_out_of_order(grants):
    """Whoever asked after somebody else had been told has a higher fence."""
    found = []
    by_told = sorted(grants, key=lambda one: one.told)
    highest, position = None, 0
    for grant in sorted(grants, key=lambda one: one.asked):
        while position < len(by_told) and by_told[position].told < grant.asked:
            if highest is None or by_told[position].fence > highest.fence:
                highest = by_told[position]
            position += 1
        if highest is not None and highest.fence >= grant.fence and highest is not grant:
            found.append(f"{grant.key}: {grant.owner} asked after {highest.owner} had been told, and has the fence"
                         f" {grant.fence}, not above {highest.fence}")
    return found
