#include "shards/core/habit_log.hh"

#include <algorithm>
#include <new>
#include <utility>

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

constexpr auto look_interval = 10ms;
/// Of an example; nobody needs more to recognise a key.
constexpr size_t example_bytes_max = 128;

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_hexadecimal(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// A number, or a long word of hexadecimal digits: not a name that somebody gave.
bool is_id(std::string_view word) {
    constexpr size_t short_word = 8;
    if (std::ranges::all_of(word, is_digit)) {
        return true;
    }
    const auto digits = std::ranges::count_if(word, is_digit);
    return word.size() >= short_word && (std::ranges::all_of(word, is_hexadecimal) ||
                                         static_cast<size_t>(digits) * 3 >= word.size());
}

}  // namespace

std::string pattern_of(std::string_view key) {
    const auto is_word = [](char c) { return is_letter(c) || is_digit(c); };
    std::string pattern;
    bool joins =
        false;  // a dash after a star: it is part of an id if what follows is, as in a UUID
    key = key.substr(0, example_bytes_max);
    while (!key.empty()) {
        const auto end = std::ranges::find_if_not(key, is_word);
        const auto word = key.substr(0, static_cast<size_t>(end - key.begin()));
        if (word.empty()) {
            pattern += joins ? "-" : "";
            joins = key.front() == '-' && pattern.ends_with('*');
            if (!joins) {
                pattern += key.front();
            }
            key.remove_prefix(1);
            continue;
        }
        const bool goes_on = joins && std::ranges::all_of(word, is_hexadecimal);
        if (!goes_on) {
            pattern += joins ? "-" : "";
            pattern += is_id(word) ? "*" : word;
        }
        joins = false;
        key.remove_prefix(word.size());
    }
    pattern += joins ? "-" : "";
    return pattern;
}

void habit_log::look(habit what, const lock_key& key, uint64_t client, instant now) {
    seen& one = _seen[static_cast<size_t>(what)];
    one.next_look = now + look_interval;
    try {
        row& its = row_for(what, key, client);
        its.count += std::exchange(one.unlooked, 0);
        its.last = now;
    } catch (const std::bad_alloc&) {
        // Advice can wait.
    }
}

habit_log::row& habit_log::row_for(habit what, const lock_key& key, uint64_t client) {
    std::string pattern = pattern_of(key.name);
    const auto known = std::ranges::find_if(_rows, [&](const row& each) {
        return each.what == what && each.client == client && each.database == key.database &&
               each.pattern == pattern;
    });
    if (known != _rows.end()) {
        return *known;
    }
    if (_rows.size() >= rows_max) {
        _rows.erase(std::ranges::min_element(_rows, {}, &row::count));
    }
    _rows.push_back({.what = what,
                     .pattern = std::move(pattern),
                     .example = std::string(key.name.substr(0, example_bytes_max)),
                     .database = key.database,
                     .client = client});
    return _rows.back();
}

void habit_log::clear() {
    _seen = {};
    _rows.clear();
}

}  // namespace lockkeeper::shards
