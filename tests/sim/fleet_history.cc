#include "fleet_history.hh"

#include <algorithm>
#include <sstream>

#include "fleet_master.hh"

namespace lockkeeper::sim {

namespace {

std::string words(const granted& one) {
    std::ostringstream text;
    text << "client " << int{one.client} << " by proxy " << int{one.proxy} << " fence " << one.fence
         << " from " << static_cast<double>(one.from) / ms << " to "
         << static_cast<double>(one.until) / ms << " ms";
    return text.str();
}

std::string words(const block_taken& one) {
    std::ostringstream text;
    text << "the block " << one.first << " to " << one.last << ", asked for at "
         << static_cast<double>(one.asked) / ms << " and decided at "
         << static_cast<double>(one.decided) / ms << " ms";
    return text.str();
}

void tell(verdicts& found, const std::string& story) {
    if (found.story.empty()) {
        found.story = story;
    }
}

}  // namespace

void fleet_history::uncovered(const std::string& story) {
    ++_seen.uncovered;
    tell(_seen, story);
}

void fleet_history::broken(const std::string& story) {
    ++_seen.broken;
    tell(_seen, story);
}

void fleet_history::starved(const std::string& story) {
    ++_seen.starved;
    tell(_seen, story);
}

void fleet_history::judge_grants(uint8_t key, verdicts& found) const {
    std::vector<const granted*> of_key;  // in the order of time
    for (const auto& one : grants) {
        if (one.key == key) {
            of_key.push_back(&one);
        }
    }
    const granted* longest = nullptr;
    uint64_t highest = 0;
    std::vector<uint64_t> fences;
    for (const granted* one : of_key) {
        if (longest && one->from < longest->until) {
            ++found.overlaps;
            tell(found,
                 "key " + std::to_string(key) + ": " + words(*one) + " while " + words(*longest));
        }
        if (!longest || one->until > longest->until) {
            longest = one;
        }
        if (one->fence <= highest) {
            ++found.fences_back;
            tell(found, "key " + std::to_string(key) + ": " + words(*one) + " after fence " +
                            std::to_string(highest));
        }
        highest = std::max(highest, one->fence);
        fences.push_back(one->fence);
    }
    std::ranges::sort(fences);
    for (size_t i = 1; i < fences.size(); ++i) {
        if (fences[i] == fences[i - 1]) {
            ++found.fences_twice;
            tell(found, "fence " + std::to_string(fences[i]) + " twice");
        }
    }
}

void fleet_history::judge_blocks(uint8_t key, verdicts& found) const {
    std::vector<const block_taken*> by_asked;
    for (const auto& one : blocks) {
        if (one.key == key) {
            by_asked.push_back(&one);
        }
    }
    const auto by_decided = by_asked;  // as they were written down
    auto by_first = by_asked;
    std::ranges::sort(by_asked, {}, &block_taken::asked);
    std::ranges::sort(by_first, {}, &block_taken::first);
    for (size_t i = 1; i < by_first.size(); ++i) {
        if (by_first[i]->first <= by_first[i - 1]->last) {
            ++found.blocks_mixed;
            tell(found, "key " + std::to_string(key) + ": " + words(*by_first[i]) + " overlaps " +
                            words(*by_first[i - 1]));
        }
    }
    uint64_t highest = 0;
    size_t decided = 0;
    for (const block_taken* one : by_asked) {
        while (decided < by_decided.size() && by_decided[decided]->decided < one->asked) {
            highest = std::max(highest, by_decided[decided++]->last);
        }
        if (one->first <= highest) {
            ++found.blocks_back;
            tell(found, "key " + std::to_string(key) + ": a block from " +
                            std::to_string(one->first) + " asked for at " +
                            std::to_string(one->asked / us) + " us, after " +
                            std::to_string(highest));
        }
    }
}

verdicts fleet_history::judge(true_time healed, true_time end) const {
    verdicts found = _seen;
    for (uint8_t key = 0; key < keys; ++key) {
        judge_grants(key, found);
        judge_blocks(key, found);
        const bool served = std::ranges::any_of(grants, [&](const granted& one) {
            return one.key == key && one.from >= healed && one.from <= end;
        });
        if (!served) {
            ++found.starved;
            tell(found, "nobody got key " + std::to_string(key) + " at the end");
        }
    }
    return found;
}

uint64_t fleet_history::digest() const {
    uint64_t result = 0xcbf29ce484222325;
    const auto add = [&](uint64_t word) { result = (result ^ word) * 0x100000001b3; };
    for (const auto& one : grants) {
        add(static_cast<uint64_t>(one.from));
        add(static_cast<uint64_t>(one.until));
        add(one.fence);
        add(one.client);
        add(one.proxy);
    }
    for (const auto& one : blocks) {
        add(static_cast<uint64_t>(one.decided));
        add(one.last);
    }
    return result;
}

}  // namespace lockkeeper::sim
