#include "proxy/app.hh"
#include "proxy/command_line.hh"

int main(int argc, char** argv) {
    using namespace lockkeeper::proxy;

    auto wish = read_command_line(argc, argv);
    if (!wish.serve) {
        return wish.exit_code;
    }
    return run(std::move(*wish.serve), argc, argv);
}
