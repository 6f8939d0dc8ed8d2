#include "config/stripes.hh"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "config/nearest.hh"
#include "config/text.hh"

namespace lockkeeper::config {

namespace {

constexpr size_t stripes_max = 64;
/// Every lock asks all of them.
constexpr size_t masters_max = 9;
constexpr size_t name_bytes_max = 64;

constexpr std::string_view shape =
    "needs a name and masters, as in {name: a, masters: [redis://10.0.0.1, ...]}";

/// The name is part of keys on the masters and of log lines.
bool is_name(const std::string& text) {
    const auto plain = [](unsigned char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-' || c == '_' || c == '.';
    };
    return !text.empty() && text.size() <= name_bytes_max && std::ranges::all_of(text, plain);
}

bool same_server(const redis_address& one, const redis_address& other) {
    return one.host == other.host && one.port == other.port;
}

class stripe_reader {
public:
    explicit stripe_reader(const complaint& complain) : _complain(complain) {}

    std::vector<stripe_options> read(const YAML::Node& node) {
        if (!node.IsSequence() || node.size() == 0) {
            _complain(node.Mark(), fmt::format("'stripes' is a list; each entry {}", shape));
            return {};
        }
        if (node.size() > stripes_max) {
            _complain(node.Mark(), fmt::format("{} stripes, at most {}", node.size(), stripes_max));
            return {};
        }
        for (const auto& entry : node) {
            read_stripe(entry);
        }
        return std::move(_stripes);
    }

private:
    void read_stripe(const YAML::Node& node) {
        if (!node.IsMap()) {
            return _complain(node.Mark(), fmt::format("a stripe {}", shape));
        }
        stripe_options stripe;
        bool has_masters = false;
        for (const auto& field : node) {
            const auto word = field.first.as<std::string>();
            if (word == "name") {
                read_name(field.second, stripe);
            } else if (word == "masters") {
                has_masters = true;
                read_masters(field.second, stripe);
            } else {
                constexpr std::string_view known[] = {"name", "masters"};
                const auto meant = nearest(word, known);
                _complain(field.first.Mark(),
                          fmt::format("unknown option '{}' in a stripe{}", word,
                                      meant.empty() ? "; known here: name, masters"
                                                    : fmt::format("; did you mean '{}'?", meant)));
            }
        }
        if (stripe.name.empty() || !has_masters) {
            // A name or masters that were wrong have been complained of already.
            if (!node["name"] || !has_masters) {
                _complain(node.Mark(), fmt::format("a stripe {}", shape));
            }
            return;
        }
        _stripes.push_back(std::move(stripe));
    }

    void read_name(const YAML::Node& node, stripe_options& stripe) {
        if (!node.IsScalar() || !is_name(node.Scalar())) {
            return _complain(node.Mark(),
                             fmt::format("the name of a stripe is 1 to {} letters, digits, '-', "
                                         "'_' or '.'",
                                         name_bytes_max));
        }
        if (std::ranges::find(_stripes, node.Scalar(), &stripe_options::name) != _stripes.end()) {
            return _complain(node.Mark(), fmt::format("there are two stripes '{}': a key could "
                                                      "not tell them apart",
                                                      node.Scalar()));
        }
        stripe.name = node.Scalar();
    }

    void read_masters(const YAML::Node& node, stripe_options& stripe) {
        if (!node.IsSequence() || node.size() == 0) {
            return _complain(node.Mark(),
                             "'masters' needs a list of addresses, as in [redis://10.0.0.1:6379]");
        }
        for (const auto& entry : node) {
            read_master(entry, stripe);
        }
        if (node.size() % 2 == 0) {
            _complain(node.Mark(),
                      fmt::format("{} masters bear no more failures than {} do; use 1, 3 or 5",
                                  node.size(), node.size() - 1));
        } else if (node.size() > masters_max) {
            _complain(node.Mark(), fmt::format("{} masters, at most {}: every lock asks all of "
                                               "them; add stripes instead",
                                               node.size(), masters_max));
        }
    }

    void read_master(const YAML::Node& node, stripe_options& stripe) {
        if (!node.IsScalar()) {
            return _complain(node.Mark(), "a master is one address, as in redis://10.0.0.1:6379");
        }
        auto address = parse_redis_address(node.Scalar());
        if (!address) {
            return _complain(node.Mark(), fmt::format("a master: {}", address.error()));
        }
        const auto is_it = [&address](const redis_address& other) {
            return same_server(*address, other);
        };
        if (std::ranges::any_of(stripe.masters, is_it)) {
            return _complain(node.Mark(),
                             fmt::format("master {}:{} is given twice: it has one vote",
                                         address->host, address->port));
        }
        stripe.masters.push_back(std::move(*address));
    }

    const complaint& _complain;
    std::vector<stripe_options> _stripes;
};

}  // namespace

std::vector<stripe_options> read_stripes(const YAML::Node& node, const complaint& complain) {
    return stripe_reader(complain).read(node);
}

std::string show_stripes(const std::vector<stripe_options>& stripes) {
    std::string text = stripes.empty() ? "" : "stripes:\n";
    for (const stripe_options& stripe : stripes) {
        text += fmt::format("  - name: {}\n    masters:\n", show_text(stripe.name));
        for (const redis_address& master : stripe.masters) {
            text += fmt::format("      - {}\n", show_text(master.show()));
        }
    }
    return text;
}

}  // namespace lockkeeper::config
