#include "shards/stripe_group.hh"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <seastar/core/coroutine.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/timed_out_error.hh>
#include <seastar/core/when_all.hh>
#include <seastar/coroutine/maybe_yield.hh>
#include <seastar/util/later.hh>
#include <seastar/util/log.hh>
#include <span>

#include "protocol/text.hh"
#include "shards/background.hh"
#include "shards/core/fence_slots.hh"
#include "shards/masters/handshake.hh"
#include "shards/masters/lease_value.hh"
#include "shards/masters/script_calls.hh"
#include "shards/read_clock.hh"

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

ss::logger log("stripes");

/// Of what a master says, for people.
constexpr size_t shown_bytes_max = 200;
/// Only finds out whether a mark could be set.
constexpr std::chrono::milliseconds mark_of_nothing = 0ms;
/// What a master did not carry out it is asked for again.
constexpr std::chrono::nanoseconds between_releases = 500ms;

/// Clients of database 0 and those who talk to Redis directly meet at the same names.
std::string name_on_master(uint32_t database, std::string_view key) {
    return database == 0 ? std::string(key) : fmt::format("lk:db{}:{}", database, key);
}

std::string fresh_nonce() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

admission_options admission_of(const group_options& options) {
    using first = config::first_admission;
    const bool is_strict =
        options.masters.admission == first::strict ||
        (options.masters.admission == first::automatic && options.stripe.masters.size() >= 3);
    return {.masters = static_cast<uint8_t>(options.stripe.masters.size()),
            .fingerprint = options.fingerprint,
            .max_ttl = options.rules.max_ttl,
            .round_timeout = options.rules.timeout,
            .first = is_strict ? admission_options::first_contact::strict
                               : admission_options::first_contact::quick,
            .recovery = options.masters.fence_recovery == config::fence_recovery::strict
                            ? admission_options::counter_recovery::strict
                            : admission_options::counter_recovery::clock};
}

void write_question(command_batch& commands, const vote_question& question) {
    if (question.block > 0) {
        write_vote(commands.append(vote_commands), question);
    } else {
        write_plain_vote(commands.append(plain_vote_commands), question);
    }
}

std::string name_of(master_role role, std::string_view unknown) {
    switch (role) {
        case master_role::master:
            return "master";
        case master_role::replica:
            return "slave";
        case master_role::sentinel:
            return "sentinel";
        case master_role::unknown:
            break;
    }
    return std::string(unknown);
}

/// For operators: what came instead of an answer.
std::string words_of(const std::optional<protocol::reply>& reply) {
    return !reply              ? "it does not answer in time"
           : reply->is_error() ? protocol::sanitised(reply->text(), shown_bytes_max)
                               : "its answer makes no sense";
}

handshake_facts to_facts(const master_facts& told) {
    handshake_facts facts;
    facts.run_id = told.run_id;
    facts.role = name_of(told.role, "unknown");
    facts.cluster = told.mode == "cluster";
    facts.loading = told.loading;
    facts.promoted = told.promoted.value_or(true);
    facts.maxmemory = told.memory_max;
    facts.maxmemory_policy = told.eviction;
    if (told.append_only) {
        facts.appendonly = *told.append_only ? "yes" : "no";
    }
    facts.appendfsync = told.append_fsync;
    return facts;
}

}  // namespace

/// What we know of one master.
struct stripe_group::voter {
    voter(const admission_options& options, std::chrono::nanoseconds max_ttl)
        : standing(options), horizon(max_ttl) {}

    admission standing;
    clock_watch clock;
    pending_releases unsent;
    lease_horizon horizon;  ///< of the present connection
    incarnation whom{};     ///< what its scripts were written for
    loaded_scripts scripts{};
    link_generation generation{};  ///< the connection that all of this is about
    handshake_facts facts{};       ///< what it said last
    bool is_asked_again = false;
    instant resend_at{};  ///< what is unsent
    std::string said{};   ///< what the log says of it
    uint64_t votes = 0;
    uint64_t refusals = 0;
    ss::condition_variable stirred;
};

stripe_group::stripe_group(group_options options, lease_answers& answers)
    : _options(std::move(options)),
      _answers(answers),
      _keys(_options.stripe.name),
      _masters(_options.stripe, _options.masters, *this) {
    for (size_t i = 0; i < _masters.size(); ++i) {
        _voters.push_back(std::make_unique<voter>(admission_of(_options), _options.rules.max_ttl));
    }
}

stripe_group::~stripe_group() = default;

ss::future<> stripe_group::start() {
    co_await _masters.start();
    _clocks.emplace(_masters.all(), clock_probe::options{},
                    [this](master& of, link_generation on, const clock_sample& sample) {
                        on_clock(of, on, sample);
                    });
    co_await _clocks->start();
    for (uint32_t i = 0; i < _voters.size(); ++i) {
        background(_gate, log, "watching over a master", [this, i] { return watch_over(i); });
    }
}

void stripe_group::request_stop() {
    if (_stopping) {
        return;
    }
    _stopping = true;
    for (auto& each : _voters) {
        each->stirred.broken();
    }
    if (_clocks) {
        _clocks->request_stop();
    }
    _masters.request_stop();
}

ss::future<> stripe_group::stop() {
    request_stop();
    if (_clocks) {
        co_await _clocks->stop();
    }
    co_await _masters.stop();
    co_await _gate.close();
}

// ---- who may vote -------------------------------------------------------------------------------

void stripe_group::connected(master& from) {
    _voters[from.index()]->stirred.signal();
}

void stripe_group::disconnected(master& from, const std::string&) {
    const uint32_t index = from.index();
    voter& one = *_voters[index];
    one.standing.on_connection_lost();
    note_standing(index);
    _answers.link_lost(_options.number, static_cast<master_index>(index));
    one.stirred.signal();
}

void stripe_group::note_standing(uint32_t index) {
    voter& one = *_voters[index];
    const auto place = static_cast<master_index>(index);
    const bool could_vote = _admitted.contains(place);
    const bool may_vote = one.standing.may_vote();
    if (may_vote) {
        _admitted.add(place);
    } else {
        _admitted.remove(place);
    }
    if (could_vote && !may_vote) {
        _answers.link_lost(_options.number, place);
    }
    std::string said = may_vote ? std::string("votes") : std::string(one.standing.reason());
    if (said != one.said && one.standing.status() != admission::state::disconnected) {
        log.info("stripe {}: master {}: {}", name(), _masters.states()[index].address, said);
    }
    one.said = std::move(said);
}

ss::future<> stripe_group::watch_over(uint32_t index) {
    voter& one = *_voters[index];
    while (!_stopping) {
        const auto now = read_clock();
        auto step = one.standing.next(now);
        note_standing(index);
        const bool has_link = _masters.at(index).is_connected();
        // One that is refused may be a replica; what is unsent goes out when it is greeted.
        const bool sends_again =
            has_link && one.unsent.size() > 0 && one.standing.status() != admission::state::refused;
        if (sends_again && now >= one.resend_at) {
            one.resend_at = now + between_releases;
            co_await send_pending(index);
            continue;
        }
        if (step.what == admission_step::kind::wait || step.at > now || !has_link) {
            const instant next = sends_again ? std::min(step.at, one.resend_at) : step.at;
            const auto pause = has_link ? std::clamp<std::chrono::nanoseconds>(next - now, 1ms, 10s)
                                        : std::chrono::nanoseconds(10s);
            try {
                co_await one.stirred.wait(pause);
            } catch (const ss::condition_variable_timed_out&) {
            } catch (const ss::broken_condition_variable&) {
                co_return;
            }
            continue;
        }
        co_await carry_out_step(index, std::move(step));
    }
}

ss::future<std::optional<protocol::reply>> stripe_group::ask(uint32_t index,
                                                             const command_batch& question) {
    auto answer = co_await _masters.at(index).send(
        question,
        {.timeout = _options.masters.connect_timeout, .only_on = _voters[index]->generation});
    if (!answer) {
        co_return std::nullopt;
    }
    co_return std::move(answer->replies.back());
}

ss::future<std::vector<protocol::reply>> stripe_group::ask_all(command_batch question) {
    std::vector<ss::future<std::optional<protocol::reply>>> asked;
    for (uint32_t i = 0; i < _voters.size(); ++i) {
        asked.push_back(ask(i, question));
    }
    std::vector<protocol::reply> answers;
    for (auto& each : asked) {
        if (auto answer = co_await std::move(each)) {
            answers.push_back(std::move(*answer));
        }
    }
    co_return answers;
}

ss::future<> stripe_group::carry_out_step(uint32_t index, admission_step step) {
    using kind = admission_step::kind;
    voter& one = *_voters[index];
    switch (step.what) {
        case kind::wait:
            co_return;
        case kind::shake_hands:
            co_return co_await greet(index);
        case kind::read_horizons:
        case kind::read_counters:
            co_return co_await ask_others(index, step.what == kind::read_counters);
        case kind::pend: {
            command_batch question;
            write_pend(question.append(1), one.scripts, _keys, fresh_nonce(), step);
            const auto reply = co_await ask(index, question);
            const auto answer = reply ? read_pend(*reply) : std::nullopt;
            answer ? one.standing.on_pend(*answer, read_clock())
                   : fail_step(index, words_of(reply));
            co_return;
        }
        case kind::admit: {
            command_batch question;
            write_admit(question.append(1), one.scripts, _keys, step);
            const auto reply = co_await ask(index, question);
            const auto answer = reply ? read_admit(*reply) : std::nullopt;
            answer ? one.standing.on_admit(*answer, read_clock())
                   : fail_step(index, words_of(reply));
            co_return;
        }
    }
}

/// Everything that admission wants to know of a new connection, and our scripts.
ss::future<> stripe_group::greet(uint32_t index) {
    voter& one = *_voters[index];
    master& who = _masters.at(index);
    const auto patience = _options.masters.connect_timeout;
    auto told = co_await shake_hands(who, patience);
    if (!told) {
        fail_step(index, told.error());
        co_return;
    }
    if (one.generation != told->generation) {
        one.horizon = lease_horizon(_options.rules.max_ttl);
    }
    one.generation = told->generation;
    one.whom = {.run_id = told->facts.run_id, .fingerprint = _options.fingerprint};
    auto facts = to_facts(told->facts);
    if (facts.cluster || facts.loading || facts.role != "master") {
        // It would not take our scripts. No need of them to know that it may not vote.
        one.standing.on_handshake(facts, read_clock());
        note_standing(index);
        co_return;
    }
    const auto texts = script_texts(one.whom);
    const auto loaded =
        co_await load_scripts(who, std::vector<std::string>(texts.begin(), texts.end()),
                              {.timeout = patience, .only_on = one.generation});
    if (!loaded) {
        fail_step(index, loaded.error());
        co_return;
    }
    std::ranges::copy(*loaded, one.scripts.sha.begin());
    command_batch question;
    write_head(question.append(1), _keys);
    const auto head = co_await ask(index, question);
    if (!head || !read_head(*head, facts)) {
        fail_step(index, words_of(head));
        co_return;
    }
    if (facts.incarnation == facts.run_id && facts.fingerprint == _options.fingerprint) {
        facts.refuses_writes = co_await try_to_mark(index);
    } else {
        one.horizon = lease_horizon(_options.rules.max_ttl);  // its marks are gone
    }
    // Before any vote, so that a key of our own does not stand in our way.
    co_await send_pending(index);
    // A step is seen against an earlier look only: the first one comes before the first vote.
    const auto shown =
        co_await look_at_clock(who, {.timeout = patience, .only_on = one.generation});
    if (!shown) {
        fail_step(index, shown.error());
        co_return;
    }
    // A server that copied another of the group has lost what was its own.
    facts.promoted |= facts.incarnation && facts.incarnation != facts.run_id &&
                      std::ranges::any_of(_voters, [&](const auto& other) {
                          return other->whom.run_id == *facts.incarnation;
                      });
    // Asked and told in one step: of two that are the same, one finds the other.
    facts.same_as_another = std::ranges::any_of(_voters, [&](const auto& other) {
        return other.get() != &one && other->whom.run_id == one.whom.run_id &&
               other->standing.status() != admission::state::disconnected;
    });
    one.facts = facts;
    one.standing.on_handshake(facts, read_clock());
    on_clock(who, one.generation, *shown);
    note_standing(index);
}

/// A step of the way to its admission failed. Without a connection that is all there is to say.
void stripe_group::fail_step(uint32_t index, std::string why) {
    if (_masters.at(index).is_connected()) {
        log.debug("stripe {}: master {}: {}", name(), index, why);
        _voters[index]->standing.on_failed_step(std::move(why), read_clock());
    }
}

/// What it says to a write that memory is needed for, if it is not done; else nothing.
ss::future<std::string> stripe_group::try_to_mark(uint32_t index) {
    command_batch question;
    write_mark(question.append(1), _voters[index]->scripts, _keys, mark_of_nothing);
    const auto reply = co_await ask(index, question);
    co_return reply && reply->is_error() ? words_of(reply) : std::string();
}

/// What may have been changed since the handshake.
ss::future<> stripe_group::ask_again(uint32_t index) {
    voter& one = *_voters[index];
    one.is_asked_again = true;
    const auto on = one.generation;
    command_batch questions = changing_facts_questions();
    const size_t changing = questions.replies();
    write_head(questions.append(1), _keys);
    const auto told = co_await _masters.at(index).send(
        questions, {.timeout = _options.masters.connect_timeout, .only_on = on});
    one.is_asked_again = false;
    if (!told || _stopping || one.generation != on) {
        co_return;
    }
    handshake_facts head;
    if (read_head(told->replies.back(), head) &&
        (head.incarnation != one.facts.run_id || head.fingerprint != _options.fingerprint)) {
        // A vote would have found out, but none was asked for.
        one.standing.on_vote_refused();
    }
    const auto now = read_changing_facts(std::span(told->replies).first(changing));
    one.facts.role = name_of(now.role, one.facts.role);
    if (now.memory_max) {
        one.facts.maxmemory = now.memory_max;
    }
    if (now.eviction) {
        one.facts.maxmemory_policy = now.eviction;
    }
    one.standing.on_another_look(one.facts, read_clock());
    if (!one.standing.may_vote()) {
        note_standing(index);
        one.stirred.signal();
    }
}

ss::future<other_master> stripe_group::ask_horizon(uint32_t index) {
    command_batch question;
    write_horizon(question.append(1), _voters[index]->scripts, _keys);
    const auto reply = co_await ask(index, question);
    co_return reply ? read_other(*reply) : other_master{};
}

ss::future<other_master> stripe_group::ask_counters(uint32_t index) {
    std::optional<other_master> all;
    for (uint32_t chunk = 0; chunk < counter_chunks; ++chunk) {
        command_batch question;
        write_counters(question.append(1), _voters[index]->scripts, _keys, chunk);
        const auto reply = co_await ask(index, question);
        const auto some = reply ? read_other(*reply) : other_master{};
        if (some.what != other_master::standing::admitted) {
            co_return some;
        }
        all = all ? joined(*all, some) : some;
    }
    co_return *all;
}

ss::future<> stripe_group::ask_others(uint32_t index, bool counters) {
    std::vector<other_master> others;
    for (uint32_t i = 0; i < _voters.size(); ++i) {
        if (i == index) {
            continue;
        }
        other_master other;
        if (_masters.at(i).is_connected() && _voters[i]->generation.value != 0) {
            other = co_await (counters ? ask_counters(i) : ask_horizon(i));
        }
        others.push_back(other);
    }
    _voters[index]->standing.on_others(others, static_cast<uint64_t>(std::time(nullptr)),
                                       read_clock());
}

void stripe_group::on_clock(master& of, link_generation, const clock_sample& sample) {
    voter& one = *_voters[of.index()];
    if (one.clock.on_sample(
            {.sent = sample.sent, .received = sample.received, .unix_time = sample.shown})) {
        log.warn("stripe {}: the clock of master {} stepped by {} ms: it does not vote for a while",
                 name(), _masters.states()[of.index()].address,
                 std::chrono::duration_cast<std::chrono::milliseconds>(one.clock.step()).count());
        one.standing.on_clock_step(read_clock());
        note_standing(of.index());
        one.stirred.signal();
    }
    if (one.standing.may_vote() && !one.is_asked_again && !_stopping) {
        background(_gate, log, "asking a master again",
                   [this, index = of.index()] { return ask_again(index); });
    }
}

void stripe_group::note_refusal(uint32_t index, const protocol::reply& reply) {
    voter& one = *_voters[index];
    ++one.refusals;
    if (shows_other_incarnation(reply, one.whom)) {
        one.standing.on_vote_refused();
        note_standing(index);
        one.stirred.signal();
    }
}

// ---- what leases ask ----------------------------------------------------------------------------

/// A lease that is longer than all before it is announced first, on the same connection. False if
/// that cannot be sent; then nothing that relies on it may be.
bool stripe_group::announce(uint32_t index, std::chrono::milliseconds length) {
    voter& to = *_voters[index];
    const auto mark = to.horizon.mark_for(length, read_clock());
    if (!mark) {
        return true;
    }
    command_batch commands;
    write_mark(commands.append(1), to.scripts, _keys, *mark);
    // It is answered before all that relies on it, and must be heard: no shorter time for it than
    // the connection has.
    auto answered = _masters.at(index).send(
        commands, {.timeout = _options.masters.silence, .only_on = to.generation});
    if (answered.available()) {
        to.horizon = lease_horizon(_options.rules.max_ttl);
        return false;
    }
    background(_gate, log, "marking a lease horizon",
               [this, index, on = to.generation, answered = std::move(answered)]() mutable {
                   return std::move(answered).then([this, index, on](master_result result) {
                       take_mark(index, on, std::move(result));
                   });
               });
    return true;
}

/// Without its mark a master does not know of a lease when another one forgets: what came behind it
/// must not count.
void stripe_group::take_mark(uint32_t index, link_generation on, master_result result) {
    voter& from = *_voters[index];
    if (from.generation != on || (result && read_mark(result->replies.front()))) {
        return;
    }
    from.horizon = lease_horizon(_options.rules.max_ttl);
    if (!result) {
        // It may still come; what relies on it comes later yet, if at all.
        return;
    }
    const protocol::reply& reply = result->replies.front();
    note_refusal(index, reply);
    if (from.standing.may_vote()) {
        from.standing.on_refusal("it refuses writes: " + words_of(reply), read_clock());
        note_standing(index);
        from.stirred.signal();
    }
}

/// What a key of ours is to hold on the masters, and what it may hold besides.
std::pair<std::string, std::vector<std::string>> stripe_group::values_of(
    attempt_id attempt, const stored_value* stored) const {
    const auto own = [&](const std::string& text) {
        return text.empty() ? to_text({.proxy = _options.proxy, .attempt = attempt}) : text;
    };
    if (stored == nullptr) {
        return {own({}), {}};
    }
    std::vector<std::string> also;
    std::ranges::transform(stored->also, std::back_inserter(also), own);
    return {own(stored->value), std::move(also)};
}

void stripe_group::carry_out(const lease_action& what, const lock_key& key) {
    using kind = lease_action::kind;
    if (_stopping) {
        return;
    }
    const std::string name = name_on_master(key.database, key.name);
    const auto [value, also] = values_of(what.attempt, what.stored.get());
    const uint32_t slot = fence_slot(name);
    for (const master_index index : what.to) {
        voter& to = *_voters[index];
        if (what.what == kind::release) {
            send_release(index, {.database = key.database,
                                 .key = std::string(key.name),
                                 .attempt = what.attempt,
                                 .until = what.until,
                                 .stored = what.stored});
            continue;
        }
        const bool is_lease = what.what == kind::vote || what.what == kind::renew;
        if (is_lease && !announce(index, what.length)) {
            hear(index, what, key,
                 ss::make_ready_future<master_result>(std::unexpected(master_error::overloaded)));
            continue;
        }
        command_batch commands;
        switch (what.what) {
            case kind::vote:
                write_question(commands, {.key = name,
                                          .value = value,
                                          .length = what.length,
                                          .fence_key = _keys.fence,
                                          .slot = slot,
                                          .block = what.block});
                break;
            case kind::raise:
                write_raise(commands.append(1), to.scripts,
                            {.key = name,
                             .value = value,
                             .fence_key = _keys.fence,
                             .slot = slot,
                             .to = what.raise_to,
                             .also = also});
                break;
            case kind::renew:
                write_renew(commands.append(1), to.scripts,
                            {.key = name,
                             .value = value,
                             .fence_key = _keys.fence,
                             .length = what.length,
                             .slot = slot,
                             .block = what.block,
                             .also = also});
                break;
            case kind::look:
                write_look(commands.append(look_commands), name);
                break;
            case kind::release:
                break;
        }
        hear(index, what, key,
             _masters.at(index).send(
                 commands,
                 {.timeout =
                      std::chrono::ceil<std::chrono::milliseconds>(_options.rules.timeout) + 50ms,
                  .only_on = to.generation}));
    }
}

/// The answer goes to the lease, but never within the call that has asked for it: that may be one
/// of the table.
void stripe_group::hear(uint32_t index, const lease_action& what, const lock_key& key,
                        ss::future<master_result> answered) {
    background(
        _gate, log, "asking a master",
        [this, index, action = what, database = key.database, client_key = std::string(key.name),
         hash = key.hash, answered = std::move(answered)]() mutable {
            auto turn = answered.available() ? ss::yield() : ss::make_ready_future<>();
            return turn
                .then([answered = std::move(answered)]() mutable { return std::move(answered); })
                .then([this, index, action, database, hash,
                       client_key = std::move(client_key)](master_result result) {
                    const lock_key about{database, client_key, hash};
                    take_answer(index, action, about, std::move(result));
                });
        });
}

void stripe_group::take_answer(uint32_t index, const lease_action& asked, const lock_key& key,
                               master_result result) {
    using kind = lease_action::kind;
    voter& from = *_voters[index];
    const auto place = static_cast<master_index>(index);
    if (!result) {
        // Never sent, gone down with its connection, or so late that no round waits for it: a lease
        // asks a master again only when it has heard of the last question.
        if (result.error() == master_error::timed_out && asked.what == kind::raise) {
            return;  // one that is under way now may need that master for another reason
        }
        switch (asked.what) {
            case kind::vote:
                return _answers.voted(key, asked.attempt, place, vote::no_answer());
            case kind::raise:
                return _answers.raised(key, asked.attempt, place, asked.raise_to, false);
            case kind::renew:
                return _answers.renewed(key, asked.attempt, place, renewal_answer::no_answer());
            case kind::look:
            case kind::release:
                return;
        }
        return;
    }
    const auto& replies = result->replies;
    const protocol::reply& last = replies.back();
    switch (asked.what) {
        case kind::vote: {
            const vote answer = asked.block > 0
                                    ? read_vote(last, from.whom, asked.block)
                                    : read_plain_vote(replies[replies.size() - 2], last, from.whom);
            ++from.votes;
            _answers.voted(key, asked.attempt, place, answer);
            if (answer.what == vote::answer::refused) {
                note_refusal(index, last);
            }
            return;
        }
        case kind::raise: {
            const bool confirmed = read_raise(last);
            _answers.raised(key, asked.attempt, place, asked.raise_to, confirmed);
            if (!confirmed) {
                note_refusal(index, last);
            }
            return;
        }
        case kind::renew: {
            const auto answer = read_renew(last, asked.block);
            _answers.renewed(key, asked.attempt, place, answer);
            if (answer.what == renewal_answer::answer::refused) {
                note_refusal(index, last);
            }
            return;
        }
        case kind::look: {
            const auto seen = read_look(replies[replies.size() - 2], last);
            if (seen) {
                _answers.looked(
                    key, asked.attempt,
                    seen->holder ? std::optional<std::string_view>(*seen->holder) : std::nullopt,
                    seen->remaining ? std::optional<std::chrono::nanoseconds>(*seen->remaining)
                                    : std::nullopt);
            }
            return;
        }
        case kind::release:
            return;
    }
}

void stripe_group::send_release(uint32_t index, const pending_release& release) {
    voter& to = *_voters[index];
    if (!_masters.at(index).is_connected() || to.generation != _masters.at(index).generation()) {
        return keep_for_later(index, release);
    }
    const auto [value, also] = values_of(release.attempt, release.stored.get());
    command_batch commands;
    write_release(commands.append(1), to.scripts, name_on_master(release.database, release.key),
                  value, also);
    auto answered = _masters.at(index).send(
        commands, {.timeout = _options.masters.silence, .only_on = to.generation});
    background(_gate, log, "releasing on a master",
               [this, index, release, answered = std::move(answered)]() mutable {
                   return std::move(answered).then([this, index, release](master_result result) {
                       // It deletes by comparison, so it does no harm if it comes twice.
                       if (!result || !read_release(result->replies.back())) {
                           keep_for_later(index, release);
                       }
                       if (result && !read_release(result->replies.back())) {
                           note_refusal(index, result->replies.back());
                       }
                   });
               });
}

void stripe_group::keep_for_later(uint32_t index, const pending_release& release) {
    voter& to = *_voters[index];
    if (to.unsent.size() == 0) {
        to.resend_at = read_clock() + between_releases;
        to.stirred.signal();
    }
    to.unsent.add(release);
}

ss::future<> stripe_group::send_pending(uint32_t index) {
    for (const pending_release& each : _voters[index]->unsent.take(read_clock())) {
        send_release(index, each);
        co_await ss::coroutine::maybe_yield();
    }
}

std::vector<voter_state> stripe_group::states() const {
    std::vector<voter_state> all;
    auto links = _masters.states();
    for (size_t i = 0; i < _voters.size(); ++i) {
        const voter& one = *_voters[i];
        all.push_back({.link = std::move(links[i]),
                       .standing = one.standing.status(),
                       .reason = std::string(one.standing.reason()),
                       .until = one.standing.until(),
                       .votes = one.votes,
                       .refusals = one.refusals,
                       .epoch_bumps = one.standing.epoch_bumps()});
    }
    return all;
}

}  // namespace lockkeeper::shards
