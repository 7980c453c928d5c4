// TCP flows between the namespaces a and b of a guest, and what the link between them does to each data packet; or
// frames at a load, and how long the processor was busy with them. Runs inside the guest of beside.py.
//
//   link flows SECONDS WARMUP STAGGER_MS LINE_BPS TOS…   a flow for each TOS; prints a line of JSON
//   link load FRAMES_A_SECOND FRAMES                     a line of JSON, too
//
// Data packets are seen on `left` as they come and on `right` as they go, in the namespace mid. LINE_BPS is that of a
// link that hands a packet over when its last bit has left; 0: with its first.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FLOWS = 8, SLOTS = 1 << 16, MOST = 1 << 20, PORT = 5001, FRAME = 1514 };

static void must(int ok, const char* what)
{
    if (!ok)
    {
        perror(what);
        exit(1);
    }
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_until(int64_t at_ns)
{
    struct timespec t = {at_ns / 1000000000, at_ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void enter(const char* name)
{
    char path[64];
    snprintf(path, sizeof path, "/run/netns/%s", name);
    int fd = open(path, O_RDONLY);
    must(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, path);
    close(fd);
}

static struct sockaddr_in address(const char* text, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, text, &to.sin_addr);
    return to;
}

static char buffer[1 << 16];

static void receive(int flow, volatile int64_t* bytes)
{
    enter("b");
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = address("10.0.0.2", PORT + flow);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    must(bind(fd, (void*)&here, sizeof here) == 0 && listen(fd, 1) == 0, "listen");
    int from = accept(fd, NULL, NULL);
    for (ssize_t n; (n = read(from, buffer, sizeof buffer)) > 0;)
    {
        *bytes += n;
    }
    exit(0);
}

static void send_on(int flow, int tos, int64_t at_ns)
{
    enter("a");
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos);
    struct sockaddr_in to = address("10.0.0.2", PORT + flow);
    sleep_until(at_ns);
    must(connect(fd, (void*)&to, sizeof to) == 0, "connect");
    while (write(fd, buffer, sizeof buffer) > 0)
    {
    }
    exit(0);
}

static int listen_on(const char* name)
{
    int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), room = 16 << 20, on = 1;
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    at.sll_ifindex = if_nametoindex(name);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    must(bind(fd, (void*)&at, sizeof at) == 0, name);
    return fd;
}

static struct
{
    uint32_t seq;
    int64_t at_ns;
} came[FLOWS][SLOTS];
static int32_t waits_ns[MOST];
static int64_t arrived, left, marked, counts, unmatched;
static int64_t line_bps;
static int mss = 1448;

static void packet(int out, int flow, uint32_t seq, int length, int ce, int64_t at_ns, int count)
{
    int slot = (seq / 1448) % SLOTS;
    if (!out)
    {
        came[flow][slot].seq = seq;
        came[flow][slot].at_ns = at_ns;
        arrived += count;
        return;
    }
    left += count;
    marked += count && ce;
    if (came[flow][slot].seq != seq || came[flow][slot].at_ns == 0)
    {
        unmatched += count;
        return;
    }
    int64_t wait = at_ns - came[flow][slot].at_ns;
    wait -= line_bps ? length * 8 * 1000000000LL / line_bps : 0;
    if (count && counts < MOST)
    {
        waits_ns[counts++] = wait;
    }
}

// Frames of one socket; one of several segments is several packets.
static void look(int fd, int out, int count)
{
    uint8_t frame[128];
    char control[256];
    struct sockaddr_ll from;
    struct iovec part = {frame, sizeof frame};
    for (;;)
    {
        struct msghdr message = {.msg_name = &from,
                                 .msg_namelen = sizeof from,
                                 .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        ssize_t bytes = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC);
        if (bytes < 0)
        {
            return;
        }
        struct cmsghdr* at = CMSG_FIRSTHDR(&message);
        int is_out = from.sll_pkttype == PACKET_OUTGOING;
        if (bytes < 66 || at == NULL || is_out != out || frame[12] != 8 || frame[13] || frame[23] != 6)
        {
            continue;
        }
        int ip = (frame[14] & 15) * 4, tcp = (frame[14 + ip + 12] >> 4) * 4;
        int flow = ntohs(*(uint16_t*)(frame + 14 + ip + 2)) - PORT;
        int header = 14 + ip + tcp, payload = ntohs(*(uint16_t*)(frame + 16)) - ip - tcp;
        if (flow < 0 || flow >= FLOWS || payload <= 0)
        {
            continue;
        }
        struct timespec* t = (struct timespec*)CMSG_DATA(at);
        int64_t at_ns = t->tv_sec * 1000000000LL + t->tv_nsec;
        uint32_t seq = ntohl(*(uint32_t*)(frame + 14 + ip + 4));
        for (int done = 0; done < payload; done += mss)
        {
            int part_bytes = payload - done < mss ? payload - done : mss;
            packet(out, flow, seq + done, header + part_bytes, (frame[15] & 3) == 3, at_ns, count);
        }
    }
}

static int less(const void* a, const void* b)
{
    int32_t x = *(const int32_t*)a, y = *(const int32_t*)b;
    return (x > y) - (x < y);
}

static int flows(int argc, char** argv)
{
    double seconds = atof(argv[2]), warmup = atof(argv[3]);
    int stagger_ms = atoi(argv[4]), number = argc - 6;
    line_bps = atoll(argv[5]);
    volatile int64_t* bytes =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[2 * FLOWS];
    int64_t begun = now_ns() + 100000000;
    for (int i = 0; i < number; i++)
    {
        if ((children[2 * i] = fork()) == 0)
        {
            receive(i, bytes + i);
        }
        if ((children[2 * i + 1] = fork()) == 0)
        {
            send_on(i, atoi(argv[6 + i]), begun + i * stagger_ms * 1000000LL);
        }
    }
    enter("mid");
    int in = listen_on("left"), out = listen_on("right"), counting = 0;
    int64_t before[FLOWS] = {0};
    for (int64_t now; (now = now_ns()) < begun + (int64_t)(seconds * 1e9);)
    {
        if (!counting && now >= begun + (int64_t)(warmup * 1e9))
        {
            counting = 1;
            for (int i = 0; i < number; i++)
            {
                before[i] = bytes[i];
            }
        }
        usleep(5000);
        look(in, 0, counting);
        look(out, 1, counting);
    }
    printf("OUT {\"goodput_mbps\": [");
    for (int i = 0; i < number; i++)
    {
        double mbps = (bytes[i] - before[i]) * 8 / 1e6 / (seconds - warmup);
        printf("%s%.3f", i ? ", " : "", mbps);
    }
    for (int i = 0; i < 2 * number; i++)
    {
        kill(children[i], SIGKILL);
    }
    qsort(waits_ns, counts, sizeof *waits_ns, less);
    double sum = 0;
    for (int64_t i = 0; i < counts; i++)
    {
        sum += waits_ns[i];
    }
    printf("], \"mean_ms\": %.3f", counts ? sum / counts / 1e6 : 0.0);
    for (int p = 50; p < 100; p += p == 50 ? 40 : 9)
    {
        printf(", \"p%d_ms\": %.3f", p, counts ? waits_ns[counts * p / 100] / 1e6 : 0.0);
    }
    printf(", \"packets\": %lld, \"marked\": %lld, \"lost\": %lld, \"unmatched\": %lld}\n",
           (long long)left, (long long)marked, (long long)(arrived - left), (long long)unmatched);
    return 0;
}

// All of the processor's idle time.
static int64_t idle_ns(void)
{
    char line[256];
    long long found = -1;
    FILE* list = fopen("/proc/timer_list", "r");
    must(list != NULL, "/proc/timer_list");
    while (found < 0 && fgets(line, sizeof line, list) != NULL)
    {
        sscanf(line, " .idle_sleeptime : %lld", &found);
    }
    fclose(list);
    must(found >= 0, "idle_sleeptime");
    return found;
}

static int load(char** argv)
{
    double each_ns = 1e9 / atof(argv[2]);
    long frames = atol(argv[3]);
    enter("a");
    int fd = socket(AF_PACKET, SOCK_RAW, 0);
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = if_nametoindex("eth0")};
    must(bind(fd, (void*)&to, sizeof to) == 0, "eth0");
    uint8_t frame[FRAME] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 2, 0x05, 0xdc,
                            0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 9, 9, 9};
    frame[24] = 0x1b;  // the header's checksum with this TOS
    frame[25] = 0x01;
    uint64_t draw = 88172645463325252ULL;
    int64_t begun = now_ns();
    int64_t idle_before_ns = idle_ns();
    int64_t due = begun;
    for (long i = 0; i < frames; i++)
    {
        draw ^= draw << 13, draw ^= draw >> 7, draw ^= draw << 17;
        due += each_ns * (0.5 + (draw >> 11) * 0x1p-53);
        sleep_until(due);
        frame[35] = i & 3;
        must(write(fd, frame, sizeof frame) == sizeof frame, "write");
    }
    usleep(100000);
    double took_s = (now_ns() - begun) / 1e9;
    printf("OUT {\"frames\": %ld, \"seconds\": %.6f, \"busy_s\": %.6f}\n", frames, took_s,
           took_s - (idle_ns() - idle_before_ns) / 1e9);
    return 0;
}

int main(int argc, char** argv)
{
    if (argc > 6 && argc <= 6 + FLOWS && !strcmp(argv[1], "flows"))
    {
        return flows(argc, argv);
    }
    return argc == 4 && !strcmp(argv[1], "load") ? load(argv) : 2;
}
