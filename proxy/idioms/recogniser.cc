#include "proxy/idioms/recogniser.hh"

#include <algorithm>
#include <cstring>

#include "proxy/idioms/lua_normal_form.hh"
#include "proxy/idioms/script_table.hh"

namespace lockkeeper::proxy::idioms {

namespace {

const known_script* find_in(std::span<const listed_script> table, const sha1_digest& sha) {
    const auto found = std::ranges::lower_bound(table, sha, {}, &listed_script::sha);
    return found != table.end() && found->sha == sha ? found->script : nullptr;
}

const known_script* by_normal_form(std::string_view text) {
    const auto form = lua_normal_hash(text);
    return form ? find_in(scripts_by_normal_form(), *form) : nullptr;
}

}  // namespace

std::span<const listed_script> scripts_by_sha() {
    return generated::by_sha;
}

std::span<const listed_script> scripts_by_normal_form() {
    return generated::by_normal_form;
}

std::string_view name_of(operation op) {
    return generated::operation_names[static_cast<size_t>(op)];
}

std::string_view name_of(reply_map map) {
    return generated::reply_map_names[static_cast<size_t>(map)];
}

const known_script* by_sha(const sha1_digest& sha) {
    return find_in(scripts_by_sha(), sha);
}

const known_script* by_sha(std::string_view hex40) {
    const auto sha = parse_sha1(hex40);
    return sha ? by_sha(*sha) : nullptr;
}

recognition recognise(std::string_view text) {
    const sha1_digest sha = sha1(text);
    const known_script* listed = by_sha(sha);
    return {sha, listed != nullptr ? listed : by_normal_form(text)};
}

call_check check_call(const known_script& script, size_t numkeys, size_t argc) {
    const layout& keys = script.keys;
    const layout& arguments = script.arguments;
    const bool whole_groups = keys.repeats() && numkeys >= keys.count &&
                              (numkeys - (keys.count - keys.group)) % keys.group == 0;
    if (numkeys != keys.count && !whole_groups) {
        return call_check::wrong_key_count;
    }
    if (argc < arguments.count) {
        return call_check::too_few_arguments;
    }
    if (!keys.repeats() || !arguments.repeats()) {
        return call_check::fits;
    }
    const size_t wanted = keys.groups_in(numkeys);
    const size_t given = arguments.groups_in(argc);
    if (arguments.has(role::owner_groups)) {
        // A number, and as many owners, for each: at least the number.
        return given >= wanted ? call_check::fits : call_check::too_few_arguments;
    }
    return given == wanted ? call_check::fits : call_check::wrong_argument_count;
}

size_t script_cache::digest_hash::operator()(const sha1_digest& digest) const {
    size_t hash;
    std::memcpy(&hash, digest.bytes.data(), sizeof(hash));
    return hash;
}

recognition script_cache::load(std::string_view text) {
    const sha1_digest sha = sha1(text);
    if (const known_script* listed = by_sha(sha)) {
        return {sha, listed};
    }
    if (const auto found = _by_sha.find(sha); found != _by_sha.end()) {
        _recent.splice(_recent.begin(), _recent, found->second);
        return _recent.front().known;
    }
    if (_recent.size() >= _limit) {
        _by_sha.erase(_recent.back().known.sha);
        _recent.pop_back();
    }
    const known_script* const script = by_normal_form(text);
    const bool is_kept = script != nullptr && text.size() <= text_bytes_max;
    _recent.push_front({{sha, script}, is_kept ? std::string(text) : std::string()});
    _by_sha.emplace(sha, _recent.begin());
    return _recent.front().known;
}

script_cache::entry script_cache::find(std::string_view hex40) {
    const auto sha = parse_sha1(hex40);
    if (!sha) {
        return {};
    }
    if (const known_script* listed = by_sha(*sha)) {
        return {.loaded = true, .script = listed};
    }
    const auto found = _by_sha.find(*sha);
    if (found == _by_sha.end()) {
        return {};
    }
    _recent.splice(_recent.begin(), _recent, found->second);
    return {.loaded = true, .script = _recent.front().known.script};
}

std::string_view script_cache::text_of(std::string_view hex40) const {
    const auto sha = parse_sha1(hex40);
    const auto found = sha ? _by_sha.find(*sha) : _by_sha.end();
    return found == _by_sha.end() ? std::string_view() : std::string_view(found->second->text);
}

bool script_cache::exists(std::string_view hex40) const {
    const auto sha = parse_sha1(hex40);
    return sha && (by_sha(*sha) != nullptr || _by_sha.contains(*sha));
}

void script_cache::flush() {
    _by_sha.clear();
    _recent.clear();
}

}  // namespace lockkeeper::proxy::idioms
