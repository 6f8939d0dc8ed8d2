// rediss:// against a redis-server with certificates made here.
#include <fstream>
#include <seastar/core/thread.hh>
#include <seastar/testing/test_case.hh>
#include <seastar/testing/thread_test_case.hh>

#include "tests/support/free_port.hh"
#include "tests/unit/shards/masters/live.hh"

using namespace lockkeeper;
using namespace lockkeeper::shards;
using namespace lockkeeper::tests;

namespace {

/// An authority and a certificate that it has signed for `names`, as in "DNS:localhost".
struct certificates {
    scratch_folder folder;
    std::string authority = (folder.path() / "ca.crt").string();
    std::string server = (folder.path() / "server.crt").string();
    std::string server_key = (folder.path() / "server.key").string();

    explicit certificates(const std::string& names) {
        const std::string authority_key = (folder.path() / "ca.key").string();
        make(authority, authority_key, "/CN=Test Authority",
             {"-addext", "keyUsage=critical,keyCertSign,cRLSign"});
        make(server, server_key, "/CN=Test Redis",
             {"-CA", authority, "-CAkey", authority_key, "-addext", "subjectAltName=" + names,
              "-addext", "basicConstraints=critical,CA:FALSE"});
    }

    static void make(const std::string& certificate, const std::string& key,
                     const std::string& subject, const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"openssl",
                                              "req",
                                              "-x509",
                                              "-newkey",
                                              "ec",
                                              "-pkeyopt",
                                              "ec_paramgen_curve:prime256v1",
                                              "-nodes",
                                              "-days",
                                              "2",
                                              "-batch",
                                              "-subj",
                                              subject,
                                              "-keyout",
                                              key,
                                              "-out",
                                              certificate};
        arguments.insert(arguments.end(), more.begin(), more.end());
        run_command(std::move(arguments));
    }
};

/// A redis-server with TLS on a port of its own.
struct tls_server {
    certificates files;
    uint16_t port = free_port();
    redis_process process;

    explicit tls_server(const std::string& names)
        : files(names),
          process({"--tls-port", std::to_string(port), "--tls-cert-file", files.server,
                   "--tls-key-file", files.server_key, "--tls-auth-clients", "no",
                   "--tls-ca-cert-file", files.authority}) {
        process.start().get();
    }

    redis_master_options options(const std::string& host, const std::string& authority) const {
        auto how = options_for(fmt::format("rediss://{}:{}", host, port));
        how.masters.tls_ca = authority;
        return how;
    }
};

constexpr const char* good_names = "DNS:localhost,IP:127.0.0.1";

}  // namespace

SEASTAR_THREAD_TEST_CASE(a_certificate_of_our_authority_for_the_right_name_is_good) {
    tls_server server(good_names);
    for (const char* host : {"localhost", "127.0.0.1"}) {
        live_master master(server.options(host, server.files.authority));
        master.events.until_connected().get();
        BOOST_TEST(master.ask("PING").text() == "PONG");
        std::vector<ss::future<master_result>> answers;
        for (int i = 0; i < 1'000; ++i) {
            answers.push_back(master.send("ECHO", i));
        }
        for (int i = 0; i < 1'000; ++i) {
            BOOST_REQUIRE(answers[i].get().value().replies[0].text() == std::to_string(i));
        }
    }
}

SEASTAR_THREAD_TEST_CASE(a_certificate_of_another_authority_is_refused) {
    tls_server server(good_names);
    const certificates others(good_names);
    live_master master(server.options("localhost", others.authority));
    master.until_refused("certificate is NOT trusted");
    BOOST_TEST(master.events.connections == 0u);
}

SEASTAR_THREAD_TEST_CASE(without_an_authority_of_ours_the_systems_judge) {
    tls_server server(good_names);
    live_master master(server.options("localhost", ""));
    master.until_refused("certificate is NOT trusted");
    BOOST_TEST(master.events.connections == 0u);
}

SEASTAR_THREAD_TEST_CASE(a_certificate_for_another_name_is_refused) {
    tls_server server("DNS:redis.example,IP:127.0.0.2");
    live_master by_name(server.options("localhost", server.files.authority));
    live_master by_address(server.options("127.0.0.1", server.files.authority));
    by_name.until_refused("does not match");
    by_address.until_refused("does not match");
    BOOST_TEST(by_name.events.connections == 0u);
    BOOST_TEST(by_address.events.connections == 0u);
}

SEASTAR_THREAD_TEST_CASE(a_file_of_authorities_that_is_not_there_is_a_reason) {
    tls_server server(good_names);
    live_master missing(server.options("localhost", "/nowhere/ca.crt"));
    missing.until_refused("masters.tls_ca /nowhere/ca.crt cannot be read");
    const std::string broken = (server.files.folder.path() / "broken.crt").string();
    std::ofstream(broken) << "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";
    live_master nonsense(server.options("localhost", broken));
    nonsense.until_refused(fmt::format("masters.tls_ca {}: ", broken));
    // A key is no certificate.
    live_master wrong(server.options("localhost", server.files.server_key));
    wrong.until_refused(
        fmt::format("masters.tls_ca {} has no certificate", server.files.server_key));
}

SEASTAR_THREAD_TEST_CASE(tls_on_a_plain_port_and_the_reverse_are_refused) {
    tls_server server(good_names);
    auto encrypted = server.options("localhost", server.files.authority);
    encrypted.address.port = server.process.port();
    // What is no command yet may become one, so a plain Redis waits for more.
    encrypted.masters.connect_timeout = 300ms;
    auto plain = server.options("localhost", server.files.authority);
    plain.address.tls = false;
    live_master on_plain(encrypted);
    live_master on_encrypted(plain);
    while (on_plain.link.statistics().failed_attempts < 1 ||
           on_encrypted.link.statistics().failed_attempts < 1) {
        ss::sleep(1ms).get();
    }
    BOOST_TEST(on_plain.events.connections == 0u);
    BOOST_TEST(on_encrypted.events.connections == 0u);
    BOOST_TEST(!on_plain.link.state().last_error.empty());
    BOOST_TEST(!on_encrypted.link.state().last_error.empty());
}

SEASTAR_THREAD_TEST_CASE(a_frozen_peer_does_not_hold_up_the_end) {
    // A TLS session says goodbye when it ends, and would wait for ten seconds to be heard.
    tls_server server(good_names);
    live_master connected(server.options("localhost", server.files.authority));
    connected.events.until_connected().get();
    server.process.freeze();
    live_master greeting(server.options("localhost", server.files.authority));
    const auto before = std::chrono::steady_clock::now();
    connected.link.stop().get();
    greeting.link.stop().get();
    BOOST_TEST((std::chrono::steady_clock::now() - before < 9s));
}
