#include "shards/core/proxy_roster.hh"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>

#include "shards/core/lease_terms.hh"

namespace lockkeeper::shards {

namespace {

/// Ids and addresses are shorter; a card that is longer was not written by a proxy.
constexpr size_t card_bytes_max = 512;
/// More than any fleet has: what is beyond that is somebody's mischief.
constexpr size_t members_max = 256;

bool is_plain(std::string_view text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

std::string to_text(const proxy_card& card) {
    return std::to_string(card.beat) + ' ' + card.address + ' ' + card.version + ' ' +
           card.fingerprint;
}

std::optional<proxy_card> parse_proxy_card(std::string_view id, std::string_view text) {
    if (!is_plain(id) || id.size() > card_bytes_max || text.size() > card_bytes_max) {
        return std::nullopt;
    }
    std::array<std::string_view, 4> words;
    for (size_t i = 0; i < words.size(); ++i) {
        const size_t space = text.find(' ');
        words[i] = text.substr(0, space);
        text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
        const bool is_last = i + 1 == words.size();
        if (!is_plain(words[i]) || is_last != (space == std::string_view::npos)) {
            return std::nullopt;
        }
    }
    proxy_card card{.id = std::string(id),
                    .address = std::string(words[1]),
                    .version = std::string(words[2]),
                    .fingerprint = std::string(words[3])};
    const char* const end = words[0].data() + words[0].size();
    const auto [rest, problem] = std::from_chars(words[0].data(), end, card.beat);
    if (problem != std::errc{} || rest != end) {
        return std::nullopt;
    }
    return card;
}

void proxy_roster::on_reading(std::span<const std::vector<proxy_card>> answers, instant now) {
    const size_t quorum = quorum_of(_options.masters);
    if (answers.size() >= quorum) {
        std::map<std::string_view, std::vector<const proxy_card*>> seen;
        for (const auto& answer : answers) {
            std::set<std::string_view> once;
            for (const proxy_card& card : answer) {
                if (card.id != _options.own_id && once.insert(card.id).second) {
                    seen[card.id].push_back(&card);
                }
            }
        }
        for (auto& [id, cards] : seen) {
            if (cards.size() < quorum) {
                continue;
            }
            std::ranges::sort(cards, std::greater{}, &proxy_card::beat);
            const proxy_card& card = *cards[quorum - 1];  // a majority is at least there
            auto known = _members.find(id);
            if (known == _members.end() && _members.size() < members_max) {
                _members.emplace(id, member{.card = card, .heard = now});
            } else if (known != _members.end() && known->second.card.beat != card.beat) {
                known->second = {.card = card, .heard = now};
            }
        }
    }
    for (auto each = _members.begin(); each != _members.end();) {
        each->second.alive = now - each->second.heard < _options.patience;
        if (now - each->second.heard < _options.memory) {
            ++each;
            continue;
        }
        _forgotten.push_back(each->first);
        each = _members.erase(each);
    }
}

}  // namespace lockkeeper::shards
