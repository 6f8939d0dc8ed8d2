#include "proxy/scripts/run.hh"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "proxy/scripts/text_memo.hh"
#include "support.hh"

using namespace lockkeeper::proxy;
using namespace lockkeeper::proxy::scripts;
using idioms::operation;
using idioms::role;

namespace {

/// A plausible word for each role.
std::string word_for(role what, size_t index, const world& here) {
    switch (what) {
        case role::owner:
        case role::token:
            return "me";
        case role::value:
            return "me and more";
        case role::token_length:
            return "2";
        case role::write_owner:
            return "me:write";
        case role::owner_groups:
            return index % 2 == 1 ? "1" : "me";
        case role::publish_command:
            return "PUBLISH";
        case role::allow_new:
            return "yes";
        case role::condition:
            return "";
        case role::reentry_error:
            return "NO";
        case role::now_ms:
            return std::to_string(here.wall_ms);
        case role::deadline_ms:
        case role::at_ms:
        case role::wait_until_ms:
            return std::to_string(here.wall_ms + 5000);
        case role::never_ms:
            return "92233720368547758";
        case role::permit_id:
            return "permit " + std::to_string(index);
        case role::limit:
        case role::permits:
            return "2";
        case role::message:
            return "0";
        default:
            return "1000";
    }
}

struct built_call {
    std::vector<std::string> keys;
    std::vector<std::string> arguments;

    built_call(const idioms::known_script& script, const world& here) {
        for (size_t i = 0; i < script.keys.count; ++i) {
            const role what = script.keys.roles[i];
            keys.push_back(what == role::signal_ms ? "1000" : "key" + std::to_string(i) + "{tag}");
        }
        for (size_t i = 0; i < script.arguments.count; ++i) {
            arguments.push_back(word_for(script.arguments.roles[i], i, here));
        }
        if (script.arguments.has(role::owner_groups)) {
            arguments.push_back("me");
        }
    }
    words key_words() const { return {keys.begin(), keys.end()}; }
    words argument_words() const { return {arguments.begin(), arguments.end()}; }
};

template <typename Each>
void for_each_script(Each each) {
    for (const auto& listed : idioms::scripts_by_sha()) {
        each(idioms::to_hex(listed.sha), *listed.script);
    }
    for (const auto& listed : idioms::scripts_by_normal_form()) {
        each("normal form " + idioms::to_hex(listed.sha), *listed.script);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scripts_run)

BOOST_AUTO_TEST_CASE(every_known_script_runs_on_absent_keys_and_then_again) {
    for_each_script([](const std::string& sha, const idioms::known_script& script) {
        world here;
        const built_call call(script, here);
        if (script.op == operation::force_release_all) {
            return;
        }
        for (int round = 0; round < 3; ++round) {
            const std::string reply =
                here.run_script(script, call.key_words(), call.argument_words());
            const bool forbidden = reply == "-ERR NO";
            BOOST_TEST((forbidden || reply == "-ERR ERROR" || reply[0] != '-'),
                       sha << ": " << reply);
        }
    });
}

BOOST_AUTO_TEST_CASE(every_known_script_survives_arguments_that_are_no_numbers) {
    for_each_script([](const std::string&, const idioms::known_script& script) {
        for (const std::string_view word : {"", "x", "0", "-1", "9223372036854775807",
                                            "-9223372036854775808", "99999999999999999999"}) {
            world here;
            const built_call call(script, here);
            for (size_t bad = 0; bad < call.arguments.size(); ++bad) {
                words arguments = call.argument_words();
                here.run_script(script, call.key_words(), arguments);
                arguments[bad] = word;
                here.run_script(script, call.key_words(), arguments);
                BOOST_TEST_REQUIRE(here.table.verify().value_or("") == "");
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(every_known_script_survives_keys_of_the_wrong_type) {
    for_each_script([](const std::string&, const idioms::known_script& script) {
        world shape;
        const built_call call(script, shape);
        for (size_t wrong = 0; wrong < call.keys.size(); ++wrong) {
            for (const char kind : {'s', 'h', 'l'}) {
                world here;
                here.run_script(script, call.key_words(), call.argument_words());
                here.remove(call.keys[wrong]);
                if (kind == 's') {
                    here.set(call.keys[wrong], "no number");
                } else if (kind == 'h') {
                    here.set_hash(call.keys[wrong], "me", "no number");
                } else {
                    here.set_list(call.keys[wrong]);
                }
                here.run_script(script, call.key_words(), call.argument_words());
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(scripts_that_only_read_change_nothing) {
    std::set<operation> reading;
    for_each_script([&](const std::string& sha, const idioms::known_script& script) {
        if (!only_reads(script.op)) {
            return;
        }
        reading.insert(script.op);
        world here;
        const built_call call(script, here);
        for (const std::string& name : call.keys) {
            script.op == operation::read_is_locked ? here.set_hash(name, "mode", "read", 500)
                                                   : here.set(name, "me", 500);
        }
        std::map<std::string, lockkeeper::shards::watch_mark> marks;
        for (const std::string& name : call.keys) {
            marks[name] = here.table.watch(here.key(name), here.now);
        }
        here.run_script(script, call.key_words(), call.argument_words());
        for (const auto& [name, mark] : marks) {
            BOOST_TEST(!here.table.changed_since(here.key(name), mark, here.now), sha);
        }
        BOOST_TEST(here.out.announcements.empty());
    });
    BOOST_TEST(reading.size() == 5u);
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_under_keys_that_do_not_count) {
    for_each_script([](const std::string& sha, const idioms::known_script& script) {
        if (script.op == operation::force_release_all || script.op == operation::read_release ||
            script.op == operation::write_release) {
            return;  // of the latter the latch lies with the lock
        }
        world here;
        const built_call call(script, here);
        const words keys = call.key_words();
        here.run_script(script, keys, call.argument_words());
        here.run_script(script, keys, call.argument_words());
        const auto stored = stored_keys(script, keys);
        for (const std::string_view name : keys) {
            if (std::ranges::find(stored, name) == stored.end()) {
                BOOST_TEST(!here.exists(name), sha << " " << name);
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(channels_prefixes_and_numbers_are_no_stored_keys) {
    const auto stored = [](std::string_view sha, const words& keys) {
        std::string all;
        for (const auto name : stored_keys(script_with(sha), keys)) {
            all += name;
        }
        return all;
    };
    BOOST_TEST(stored("68664592", {"k", "C", "l"}) == "kl");
    BOOST_TEST(stored("67aebbcb", {"k", "C"}) == "k");
    BOOST_TEST(stored("ae7cc25e", {"k", "s", "300"}) == "ks");
    BOOST_TEST(stored("367f80bd", {"k", "q", "W", "C", "l"}) == "kql");
    BOOST_TEST(stored("6e1b10e1", {"k", "C", "H", "S", "L"}) == "k");
    BOOST_TEST(stored("38d2b478", {"k", "P", "m", "R"}) == "km");
    BOOST_TEST(stored("96da70f7", {"a", "b", "c"}) == "abc");
    BOOST_TEST(stored("49babb5a", {"k", "f"}) == "kf");
    BOOST_TEST(stored("992c96b0", {"s", "z", "C"}) == "sz");
    BOOST_TEST(stored("444506ed", {"x", "y"}) == "");
    BOOST_TEST(stored("d1ddef65", {"q", "W"}) == "q");
}

BOOST_AUTO_TEST_CASE(the_probe_for_a_cluster_is_answered_with_nil) {
    world here;
    BOOST_TEST(here.eval("444506ed", {"test1", "test2"}, {}) == "nil");
}

BOOST_AUTO_TEST_CASE(a_renewal_over_two_cores_does_nothing_to_keys_that_are_not_there) {
    world near;
    near.set_hash("a", "me", "1", 100);
    BOOST_TEST(near.eval("6a3d3157", {"a", "far b"}, {"3000", "me", "me"}) == "[:1 :0]");
    BOOST_TEST(!near.exists("far b"));
    BOOST_TEST(is_renewal(operation::reentrant_renew));
    BOOST_TEST(is_renewal(operation::read_renew));
    BOOST_TEST(!is_renewal(operation::extend_all));
}

BOOST_AUTO_TEST_CASE(texts_are_remembered_byte_for_byte) {
    text_memo memo;
    BOOST_TEST(memo.find("") == nullptr);
    memo.remember("return 1", {.sha = idioms::sha1("return 1"), .script = nullptr});
    BOOST_TEST_REQUIRE(memo.find("return 1") != nullptr);
    BOOST_TEST(idioms::to_hex(memo.find("return 1")->sha) ==
               idioms::to_hex(idioms::sha1("return 1")));
    BOOST_TEST(memo.find("return 2") == nullptr);
    memo.remember("return 2", {.sha = idioms::sha1("return 2"), .script = nullptr});
    BOOST_TEST(memo.find("return 1") == nullptr);
    memo.remember(std::string(text_memo::text_bytes_max + 1, 'x'), {});
    BOOST_TEST(memo.find(std::string(text_memo::text_bytes_max + 1, 'x')) == nullptr);
    memo.clear();
    BOOST_TEST(memo.find("return 2") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
