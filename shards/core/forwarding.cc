#include "shards/core/forwarding.hh"

#include "shards/core/planted.hh"

namespace lockkeeper::shards {

forward_step next_step(order_route route, const lease_place& known) {
    if (route == order_route::here || known.is_here) {
        return forward_step::do_here;
    }
    if (route == order_route::as_home) {
        if (known.is_coming) {
            return forward_step::wait;
        }
        if (known.has_home && planted(fault::forwarded_twice)) {
            return forward_step::send;
        }
        return planted(fault::home_without_lease) ? forward_step::do_here
                                                  : forward_step::say_not_home;
    }
    return known.has_home ? forward_step::send : forward_step::find_out;
}

forward_journey::next forward_journey::on_trouble(forward_trouble why) {
    if (why == forward_trouble::unknown && _rule == if_unknown::tell &&
        !planted(fault::unknown_asked_again)) {
        return next::tell_unknown;
    }
    if (++_troubles >= _most && !planted(fault::journey_without_end)) {
        _route = order_route::here;
        return next::do_here;
    }
    _route = order_route::to_home;
    return next::look_again;
}

void forward_journey::on_moved() {
    _troubles = 0;
    _route = order_route::to_home;
}

}  // namespace lockkeeper::shards
