#include "proxy/client_faces.hh"

#include <seastar/core/coroutine.hh>
#include <seastar/core/smp.hh>

#include "proxy/client.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy {

ss::future<std::map<uint64_t, client_face>> faces_of(services& all, std::vector<uint64_t> ids) {
    std::map<uint64_t, client_face> found;
    for (ss::shard_id core = 0; core < ss::smp::count; ++core) {
        std::vector<uint64_t> there;
        for (const uint64_t id : ids) {
            if (id != 0 && core_of_client(id) == core) {
                there.push_back(id);
            }
        }
        if (there.empty()) {
            continue;
        }
        auto more = co_await all.everyone.invoke_on(
            core, [there = std::move(there)](const clients& everyone) {
                std::map<uint64_t, client_face> faces;
                for (const uint64_t id : there) {
                    if (const client* const who = everyone.find(id)) {
                        faces[id] = {
                            .name = who->name, .address = who->peer, .library = who->library_name};
                    }
                }
                return faces;
            });
        found.merge(more);
    }
    co_return found;
}

}  // namespace lockkeeper::proxy
