#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <seastar/core/abort_source.hh>
#include <seastar/core/condition-variable.hh>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hh"
#include "shards/core/admission.hh"
#include "shards/core/clock_watch.hh"
#include "shards/core/lease_horizon.hh"
#include "shards/core/pending_releases.hh"
#include "shards/lease_voters.hh"
#include "shards/masters/clock_probe.hh"
#include "shards/masters/master_set.hh"
#include "shards/masters/vote_commands.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// What all groups of a fleet have in common.
struct group_options {
    config::stripe_options stripe;
    config::master_options masters{};
    lease_rules rules{};
    std::string fingerprint;  ///< of the fleet
    std::string proxy;        ///< our id: what the masters call the holder of our leases
    uint32_t number = 0;      ///< of the stripe
};

/// How one master fares, for LK.STRIPES.
struct voter_state {
    master_state link;
    admission::state standing{};
    std::string reason;
    std::optional<instant> until{};
    uint64_t votes = 0;
    uint64_t refusals = 0;
    uint64_t epoch_bumps = 0;
};

/// The masters of one stripe on one core: links to them, whether each may vote, and what leases ask
/// of them. Who may vote is decided by core/admission; a fiber for each master does what it says.
class stripe_group final : public lease_voters, private master_events {
public:
    stripe_group(group_options options, lease_answers& answers);
    virtual ~stripe_group();

    ss::future<> start();
    void request_stop();
    ss::future<> stop();

    const std::string& name() const { return _options.stripe.name; }
    const lease_rules& rules() const override { return _options.rules; }
    voter_set admitted() const override { return _admitted; }
    void carry_out(const lease_action& what, const lock_key& key) override;

    std::vector<voter_state> states() const;

    /// Of the same masters.
    void change_credentials(const config::stripe_options& stripe,
                            const config::master_options& masters) {
        _masters.change_credentials(stripe, masters);
    }

    /// Asks every master that can be reached, whether or not it may vote. The last reply of each
    /// that answered.
    ss::future<std::vector<protocol::reply>> ask_all(command_batch question);
    size_t size() const { return _masters.size(); }
    /// Where the proxies of the fleet register on these masters.
    const std::string& registry_key() const { return _keys.proxies; }

private:
    struct voter;

    // master_events
    void connected(master& from) override;
    void disconnected(master& from, const std::string& why) override;
    void pushed(master&, protocol::reply) override {}

    ss::future<> watch_over(uint32_t index);
    ss::future<> carry_out_step(uint32_t index, admission_step step);
    ss::future<> greet(uint32_t index);
    void fail_step(uint32_t index, std::string why);
    ss::future<std::string> try_to_mark(uint32_t index);
    ss::future<> ask_again(uint32_t index);
    ss::future<> ask_others(uint32_t index, bool counters);
    ss::future<other_master> ask_horizon(uint32_t index);
    ss::future<other_master> ask_counters(uint32_t index);
    ss::future<std::optional<protocol::reply>> ask(uint32_t index, const command_batch& question);
    void on_clock(master& of, link_generation on, const clock_sample& sample);
    void note_standing(uint32_t index);
    void note_refusal(uint32_t index, const protocol::reply& reply);

    bool announce(uint32_t index, std::chrono::milliseconds length);
    void take_mark(uint32_t index, link_generation on, master_result result);
    void hear(uint32_t index, const lease_action& what, const lock_key& key,
              ss::future<master_result> answered);
    void take_answer(uint32_t index, const lease_action& asked, const lock_key& key,
                     master_result result);
    void send_release(uint32_t index, const pending_release& release);
    std::pair<std::string, std::vector<std::string>> values_of(attempt_id attempt,
                                                               const stored_value* stored) const;
    void keep_for_later(uint32_t index, const pending_release& release);
    ss::future<> send_pending(uint32_t index);

    group_options _options;
    lease_answers& _answers;
    stripe_keys _keys;
    master_set _masters;
    std::vector<std::unique_ptr<voter>> _voters;
    voter_set _admitted;
    std::optional<clock_probe> _clocks;
    bool _stopping = false;
    ss::gate _gate;
};

}  // namespace lockkeeper::shards
