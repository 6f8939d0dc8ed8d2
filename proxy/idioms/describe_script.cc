// Prints what Lockkeeper makes of Lua texts: one line for each file named on the command line, with
// the columns SHA-1, SHA-1 of the normal form, operation and reply map. The first two are what a
// line of scripts.tsv begins with, so this is the tool for adding a script to that table.

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "proxy/idioms/lua_normal_form.hh"
#include "proxy/idioms/recogniser.hh"

namespace idioms = lockkeeper::proxy::idioms;

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "usage: " << argv[0] << " FILE...\n";
        return 2;
    }
    for (int i = 1; i < argc; ++i) {
        std::ifstream file(argv[i], std::ios::binary);
        if (!file) {
            std::cerr << argv[i] << ": cannot be read\n";
            return 1;
        }
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const auto known = idioms::recognise(text);
        const auto form = idioms::lua_normal_hash(text);
        std::cout << idioms::to_hex(known.sha) << '\t' << (form ? idioms::to_hex(*form) : "-")
                  << '\t';
        if (known.script != nullptr) {
            std::cout << name_of(known.script->op) << '\t' << name_of(known.script->replies)
                      << '\n';
        } else {
            std::cout << "unknown\t-\n";
        }
    }
    return 0;
}
