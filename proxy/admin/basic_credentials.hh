#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::proxy::admin {

struct basic_credentials {
    std::string user;
    std::string password;
};

/// Of a header `Authorization: Basic BASE64`; nothing if that is something else.
std::optional<basic_credentials> read_credentials(std::string_view header);

}  // namespace lockkeeper::proxy::admin
