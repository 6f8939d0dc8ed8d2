#include "config/patterns.hh"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace lockkeeper::config {

namespace {

/// Keys of commands are held against patterns one after the other, and the time that takes grows
/// with the lengths of both.
constexpr size_t pattern_bytes_max = 256;

}  // namespace

std::optional<std::string> read_pattern(const YAML::Node& node, std::string_view option,
                                        const complaint& complain) {
    if (!node.IsScalar() || node.Scalar().empty() || node.Scalar().size() > pattern_bytes_max) {
        complain(node.Mark(), fmt::format("a pattern of '{}' is text of 1 to {} bytes", option,
                                          pattern_bytes_max));
        return std::nullopt;
    }
    return node.Scalar();
}

}  // namespace lockkeeper::config
