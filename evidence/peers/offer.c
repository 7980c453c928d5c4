// Offers a list of frames to an interface at their times and says what came out of another one: how long
// each was on its way, and which were marked. The list has lines of "time_us flow bytes ecn"; frames are
// UDP packets, a port a flow, with their time and number inside. Runs inside the guest of linux_qdiscs.py.
//
//   offer LIST FROM TO

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int open_on(const char* name)
{
    int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP));
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
    to.sll_ifindex = if_nametoindex(name);
    int room = 8 << 20, on = 1;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    if (fd < 0 || bind(fd, (struct sockaddr*)&to, sizeof to) < 0)
    {
        perror(name);
        exit(1);
    }
    return fd;
}

// A frame's header: Ethernet, IPv4, UDP.
static void head(uint8_t* frame, int bytes, int flow, int ecn)
{
    memset(frame, 0, bytes);
    memset(frame, 2, 12);
    frame[12] = 8;
    uint8_t* ip = frame + 14;
    ip[0] = 0x45;
    ip[1] = ecn;
    *(uint16_t*)(ip + 2) = htons(bytes - 14);
    ip[8] = 64;
    ip[9] = 17;
    *(uint32_t*)(ip + 12) = htonl(0x0a000001);
    *(uint32_t*)(ip + 16) = htonl(0x0a000002);
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2)
    {
        sum += ntohs(*(uint16_t*)(ip + i));
    }
    sum = (sum & 0xffff) + (sum >> 16);
    *(uint16_t*)(ip + 10) = htons(~(sum + (sum >> 16)) & 0xffff);
    *(uint16_t*)(ip + 20) = htons(1000 + flow);
    *(uint16_t*)(ip + 22) = htons(9);
    *(uint16_t*)(ip + 24) = htons(bytes - 34);
}

static int64_t received, marked, waited_ns, worst_ns;

static void drain(int fd)
{
    uint8_t frame[2048];
    char control[256];
    struct iovec part = {frame, sizeof frame};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    for (;;)
    {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        ssize_t bytes = recvmsg(fd, &message, MSG_DONTWAIT);
        if (bytes < 0)
        {
            return;
        }
        struct cmsghdr* at = CMSG_FIRSTHDR(&message);
        if (bytes < 60 || at == NULL)
        {
            continue;
        }
        struct timespec* t = (struct timespec*)CMSG_DATA(at);
        int64_t sent;
        memcpy(&sent, frame + 42, sizeof sent);
        int64_t wait = t->tv_sec * 1000000000LL + t->tv_nsec - sent;
        received += 1;
        marked += (frame[15] & 3) == 3;
        waited_ns += wait;
        worst_ns = wait > worst_ns ? wait : worst_ns;
    }
}

int main(int argc, char** argv)
{
    if (argc != 4)
    {
        return 2;
    }
    FILE* list = fopen(argv[1], "r");
    int from = open_on(argv[2]), to = open_on(argv[3]);
    int64_t offered = 0, refused = 0, late_ns = 0, begun = now_ns() + 20000000;
    long long us;
    int flow, bytes, ecn;
    while (fscanf(list, "%lld %d %d %d", &us, &flow, &bytes, &ecn) == 4)
    {
        int64_t at = begun + us * 1000;
        while (now_ns() < at)
        {
            int64_t left = at - now_ns() - 60000;
            struct pollfd in = {.fd = to, .events = POLLIN};
            struct timespec wait = {0, left > 0 ? left : 0};
            ppoll(&in, 1, &wait, NULL);
            drain(to);
        }
        uint8_t frame[2048];
        head(frame, bytes, flow, ecn);
        int64_t sent = now_ns();
        late_ns += sent - at;
        memcpy(frame + 42, &sent, sizeof sent);
        refused += write(from, frame, bytes) < 0;
        offered += 1;
    }
    for (int64_t end = now_ns() + 2000000000LL; now_ns() < end; usleep(1000))
    {
        drain(to);
    }
    printf("{\"offered\": %lld, \"received\": %lld, \"marked\": %lld, \"mean_ms\": %.4f, "
           "\"worst_ms\": %.3f, \"refused\": %lld, \"late_us\": %.1f}\n",
           (long long)offered, (long long)received, (long long)marked, waited_ns / 1e6 / received,
           worst_ns / 1e6, (long long)refused, late_ns / 1e3 / offered);
    return 0;
}
