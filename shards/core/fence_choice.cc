#include "shards/core/fence_choice.hh"

#include <algorithm>
#include <cassert>
#include <utility>

namespace lockkeeper::shards {

fence_choice::fence_choice(uint8_t masters, uint32_t block) : _block(block), _masters(masters) {
    assert(masters > 0 && masters <= masters_max);
}

void fence_choice::vote(master_index from, uint64_t level) {
    _voters.add(from);
    _levels[from] = level;
}

void fence_choice::drop(master_index who) {
    _voters.remove(who);
    _asked.remove(who);
    _levels[who] = 0;
}

void fence_choice::raised(master_index who, uint64_t to) {
    if (_voters.contains(who)) {
        _levels[who] = std::max(_levels[who], to);
    }
}

bool fence_choice::has_quorum() const {
    return _voters.size() >= quorum_of(_masters);
}

fence_choice::choice fence_choice::lowest() const {
    std::array<master_index, masters_max> order{};
    size_t count = 0;
    for (const master_index voter : _voters) {
        order[count++] = voter;
    }
    std::ranges::sort(order.begin(), order.begin() + count, {}, [&](master_index voter) {
        return std::pair(_levels[voter], voter);  // the same for the same votes, always
    });
    choice result{.level = 0, .members = {}};
    for (size_t i = 0; i < std::min(count, quorum_of(_masters)); ++i) {
        result.members.add(order[i]);
        result.level = _levels[order[i]];
    }
    return result;
}

std::optional<fence_choice::choice> fence_choice::choose() const {
    const size_t quorum = quorum_of(_masters);
    for (const master_index candidate : _voters) {
        voter_set same;
        for (const master_index other : _voters) {
            if (_levels[other] == _levels[candidate]) {
                same.add(other);
            }
        }
        if (same.size() >= quorum) {
            return choice{.level = _levels[candidate], .members = same};
        }
    }
    if (!has_quorum()) {
        return std::nullopt;
    }
    if (planted(fault::max_without_write_back)) {
        return lowest();
    }
    if (planted(fault::fence_of_one_voter)) {
        choice result = lowest();
        result.level = _levels[*result.members.begin()];
        return result;
    }
    if (planted(fault::median_of_votes)) {
        choice result = lowest();
        result.members = {};
        for (const master_index voter : _voters) {
            if (_levels[voter] >= result.level) {
                result.members.add(voter);
            }
        }
        if (result.members.size() >= quorum) {
            return result;
        }
    }
    return std::nullopt;
}

std::optional<fence_block> fence_choice::settled() const {
    const auto chosen = choose();
    if (!chosen) {
        return std::nullopt;
    }
    // Every vote has added a whole block to its counter, unless the master lies.
    const uint64_t before = chosen->level >= _block ? chosen->level - _block : 0;
    return fence_block{.first = before + 1, .last = chosen->level};
}

voter_set fence_choice::carriers() const {
    const auto chosen = choose();
    return chosen ? chosen->members : voter_set{};
}

fence_choice::raise_plan fence_choice::plan_raise() {
    assert(has_quorum());
    const choice chosen = lowest();
    if (chosen.level != _target) {
        _target = chosen.level;
        _asked = {};
    }
    raise_plan plan{.who = {}, .to = _target};
    for (const master_index member : chosen.members - _asked) {
        if (_levels[member] < _target) {
            plan.who.add(member);
        }
    }
    _asked = _asked | plan.who;
    return plan;
}

voter_set fence_choice::lagging() const {
    voter_set result;
    if (const auto chosen = choose()) {
        for (const master_index voter : _voters) {
            if (_levels[voter] < chosen->level) {
                result.add(voter);
            }
        }
    }
    return result;
}

}  // namespace lockkeeper::shards
