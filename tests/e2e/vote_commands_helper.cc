/// Lends the words between a proxy and a master to tests that have real masters. Reads one request
/// a line, fields parted by tabs, and answers with one line. Bytes travel as hexadecimal digits.
///
///     texts RUN_ID CFG                         -> the scripts, each in hexadecimal digits, parted
///     by blanks write WHAT FIELD...                      -> commands for a master read WHAT
///     REPLIES_HEX FIELD...           -> what the replies mean, in words
#include <cstdint>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_parser.hh"
#include "shards/core/fence_slots.hh"
#include "shards/masters/lease_value.hh"
#include "shards/masters/master_scripts.hh"
#include "shards/masters/vote_commands.hh"

using namespace lockkeeper;
using namespace lockkeeper::shards;

namespace {

using fields = std::vector<std::string>;

std::string to_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

std::string from_hex(std::string_view text) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    std::string bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2) {
        bytes += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
    }
    return bytes;
}

std::vector<protocol::reply> replies_of(const std::string& bytes) {
    protocol::reply_parser parser;
    std::vector<protocol::reply> result;
    std::string_view unread = bytes;
    while (!unread.empty()) {
        const auto parsed = parser.parse(unread);
        unread.remove_prefix(parsed.consumed);
        if (parsed.outcome != protocol::reply_outcome::reply) {
            throw std::invalid_argument("not whole replies");
        }
        result.push_back(parser.take());
    }
    return result;
}

std::chrono::milliseconds ms(const std::string& text) {
    return std::chrono::milliseconds(std::stoll(text));
}
uint32_t u32(const std::string& text) {
    return static_cast<uint32_t>(std::stoul(text));
}

/// `scripts` are SHAs, parted by blanks, in the order of master_script.
loaded_scripts scripts_of(const std::string& text) {
    loaded_scripts scripts;
    std::istringstream in(text);
    for (auto& sha : scripts.sha) {
        in >> sha;
    }
    return scripts;
}

std::string write(const fields& f) {
    protocol::output out;
    const std::string& what = f.at(1);
    const stripe_keys keys("a");
    // Whatever follows the fields of a command: values that are ours as well.
    const size_t own = what == "raise" ? 6 : what == "renew" ? 7 : 5;
    const other_values also = f.size() > own ? other_values(f).subspan(own) : other_values();
    if (what == "vote") {
        write_vote(out, {.key = f.at(2),
                         .value = f.at(3),
                         .length = ms(f.at(4)),
                         .fence_key = keys.fence,
                         .slot = fence_slot(f.at(2)),
                         .block = u32(f.at(5))});
    } else if (what == "plain_vote") {
        write_plain_vote(
            out,
            {.key = f.at(2), .value = f.at(3), .length = ms(f.at(4)), .fence_key = keys.fence});
    } else if (what == "look") {
        write_look(out, f.at(2));
    } else if (what == "head") {
        write_head(out, keys);
    } else if (what == "raise") {
        write_raise(out, scripts_of(f.at(2)),
                    {.key = f.at(3),
                     .value = f.at(4),
                     .fence_key = keys.fence,
                     .slot = fence_slot(f.at(3)),
                     .to = std::stoull(f.at(5)),
                     .also = also});
    } else if (what == "renew") {
        write_renew(out, scripts_of(f.at(2)),
                    {.key = f.at(3),
                     .value = f.at(4),
                     .fence_key = keys.fence,
                     .length = ms(f.at(5)),
                     .slot = fence_slot(f.at(3)),
                     .block = u32(f.at(6)),
                     .also = also});
    } else if (what == "release") {
        write_release(out, scripts_of(f.at(2)), f.at(3), f.at(4), also);
    } else if (what == "mark") {
        write_mark(out, scripts_of(f.at(2)), keys, ms(f.at(3)));
    } else if (what == "pend") {
        write_pend(out, scripts_of(f.at(2)), keys, f.at(3), {.durability = f.at(4)});
    } else if (what == "admit") {
        write_admit(out, scripts_of(f.at(2)), keys,
                    {.nonce = f.at(3), .base = std::stoull(f.at(4)), .durability = f.at(5)});
    } else if (what == "horizon") {
        write_horizon(out, scripts_of(f.at(2)), keys);
    } else if (what == "counters") {
        write_counters(out, scripts_of(f.at(2)), keys, u32(f.at(3)));
    } else {
        throw std::invalid_argument("write what?");
    }
    return to_hex(out.view());
}

std::string words(const vote& answer) {
    switch (answer.what) {
        case vote::answer::granted:
            return "granted " + std::to_string(answer.counter);
        case vote::answer::busy:
            return "busy";
        case vote::answer::refused:
            return "refused";
        case vote::answer::no_answer:
            break;
    }
    return "no answer";
}

std::string words(const renewal_answer& answer) {
    switch (answer.what) {
        case renewal_answer::answer::extended:
            return "extended " + std::to_string(answer.counter);
        case renewal_answer::answer::not_ours:
            return "not ours";
        case renewal_answer::answer::refused:
            return "refused";
        case renewal_answer::answer::no_answer:
            break;
    }
    return "no answer";
}

std::string words(const other_master& other) {
    switch (other.what) {
        case other_master::standing::admitted:
            return "admitted " +
                   std::to_string(
                       std::chrono::duration_cast<std::chrono::milliseconds>(other.horizon)
                           .count()) +
                   " " + std::to_string(other.counter);
        case other_master::standing::forgot:
            return "forgot";
        case other_master::standing::silent:
            break;
    }
    return "silent";
}

std::string words(const std::optional<bool>& answer) {
    return !answer ? "nonsense" : *answer ? "yes" : "no";
}

std::string read_look_words(const std::vector<protocol::reply>& replies) {
    const auto seen = read_look(replies.at(0), replies.at(1));
    if (!seen) {
        return "nonsense";
    }
    if (seen->free) {
        return "free";
    }
    return "held by " + seen->holder.value_or("?") + " for " +
           (seen->remaining ? std::to_string(seen->remaining->count()) : "ever");
}

std::string read_head_words(const protocol::reply& answer) {
    handshake_facts facts;
    if (!read_head(answer, facts)) {
        return "nonsense";
    }
    return facts.incarnation.value_or("-") + " " + facts.fingerprint.value_or("-") + " " +
           facts.durability.value_or("-");
}

std::string read(const fields& f) {
    const std::string& what = f.at(1);
    const auto replies = replies_of(from_hex(f.at(2)));
    const protocol::reply& last = replies.back();
    if (what == "vote") {
        return words(read_vote(last, {.run_id = f.at(3), .fingerprint = f.at(4)}, u32(f.at(5))));
    }
    if (what == "other_incarnation") {
        return words(shows_other_incarnation(last, {.run_id = f.at(3), .fingerprint = f.at(4)}));
    }
    if (what == "pend") {
        const auto answer = read_pend(last);
        if (!answer || answer->already_admitted) {
            return answer ? "admitted" : "nonsense";
        }
        return answer->nonce + (answer->incarnation ? " after " + *answer->incarnation : "");
    }
    if (what == "look") {
        return read_look_words(replies);
    }
    if (what == "head") {
        return read_head_words(last);
    }
    if (what == "renew") {
        return words(read_renew(last, u32(f.at(3))));
    }
    if (what == "plain_vote") {
        return words(
            read_plain_vote(replies.at(0), last, {.run_id = f.at(3), .fingerprint = f.at(4)}));
    }
    if (what == "raise") {
        return words(read_raise(last));
    }
    if (what == "release") {
        return words(read_release(last));
    }
    if (what == "mark") {
        return words(read_mark(last));
    }
    if (what == "admit") {
        return words(read_admit(last));
    }
    if (what == "other") {
        return words(read_other(last));
    }
    throw std::invalid_argument("read what?");
}

std::string answer_to(const fields& f) {
    if (f.at(0) == "texts") {
        std::string all;
        for (const auto& text : script_texts({.run_id = f.at(1), .fingerprint = f.at(2)})) {
            all += to_hex(text) + " ";
        }
        return all;
    }
    return f.at(0) == "write" ? write(f) : read(f);
}

}  // namespace

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        fields parts;
        std::istringstream in(line);
        for (std::string part; std::getline(in, part, '\t');) {
            parts.push_back(part);
        }
        if (!line.empty() && line.back() == '\t') {
            parts.emplace_back();
        }
        try {
            std::cout << answer_to(parts) << std::endl;
        } catch (const std::exception& wrong) {
            std::cout << "error " << wrong.what() << std::endl;
        }
    }
}
