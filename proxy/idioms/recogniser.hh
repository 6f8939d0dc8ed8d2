#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "proxy/idioms/known_script.hh"
#include "proxy/idioms/sha1.hh"

namespace lockkeeper::proxy::idioms {

/// A script's name, and what it does if we know that.
struct recognition {
    sha1_digest sha;
    const known_script* script = nullptr;  ///< nullptr: unknown
};

/// The listed script with this SHA-1; nullptr if there is none or `hex40` is not 40 hexadecimal
/// digits.
const known_script* by_sha(std::string_view hex40);
const known_script* by_sha(const sha1_digest& sha);

/// The listed script with this text: byte for byte, or else by the normal form of the text
/// (lua_normal_form.hh). Costs one SHA-1 of the text; the normal form only if that is not listed.
recognition recognise(std::string_view text);

enum class call_check : uint8_t {
    fits,
    wrong_key_count,
    too_few_arguments,
    wrong_argument_count,  ///< a repeating argument does not come once per key group
};

/// Whether a call with `numkeys` KEYS and `argc` ARGV has the layout of the script. A call that
/// does not is to be treated as if the script were unknown. The number of KEYS must be exact;
/// surplus ARGV are ignored by scripts and so by us.
call_check check_call(const known_script& script, size_t numkeys, size_t argc);

struct listed_script {
    sha1_digest sha;
    const known_script* script;
};
/// Every script with a listed SHA-1, in the order of those.
std::span<const listed_script> scripts_by_sha();
/// Every normal form that is recognised, in the order of their SHA-1s.
std::span<const listed_script> scripts_by_normal_form();

/// What one core remembers of the scripts that clients showed it: SHA-1 -> known script, or
/// "unknown, but loaded". It answers EVALSHA after an EVAL or SCRIPT LOAD of a text that is not
/// listed, and saves the normal form of a text that comes again. Bounded: the least recently used
/// is forgotten, and its client gets NOSCRIPT and sends the text again, as after a restart of
/// Redis. Owned by a core, not shared.
class script_cache {
public:
    /// About 100 bytes each, and the text of those that are recognised. Clients that build scripts
    /// by pasting values into them must not push out much.
    static constexpr size_t scripts_max = 1024;
    /// Of one that is kept: lock scripts are short.
    static constexpr size_t text_bytes_max = 4096;

    struct entry {
        bool loaded = false;                   ///< listed or remembered: SCRIPT EXISTS says 1
        const known_script* script = nullptr;  ///< nullptr: unknown
    };

    explicit script_cache(size_t limit = scripts_max) : _limit(limit == 0 ? 1 : limit) {}
    script_cache(const script_cache&) = delete;
    script_cache& operator=(const script_cache&) = delete;

    /// EVAL and SCRIPT LOAD: recognises the text and remembers its SHA-1.
    recognition load(std::string_view text);
    /// EVALSHA. Not `loaded`: answer NOSCRIPT.
    entry find(std::string_view hex40);
    /// SCRIPT EXISTS. Does not count as use.
    bool exists(std::string_view hex40) const;
    /// The text of a script that is recognised but not listed, for those who have not seen it;
    /// otherwise empty. Good until the next load() or flush().
    std::string_view text_of(std::string_view hex40) const;
    /// SCRIPT FLUSH. Listed scripts stay known.
    void flush();

    size_t size() const { return _recent.size(); }

private:
    struct digest_hash {
        size_t operator()(const sha1_digest& digest) const;
    };
    struct shown {
        recognition known;
        std::string text;
    };
    using remembered = std::list<shown>;

    size_t _limit;
    remembered _recent;  ///< most recently used first
    std::unordered_map<sha1_digest, remembered::iterator, digest_hash> _by_sha;
};

}  // namespace lockkeeper::proxy::idioms
