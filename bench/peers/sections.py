"""What sections of workers add up to: rates, hand-offs, waits, fairness, and whether exclusion held.

A worker tells only when each client asked, was granted and gave back, in nanoseconds of CLOCK_MONOTONIC, which all
processes of a machine share. Everything else is computed here, for workers of all languages alike. The names are those of
lockbench's report, so that its lines and these can be laid side by side.
"""

SHARES = {"p10": 0.10, "p25": 0.25, "p50": 0.50, "p75": 0.75, "p90": 0.90, "p99": 0.99, "p999": 0.999}


class Section:
    """One client's way through the lock. `granted` is None for a client that still waits at the end."""

    __slots__ = ("client", "asked", "granted", "gave_back")

    def __init__(self, client, asked, granted, gave_back):
        self.client, self.asked, self.granted, self.gave_back = client, asked, granted, gave_back


def read_section(line):
    """`client asked granted gave_back`, a dash for what did not happen before the end."""
    client, *moments = line.split()
    return Section(int(client), *(None if one == "-" else int(one) for one in moments))


def quantile(ordered, share):
    """The value that a share of the sorted values does not exceed."""
    return ordered[max(0, -(-int(share * 1e6) * len(ordered) // 1_000_000) - 1)] if ordered else 0


def jain(counts):
    """1 if all got the same, 1/n if one got everything."""
    squares = sum(one * one for one in counts)
    return sum(counts) ** 2 / (len(counts) * squares) if squares else 0.0


def waits_in_us(nanoseconds):
    ordered = sorted(nanoseconds)
    waits = {"mean": sum(ordered) / len(ordered) / 1e3 if ordered else 0}
    waits.update((name, quantile(ordered, share) / 1e3) for name, share in SHARES.items())
    waits["max"] = ordered[-1] / 1e3 if ordered else 0
    return waits


def intrusions(granted):
    """Sections, in the order of their grants, that began before the one before had ended.

    A client notes its grant after it has heard of it, and its release before it sends it: two that overlap both rightly
    believed in their lock."""
    count, end = 0, 0
    for one in granted:
        count += one.granted < end
        end = max(end, one.gave_back if one.gave_back is not None else one.granted)
    return count


def add_up(sections, clients, begin, end, starved_after_s=3):
    """The report of what happened between two moments. Warm-up and drain count for exclusion only."""
    granted = sorted((one for one in sections if one.granted is not None), key=lambda one: one.granted)
    within = [one for one in granted if begin <= one.granted < end]
    done = sum(1 for one in granted if one.gave_back is not None and begin <= one.gave_back < end)
    counts = [0] * clients
    for one in within:
        counts[one.client] += 1
    hand_offs = sum(1 for before, after in zip(granted, granted[1:])
                    if before.client != after.client and begin <= after.granted < end)
    # Who came before the measurement has waited since then, and who still waits has waited until the end.
    patience = starved_after_s * 1e9
    starved, waiting = set(), {}
    for one in sections:
        until = min(one.granted if one.granted is not None else end, end)
        if until > begin and until - one.asked >= patience:
            starved.add(one.client)
        if one.asked < end and (one.granted is None or one.granted >= end):
            waiting[one.client] = end - one.asked
    seconds = (end - begin) / 1e9
    return {
        "clients": clients, "mode": "hot", "elapsed_s": seconds,
        "sections": done, "sections_per_s": done / seconds,
        "hand_offs": hand_offs, "hand_offs_per_s": hand_offs / seconds,
        "wait_us": waits_in_us([one.granted - one.asked for one in within]),
        "waiting_at_end": len(waiting), "longest_wait_at_end_us": max(waiting.values(), default=0) / 1e3,
        "jain": jain(counts), "starved": len(starved), "starved_after_s": starved_after_s,
        "verify": {"on": True, "intrusions": intrusions(granted)},
    }
