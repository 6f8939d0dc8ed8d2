#pragma once

#include <string_view>

/// The files of proxy/admin/page, as they are; embed.py puts them into the program.
namespace lockkeeper::proxy::admin {

std::string_view page_html();
std::string_view page_css();
std::string_view page_js();

}  // namespace lockkeeper::proxy::admin
