#include "shards/core/deadlock.hh"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <tuple>

namespace lockkeeper::shards {

namespace {

using index = uint32_t;
constexpr index none = ~index{0};

/// A look at waits for permits may show that others have to be looked at without them. Each look
/// finds at least one circle that stays, so giving up after a few is no loss: the next call goes on
/// from there.
constexpr int looks_max = 4;

/// Owners that wait, numbered in the order in which they come.
class owner_numbers {
public:
    explicit owner_numbers(size_t most)
        : _mask(std::bit_ceil(2 * most + 2) - 1), _slots(_mask + 1, none) {
        _names.reserve(most);
    }

    index add(uint64_t name) {
        const size_t slot = find_slot(name);
        if (_slots[slot] == none) {
            _slots[slot] = static_cast<index>(_names.size());
            _names.push_back(name);
        }
        return _slots[slot];
    }
    /// `none` if it does not wait.
    index find(uint64_t name) const { return _slots[find_slot(name)]; }
    size_t size() const { return _names.size(); }

private:
    size_t find_slot(uint64_t name) const {
        size_t slot = name & _mask;
        while (_slots[slot] != none && _names[_slots[slot]] != name) {
            slot = (slot + 1) & _mask;
        }
        return slot;
    }

    size_t _mask;
    std::vector<index> _slots;
    std::vector<uint64_t> _names;
};

/// Numbers sorted into groups, each group in the order in which its numbers came.
class groups {
public:
    /// `group_of(i)` of each i below `count`; those of `none` are left out.
    template <typename GroupOf>
    groups(size_t number_of_groups, size_t count, GroupOf group_of)
        : _begin(number_of_groups + 1, 0) {
        for (index i = 0; i < count; ++i) {
            if (const index group = group_of(i); group != none) {
                ++_begin[group + 1];
            }
        }
        for (size_t group = 0; group < number_of_groups; ++group) {
            _begin[group + 1] += _begin[group];
        }
        _members.resize(_begin.back());
        std::vector<index> next(_begin.begin(), _begin.end() - 1);
        for (index i = 0; i < count; ++i) {
            if (const index group = group_of(i); group != none) {
                _members[next[group]++] = i;
            }
        }
    }

    std::span<const index> operator[](index group) const {
        return {_members.data() + _begin[group], _begin[group + 1] - _begin[group]};
    }

private:
    std::vector<index> _begin;
    std::vector<index> _members;
};

struct one_wait {
    index owner = 0;
    index first_edge = 0;
    index last_edge = 0;  ///< behind it
};

/// Two steps. First everybody who can go on is taken out, beginning with those who wait for nobody:
/// what is left is stuck. Then the stuck ones are sorted into tangles, in each of which everybody
/// waits for everybody (strongly connected components).
class wait_graph {
public:
    explicit wait_graph(std::span<const wait_edge> edges)
        : _edges(edges), _owners(edges.size()), _wait_of(edges.size()) {
        number_waits();
        _target.reserve(edges.size());
        for (const wait_edge& edge : edges) {
            // Who waits twice for the same lock is before itself in the queue; that is no circle.
            const bool is_own_turn =
                edge.why == wait_reason::in_front && edge.waiter == edge.holder;
            _target.push_back(is_own_turn ? none : _owners.find(edge.holder));
        }
    }

    std::vector<deadlock> find() {
        _is_loose.resize(_edges.size());
        for (int look = 0; look < looks_max; ++look) {
            if (!take_out_who_can_go_on()) {
                return {};
            }
            sort_into_tangles();
            if (!loosen()) {
                break;
            }
        }
        return circles();
    }

private:
    void number_waits() {
        for (index at = 0; at < _edges.size(); ++at) {
            const bool is_next = at == 0 || _edges[at].wait != _edges[at - 1].wait ||
                                 _edges[at].waiter != _edges[at - 1].waiter;
            if (is_next) {
                _waits.push_back({.owner = _owners.add(_edges[at].waiter), .first_edge = at});
            }
            _waits.back().last_edge = at + 1;
            _wait_of[at] = static_cast<index>(_waits.size() - 1);
        }
    }

    bool is_one_of(index edge) const { return _edges[edge].why == wait_reason::one_of; }

    /// How many things have to happen before a wait ends. That there are enough permits is one;
    /// `missing` says how many there are not.
    uint32_t conditions_of(const one_wait& wait, uint64_t& missing) const {
        uint32_t all = 0;
        uint64_t given = 0;
        uint64_t needed = 0;
        for (index edge = wait.first_edge; edge < wait.last_edge; ++edge) {
            const bool is_free = _target[edge] == none || _is_loose[edge];
            if (is_one_of(edge)) {
                needed = _edges[edge].needs;
                given += is_free ? _edges[edge].gives : 0;
            } else {
                all += is_free ? 0 : 1;
            }
        }
        missing = needed - std::min(needed, given);
        return all + (missing > 0 ? 1 : 0);
    }

    /// Whether anybody is left.
    bool take_out_who_can_go_on() {
        const groups towards(_owners.size(), _edges.size(), [this](index e) { return _target[e]; });
        std::vector<uint32_t> conditions(_waits.size());
        std::vector<uint32_t> waits_left(_owners.size());
        std::vector<uint64_t> missing(_waits.size());
        for (index wait = 0; wait < _waits.size(); ++wait) {
            conditions[wait] = conditions_of(_waits[wait], missing[wait]);
            waits_left[_waits[wait].owner] += conditions[wait] > 0 ? 1 : 0;
        }
        std::vector<index> free;
        for (index owner = 0; owner < _owners.size(); ++owner) {
            if (waits_left[owner] == 0) {
                free.push_back(owner);
            }
        }
        while (!free.empty()) {
            const index owner = free.back();
            free.pop_back();
            for (const index edge : towards[owner]) {
                const index wait = _wait_of[edge];
                if (is_one_of(edge)) {
                    if (missing[wait] == 0 || _is_loose[edge]) {
                        continue;
                    }
                    missing[wait] -= std::min(missing[wait], _edges[edge].gives);
                    if (missing[wait] > 0) {
                        continue;
                    }
                }
                if (--conditions[wait] == 0 && --waits_left[_waits[wait].owner] == 0) {
                    free.push_back(_waits[wait].owner);
                }
            }
        }
        _is_stuck.assign(_owners.size(), false);
        bool is_anybody = false;
        for (index owner = 0; owner < _owners.size(); ++owner) {
            _is_stuck[owner] = waits_left[owner] > 0;
            is_anybody |= waits_left[owner] > 0;
        }
        if (!is_anybody) {
            return false;
        }
        // A stuck owner may have another wait that ends, and a wait an edge that is gone already.
        _is_stuck_edge.assign(_edges.size(), false);
        for (index edge = 0; edge < _edges.size(); ++edge) {
            const index wait = _wait_of[edge];
            _is_stuck_edge[edge] = conditions[wait] > 0 && _target[edge] != none &&
                                   _is_stuck[_target[edge]] && !_is_loose[edge] &&
                                   !(is_one_of(edge) && missing[wait] == 0);
        }
        return true;
    }

    /// Tarjan's algorithm, with a stack of its own instead of recursion.
    void sort_into_tangles() {
        const groups out = stuck_edges_by_owner();
        std::vector<index> order(_owners.size(), none);
        std::vector<index> lowest(_owners.size(), none);
        std::vector<index> open;  // visited, tangle not known yet
        struct step {
            index owner;
            size_t next_edge;
        };
        std::vector<step> path;
        index visited = 0;
        const auto enter = [&](index owner) {
            order[owner] = lowest[owner] = visited++;
            open.push_back(owner);
            path.push_back({owner, 0});
        };
        _tangle.assign(_owners.size(), none);
        _tangles = 0;
        for (index start = 0; start < _owners.size(); ++start) {
            if (!_is_stuck[start] || order[start] != none) {
                continue;
            }
            enter(start);
            while (!path.empty()) {
                const index owner = path.back().owner;
                const auto edges = out[owner];
                if (path.back().next_edge < edges.size()) {
                    const index target = _target[edges[path.back().next_edge++]];
                    if (order[target] == none) {
                        enter(target);
                    } else if (_tangle[target] == none) {
                        lowest[owner] = std::min(lowest[owner], order[target]);
                    }
                    continue;
                }
                path.pop_back();
                if (!path.empty()) {
                    index& before = lowest[path.back().owner];
                    before = std::min(before, lowest[owner]);
                }
                if (lowest[owner] != order[owner]) {
                    continue;
                }
                while (_tangle[owner] == none) {
                    _tangle[open.back()] = _tangles;
                    open.pop_back();
                }
                ++_tangles;
            }
        }
    }

    /// Permits may come from holders of another tangle when that is broken. Whether there are such
    /// waits; then the tangles have to be sorted without them.
    bool loosen() {
        bool any = false;
        for (index edge = 0; edge < _edges.size(); ++edge) {
            if (_is_stuck_edge[edge] && is_one_of(edge) && !is_inside(edge)) {
                _is_loose[edge] = true;
                any = true;
            }
        }
        return any;
    }

    std::vector<deadlock> circles() {
        // The newest wait of each tangle.
        std::vector<index> newest(_tangles, none);
        for (index edge = 0; edge < _edges.size(); ++edge) {
            if (!_is_stuck_edge[edge] || !is_inside(edge)) {
                continue;
            }
            index& best = newest[_tangle[_target[edge]]];
            const auto age = [this](index e) { return std::tuple(_edges[e].since, _wait_of[e]); };
            if (best == none || age(edge) > age(best)) {
                best = edge;
            }
        }
        const groups out = stuck_edges_by_owner();
        std::vector<index> came_by(_owners.size(), none);
        std::vector<deadlock> found;
        for (const index edge : newest) {
            if (edge != none) {
                found.push_back(shortest_circle(_wait_of[edge], out, came_by));
            }
        }
        return found;
    }

    /// From the owner of a wait along that wait, and back to the owner. `came_by` is empty for all
    /// owners of its tangle.
    deadlock shortest_circle(index wait, const groups& out, std::vector<index>& came_by) const {
        const index owner = _waits[wait].owner;
        std::vector<index> reached;
        const auto reach = [&](index edge) {
            if (_is_stuck_edge[edge] && is_inside(edge) && came_by[_target[edge]] == none) {
                came_by[_target[edge]] = edge;
                reached.push_back(_target[edge]);
            }
        };
        for (index edge = _waits[wait].first_edge; edge < _waits[wait].last_edge; ++edge) {
            reach(edge);
        }
        for (size_t next = 0; came_by[owner] == none; ++next) {
            for (const index edge : out[reached[next]]) {
                reach(edge);
            }
        }
        deadlock circle;
        index at = owner;
        do {
            const index edge = came_by[at];
            circle.waits.push_back(_edges[edge].wait);
            at = _waits[_wait_of[edge]].owner;
        } while (at != owner);
        std::ranges::reverse(circle.waits);
        return circle;
    }

    bool is_inside(index edge) const {
        return _tangle[_waits[_wait_of[edge]].owner] == _tangle[_target[edge]];
    }

    groups stuck_edges_by_owner() const {
        return {_owners.size(), _edges.size(), [this](index edge) {
                    return _is_stuck_edge[edge] ? _waits[_wait_of[edge]].owner : none;
                }};
    }

    std::span<const wait_edge> _edges;
    owner_numbers _owners;
    std::vector<one_wait> _waits;
    std::vector<index> _wait_of;       ///< by edge
    std::vector<index> _target;        ///< by edge: the owner it leads to; none if that can go on
    std::vector<bool> _is_loose;       ///< by edge: as if its permits were to be had
    std::vector<bool> _is_stuck;       ///< by owner
    std::vector<bool> _is_stuck_edge;  ///< by edge: it leads from a stuck wait to a stuck owner
    std::vector<index> _tangle;        ///< by owner
    index _tangles = 0;
};

}  // namespace

std::vector<deadlock> find_deadlocks(std::span<const wait_edge> edges) {
    return wait_graph(edges).find();
}

}  // namespace lockkeeper::shards
