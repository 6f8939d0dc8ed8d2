#include "shards/masters/vote_commands.hh"

#include <algorithm>

#include "protocol/command_writer.hh"
#include "protocol/text.hh"
#include "shards/core/fence_slots.hh"

namespace lockkeeper::shards {

using protocol::reply;
using protocol::reply_kind;
using protocol::write_command;
using std::chrono::milliseconds;

namespace {

/// A number that a master counts with; numbers from scripts are bulks.
std::optional<uint64_t> counter_of(const reply& value) {
    std::optional<int64_t> number = value.as_integer();
    if (!number && value.kind() == reply_kind::bulk) {
        number = protocol::parse_integer(value.text());
    }
    if (!number || *number < 0 || static_cast<uint64_t>(*number) >= fences_end) {
        return std::nullopt;
    }
    return static_cast<uint64_t>(*number);
}

/// The first number of a script's answer: 1 done, 0 not ours, -1 not admitted.
std::optional<int64_t> verdict_of(const reply& answer) {
    if (answer.kind() != reply_kind::array || answer.items().empty()) {
        return std::nullopt;
    }
    return answer.items()[0].as_integer();
}

bool is_text(const reply& value, std::string_view text) {
    return value.kind() == reply_kind::bulk && value.text() == text;
}

std::optional<std::string> text_of(const reply& value) {
    if (value.kind() != reply_kind::bulk) {
        return std::nullopt;
    }
    return std::string(value.text());
}

/// The three answers of a vote's transaction.
struct vote_answers {
    std::span<const reply> head;  ///< inc, cfg, base
    const reply* set;
    const reply* count;
};

std::optional<vote_answers> answers_of(const reply& exec) {
    const auto items = exec.items();
    if (exec.kind() != reply_kind::array || items.size() != 3 ||
        items[0].kind() != reply_kind::array || items[0].items().size() != 3) {
        return std::nullopt;
    }
    return vote_answers{.head = items[0].items(), .set = &items[1], .count = &items[2]};
}

/// Of a vote without a transaction; what scripts answer begins with a number.
bool is_head(const reply& answer) {
    return answer.kind() == reply_kind::array && answer.items().size() == 2 &&
           (answer.items()[0].kind() == reply_kind::bulk || answer.items()[0].is_null());
}

bool is_head_of(const reply& head, const incarnation& admitted) {
    return is_head(head) && is_text(head.items()[0], admitted.run_id) &&
           is_text(head.items()[1], admitted.fingerprint);
}

/// A script of ours with what it is told; values that are ours as well come last.
template <typename... Words>
void write_script(protocol::output& out, other_values also, const Words&... words) {
    protocol::command_writer command(out, 1 + sizeof...(words) + also.size());
    command.add("EVALSHA");
    (command.add(words), ...);
    for (const std::string& each : also) {
        command.add(each);
    }
}

bool is_admitted(const vote_answers& answers, const incarnation& admitted) {
    return is_text(answers.head[0], admitted.run_id) &&
           is_text(answers.head[1], admitted.fingerprint);
}

}  // namespace

stripe_keys::stripe_keys(std::string_view stripe) {
    const std::string start = "lk:{" + std::string(stripe) + "}:";
    fence = start + "fence";
    horizon = start + "horizon";
    proxies = start + "proxies";
}

// ---- The vote

void write_vote(protocol::output& out, const vote_question& question) {
    write_command(out, "MULTI");
    write_command(out, "HMGET", question.fence_key, "inc", "cfg", "base");
    write_command(out, "SET", question.key, question.value, "NX", "PX", question.length.count());
    write_command(out, "HINCRBY", question.fence_key, question.slot, question.block);
    write_command(out, "EXEC");
}

vote read_vote(const reply& exec, const incarnation& admitted, uint32_t block) {
    const auto answers = answers_of(exec);
    if (!answers || !is_admitted(*answers, admitted)) {
        return vote::refused();
    }
    if (answers->set->is_null()) {
        return vote::busy();
    }
    const auto base = counter_of(answers->head[2]);
    const auto count = counter_of(*answers->count);
    if (!answers->set->is_ok() || !base || !count || *count < block ||
        *base + *count >= fences_end) {
        return vote::refused();
    }
    return vote::granted(*base + *count);
}

void write_plain_vote(protocol::output& out, const vote_question& question) {
    write_command(out, "SET", question.key, question.value, "NX", "PX", question.length.count());
    write_command(out, "HMGET", question.fence_key, "inc", "cfg");
}

vote read_plain_vote(const reply& set, const reply& head, const incarnation& admitted) {
    if (!is_head_of(head, admitted)) {
        return vote::refused();
    }
    if (set.is_ok()) {
        return vote::granted(0);
    }
    return set.is_null() ? vote::busy() : vote::refused();
}

bool shows_other_incarnation(const reply& answer, const incarnation& admitted) {
    if (answer.error_code() == "NOSCRIPT" || verdict_of(answer) == -1) {
        return true;
    }
    if (is_head(answer)) {
        return !is_head_of(answer, admitted);
    }
    const auto answers = answers_of(answer);
    return answers && !is_admitted(*answers, admitted);
}

// ---- Who has the key?

void write_look(protocol::output& out, std::string_view key) {
    write_command(out, "PTTL", key);
    write_command(out, "GET", key);
}

std::optional<look_answer> read_look(const reply& pttl, const reply& get) {
    const auto remaining = pttl.as_integer();
    if (!remaining) {
        return std::nullopt;
    }
    look_answer answer;
    answer.free = *remaining == -2;
    if (*remaining >= 0) {
        answer.remaining = milliseconds(*remaining);
    }
    if (!answer.free) {
        answer.holder = text_of(get);
    }
    return answer;
}

// ---- Scripts

void write_raise(protocol::output& out, const loaded_scripts& scripts,
                 const raise_question& question) {
    write_script(out, question.also, scripts[master_script::raise], 2, question.key,
                 question.fence_key, question.value, question.slot, question.to);
}

bool read_raise(const reply& answer) {
    return verdict_of(answer) == 1;
}

void write_renew(protocol::output& out, const loaded_scripts& scripts,
                 const renew_question& question) {
    write_script(out, question.also, scripts[master_script::renew], 2, question.key,
                 question.fence_key, question.value, question.length.count(), question.slot,
                 question.block);
}

renewal_answer read_renew(const reply& answer, uint32_t block) {
    const auto verdict = verdict_of(answer);
    if (verdict == 0) {
        return renewal_answer::not_ours();
    }
    if (verdict != 1) {
        return renewal_answer::refused();
    }
    if (block == 0) {
        return renewal_answer::extended();
    }
    const auto counter = answer.items().size() == 2 ? counter_of(answer.items()[1]) : std::nullopt;
    if (!counter || *counter < block) {
        return renewal_answer::refused();
    }
    return renewal_answer::extended(*counter);
}

void write_release(protocol::output& out, const loaded_scripts& scripts, std::string_view key,
                   std::string_view value, other_values also) {
    write_script(out, also, scripts[master_script::release], 1, key, value);
}

std::optional<bool> read_release(const reply& answer) {
    const auto deleted = answer.as_integer();
    if (!deleted) {
        return std::nullopt;
    }
    return *deleted == 1;
}

void write_mark(protocol::output& out, const loaded_scripts& scripts, const stripe_keys& keys,
                milliseconds length) {
    write_command(out, "EVALSHA", scripts[master_script::mark], 2, keys.fence, keys.horizon,
                  length.count());
}

bool read_mark(const reply& answer) {
    return verdict_of(answer) == 1;
}

// ---- Admission

void write_head(protocol::output& out, const stripe_keys& keys) {
    write_command(out, "HMGET", keys.fence, "inc", "cfg", "dur");
}

bool read_head(const reply& answer, handshake_facts& facts) {
    if (answer.kind() != reply_kind::array || answer.items().size() != 3) {
        return false;
    }
    facts.incarnation = text_of(answer.items()[0]);
    facts.fingerprint = text_of(answer.items()[1]);
    facts.durability = text_of(answer.items()[2]);
    return true;
}

void write_pend(protocol::output& out, const loaded_scripts& scripts, const stripe_keys& keys,
                std::string_view nonce, const admission_step& step) {
    write_command(out, "EVALSHA", scripts[master_script::pend], 1, keys.fence, nonce,
                  step.durability);
}

std::optional<pend_answer> read_pend(const reply& answer) {
    const auto verdict = verdict_of(answer);
    if (verdict == 1) {
        return pend_answer{.already_admitted = true};
    }
    if (verdict != 0 || answer.items().size() != 3) {
        return std::nullopt;
    }
    auto nonce = text_of(answer.items()[1]);
    auto earlier = text_of(answer.items()[2]);
    if (!nonce || nonce->empty() || !earlier) {
        return std::nullopt;
    }
    if (earlier->empty()) {
        earlier.reset();
    }
    return pend_answer{.nonce = std::move(*nonce), .incarnation = std::move(earlier)};
}

void write_admit(protocol::output& out, const loaded_scripts& scripts, const stripe_keys& keys,
                 const admission_step& step) {
    write_command(out, "EVALSHA", scripts[master_script::admit], 1, keys.fence, step.nonce,
                  step.base, step.durability);
}

std::optional<bool> read_admit(const reply& answer) {
    const auto admitted = answer.as_integer();
    if (!admitted) {
        return std::nullopt;
    }
    return *admitted == 1;
}

void write_horizon(protocol::output& out, const loaded_scripts& scripts, const stripe_keys& keys) {
    write_command(out, "EVALSHA", scripts[master_script::horizon], 2, keys.fence, keys.horizon);
}

void write_counters(protocol::output& out, const loaded_scripts& scripts, const stripe_keys& keys,
                    uint32_t chunk) {
    constexpr uint32_t slots = fence_slots / counter_chunks;
    static_assert(fence_slots % counter_chunks == 0);
    write_command(out, "EVALSHA", scripts[master_script::counters], 2, keys.fence, keys.horizon,
                  chunk * slots, chunk * slots + slots - 1);
}

other_master read_other(const reply& answer) {
    const auto verdict = verdict_of(answer);
    if (verdict == -1) {
        return {.what = other_master::standing::forgot};
    }
    const auto items = answer.items();
    if (verdict != 1 || items.size() < 2 || items.size() > 3) {
        return {};
    }
    const auto horizon = counter_of(items[1]);
    const auto counter = items.size() == 3 ? counter_of(items[2]) : std::optional<uint64_t>(0);
    if (!horizon || !counter) {
        return {};
    }
    // A horizon beyond all sense is one all the same, and must not overflow later sums.
    constexpr auto longest = std::chrono::duration_cast<milliseconds>(std::chrono::years(200));
    return {.what = other_master::standing::admitted,
            .horizon = std::min(milliseconds(static_cast<int64_t>(*horizon)), longest),
            .counter = *counter};
}

other_master joined(const other_master& one, const other_master& other) {
    if (one.what != other_master::standing::admitted) {
        return one;
    }
    if (other.what != other_master::standing::admitted) {
        return other;
    }
    return {.what = other_master::standing::admitted,
            .horizon = std::max(one.horizon, other.horizon),
            .counter = std::max(one.counter, other.counter)};
}

}  // namespace lockkeeper::shards
