#include "bench/load/tally.hh"

namespace lockkeeper::bench {

void error_counts::add(std::string_view text, std::uint64_t times) {
    text = text.substr(0, text_bytes_max);
    const auto known = _counts.find(text);
    if (known != _counts.end()) {
        known->second += times;
        return;
    }
    _counts[_counts.size() < texts_max ? std::string(text) : "other errors"] += times;
}

void error_counts::merge(const error_counts& more) {
    for (const auto& [text, times] : more._counts) {
        add(text, times);
    }
}

void tally::merge(const tally& more) {
    wait.merge(more.wait);
    turns.merge(more.turns);
    renewal.merge(more.renewal);
    sections += more.sections;
    grants += more.grants;
    hand_offs += more.hand_offs;
    refusals += more.refusals;
    renewals += more.renewals;
    commands += more.commands;
    intrusions += more.intrusions;
    fences_fallen += more.fences_fallen;
    locks_lost += more.locks_lost;
    expired_holds += more.expired_holds;
    errors.merge(more.errors);
}

}  // namespace lockkeeper::bench
