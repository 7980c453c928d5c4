// A yardstick for a machine whose own speed moves: the textbook's loop, two events a packet-hop
// (transmission done, arrival) in a std::multimap, 768 links, 5,000 packets. What the simulator
// costs, in turn with it, is given in its units (`make bench-core`).
//
// Argument: the number of packet-hops. Prints their processor time in ns each.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <map>
#include <vector>

namespace {

constexpr std::uint64_t TX_NS = 1200, DELAY_NS = 5000;
constexpr std::uint32_t LINKS = 768, PACKETS = 5000;

// The end of a transmission on a link, or a packet's arrival.
struct Event {
    bool sent;
    std::uint32_t of;
};

struct Port {
    std::deque<std::uint32_t> waiting;
    bool busy = false;
};

// Marsaglia's xorshift.
std::uint64_t next(std::uint64_t& x) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

double cpu_ns() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

double run(std::uint64_t hops) {
    std::multimap<std::uint64_t, Event> events;
    std::vector<Port> ports(LINKS);
    std::uint64_t state = 88172645463325252u;
    for (std::uint32_t packet = 0; packet < PACKETS; ++packet)
        events.emplace(next(state) % DELAY_NS, Event{false, packet});
    const double begin = cpu_ns();
    for (std::uint64_t done = 0; done < hops;) {
        const auto first = events.begin();
        const auto [now, event] = *first;
        events.erase(first);
        if (event.sent) {
            Port& port = ports[event.of];
            events.emplace(now + DELAY_NS, Event{false, port.waiting.front()});
            port.waiting.pop_front();
            port.busy = !port.waiting.empty();
            if (port.busy) events.emplace(now + TX_NS, event);
        } else {
            ++done;
            const std::uint32_t link = next(state) % LINKS;
            Port& port = ports[link];
            port.waiting.push_back(event.of);
            if (!port.busy) {
                port.busy = true;
                events.emplace(now + TX_NS, Event{true, link});
            }
        }
    }
    return (cpu_ns() - begin) / hops;
}

}  // namespace

int main(int count, char** words) {
    const std::uint64_t hops = count > 1 ? std::strtoull(words[1], nullptr, 10) : 5'000'000;
    std::printf("%.2f\n", run(hops));
}
