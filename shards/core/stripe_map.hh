#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::shards {

/// Key -> stripe. Every proxy of a fleet, every version of it and every restart must agree, so this
/// is fixed for ever and depends on nothing but the key and the set of stripe names:
///
///     score(stripe, key) = mix(S(tag(key)) xor S(name of the stripe))
///
/// The stripe with the highest score has the key; of equal scores, the one whose name is first in
/// byte order. S is SipHash-2-4 under the all-zero key, tag() is hash_tag(), and mix() on 64 bits
/// is
///
///     x ^= x >> 30;  x *= 0xbf58476d1ce4e5b9;  x ^= x >> 27;  x *= 0x94d049bb133111eb;  x ^= x >>
///     31
///
/// A new stripe takes its fair share from all others and moves nothing between them; a removed one
/// gives its keys to all others. The order of the list does not matter; a renamed stripe is a new
/// one.
class stripe_map {
public:
    /// Throws std::invalid_argument unless there is at least one name and all differ.
    explicit stripe_map(std::vector<std::string> names);

    /// An index into the names as they were given.
    size_t stripe_of(std::string_view key) const;
    const std::string& name(size_t stripe) const { return _names[stripe]; }
    size_t size() const { return _names.size(); }

private:
    std::vector<std::string> _names;
    std::vector<uint64_t> _hashes;
};

}  // namespace lockkeeper::shards
