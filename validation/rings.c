// What a frame costs that is read from one interface and sent by another, by the ways that Linux has:
//
//   rings forward WAY IN OUT SECONDS   forwards; prints frames and the processor time that they took
//   rings send INTERFACE BYTES SECONDS   sends frames as fast as it can
//
// WAY is mmsg (recvmmsg and send, as the switch has it), sendmmsg (sends many a call too), v3 (reads a
// mapped ring, TPACKET_V3), v3tx (sends by a mapped ring too) or xdp (AF_XDP, copied, both ways).
// validation/rings.py makes the interfaces and runs it.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCH 32
#define LONGEST 2048
#define FRAMES 4096

static void need(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "rings: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double used(void) {
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int wait_for(int fd, int ms) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms);
}

static int packet_socket(void) {
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
    need(fd >= 0, "socket");
    return fd;
}

static void join(int fd, const char *interface, int protocol) {
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(protocol)};
    to.sll_ifindex = if_nametoindex(interface);
    need(to.sll_ifindex && !bind(fd, (void *)&to, sizeof to), interface);
}

static void set(int fd, int name, const void *value, int size, const char *what) {
    need(!setsockopt(fd, SOL_PACKET, name, value, size), what);
}

// Many frames a call, in and out.

static char buffers[BATCH][LONGEST];

static long mmsg(int in, int out, int many, double until) {
    struct mmsghdr got[BATCH], to[BATCH];
    struct iovec parts[BATCH], sent[BATCH];
    struct sockaddr_ll from[BATCH];
    long frames = 0;
    while (now() < until) {
        for (int i = 0; i < BATCH; i++) {
            parts[i] = (struct iovec){buffers[i], LONGEST};
            got[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1,
                                             .msg_name = &from[i], .msg_namelen = sizeof from[i]};
        }
        int n = recvmmsg(in, got, BATCH, MSG_DONTWAIT, 0);
        if (n < 0) {
            wait_for(in, 10);
            continue;
        }
        int m = 0;
        for (int i = 0; i < n; i++) {
            if (from[i].sll_pkttype == PACKET_OUTGOING)
                continue;
            frames++;
            if (many) {
                sent[m] = (struct iovec){buffers[i], got[i].msg_len};
                to[m].msg_hdr = (struct msghdr){.msg_iov = &sent[m], .msg_iovlen = 1};
                m++;
            } else {
                send(out, buffers[i], got[i].msg_len, MSG_DONTWAIT);
            }
        }
        if (m)
            sendmmsg(out, to, m, MSG_DONTWAIT);
    }
    return frames;
}

// Mapped rings of packet sockets.

#define BLOCK (1 << 18)
#define BLOCKS 16

static char *map_in(int fd) {
    int version = TPACKET_V3;
    set(fd, PACKET_VERSION, &version, sizeof version, "TPACKET_V3");
    struct tpacket_req3 ring = {.tp_block_size = BLOCK, .tp_block_nr = BLOCKS,
                                .tp_frame_size = LONGEST, .tp_frame_nr = BLOCK / LONGEST * BLOCKS,
                                .tp_retire_blk_tov = 1};
    set(fd, PACKET_RX_RING, &ring, sizeof ring, "PACKET_RX_RING");
    char *map = mmap(0, (size_t)BLOCK * BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    need(map != MAP_FAILED, "mmap");
    return map;
}

static char *map_out(int fd) {
    int version = TPACKET_V2;
    set(fd, PACKET_VERSION, &version, sizeof version, "TPACKET_V2");
    struct tpacket_req ring = {.tp_block_size = BLOCK, .tp_block_nr = BLOCKS,
                               .tp_frame_size = LONGEST, .tp_frame_nr = BLOCK / LONGEST * BLOCKS};
    set(fd, PACKET_TX_RING, &ring, sizeof ring, "PACKET_TX_RING");
    char *map = mmap(0, (size_t)BLOCK * BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    need(map != MAP_FAILED, "mmap");
    return map;
}

static long v3(int in, char *ring, int out, char *out_ring, double until) {
    long frames = 0;
    int block = 0, place = 0, places = BLOCK / LONGEST * BLOCKS;
    while (now() < until) {
        struct tpacket_block_desc *b = (void *)(ring + (size_t)block * BLOCK);
        if (!(__atomic_load_n(&b->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) {
            wait_for(in, 10);
            continue;
        }
        struct tpacket3_hdr *p = (void *)((char *)b + b->hdr.bh1.offset_to_first_pkt);
        for (unsigned i = 0; i < b->hdr.bh1.num_pkts; i++) {
            struct sockaddr_ll *from = (void *)((char *)p + TPACKET_ALIGN(sizeof *p));
            char *frame = (char *)p + p->tp_mac;
            if (from->sll_pkttype != PACKET_OUTGOING) {
                frames++;
                if (out_ring) {
                    struct tpacket2_hdr *t = (void *)(out_ring + (size_t)place * LONGEST);
                    while (__atomic_load_n(&t->tp_status, __ATOMIC_ACQUIRE) != TP_STATUS_AVAILABLE)
                        send(out, 0, 0, MSG_DONTWAIT);
                    memcpy((char *)t + TPACKET2_HDRLEN - sizeof(struct sockaddr_ll), frame, p->tp_snaplen);
                    t->tp_len = p->tp_snaplen;
                    __atomic_store_n(&t->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
                    place = (place + 1) % places;
                } else {
                    send(out, frame, p->tp_snaplen, MSG_DONTWAIT);
                }
            }
            p = (void *)((char *)p + p->tp_next_offset);
        }
        if (out_ring)
            send(out, 0, 0, MSG_DONTWAIT);
        __atomic_store_n(&b->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        block = (block + 1) % BLOCKS;
    }
    return frames;
}

// AF_XDP: frames stay in one memory and go by their places, through four rings.

struct ring {
    uint32_t *producer, *consumer, *flags;
    void *slots;
};

static char *memory;

static struct ring map_ring(int fd, int name, off_t page, struct xdp_ring_offset *at, int slot) {
    int size = FRAMES;
    need(!setsockopt(fd, SOL_XDP, name, &size, sizeof size), "XDP ring");
    socklen_t length = sizeof(struct xdp_mmap_offsets);
    struct xdp_mmap_offsets offsets;
    need(!getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length), "XDP_MMAP_OFFSETS");
    struct xdp_ring_offset o = *(struct xdp_ring_offset *)((char *)&offsets + (size_t)at);
    char *map = mmap(0, o.desc + (size_t)FRAMES * slot, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_POPULATE, fd, page);
    need(map != MAP_FAILED, "mmap");
    return (struct ring){(void *)(map + o.producer), (void *)(map + o.consumer),
                         (void *)(map + o.flags), map + o.desc};
}

#define RING(fd, name, page, field, slot) \
    map_ring(fd, name, page, (void *)offsetof(struct xdp_mmap_offsets, field), slot)

static long bpf(int command, union bpf_attr *attr) {
    return syscall(SYS_bpf, command, attr, sizeof *attr);
}

// Every frame of the interface's first queue goes to the socket.
static void redirect(int socket, int interface) {
    union bpf_attr map = {.map_type = BPF_MAP_TYPE_XSKMAP, .key_size = 4, .value_size = 4, .max_entries = 1};
    int fd = bpf(BPF_MAP_CREATE, &map);
    need(fd >= 0, "BPF_MAP_CREATE");
    struct bpf_insn program[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 0},
        {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = fd},
        {.code = 0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = XDP_PASS},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr load = {.prog_type = BPF_PROG_TYPE_XDP, .insns = (uintptr_t)program,
                           .insn_cnt = sizeof program / sizeof *program, .license = (uintptr_t) "MIT"};
    int loaded = bpf(BPF_PROG_LOAD, &load);
    need(loaded >= 0, "BPF_PROG_LOAD");
    uint32_t key = 0, value = socket;
    union bpf_attr put = {.map_fd = fd, .key = (uintptr_t)&key, .value = (uintptr_t)&value};
    need(!bpf(BPF_MAP_UPDATE_ELEM, &put), "BPF_MAP_UPDATE_ELEM");
    union bpf_attr link = {.link_create = {.prog_fd = loaded, .target_ifindex = interface,
                                           .attach_type = BPF_XDP, .flags = XDP_FLAGS_DRV_MODE}};
    need(bpf(BPF_LINK_CREATE, &link) >= 0, "BPF_LINK_CREATE");
}

static long xdp(const char *in, const char *out, double seconds) {
    int reader = socket(AF_XDP, SOCK_RAW, 0), writer = socket(AF_XDP, SOCK_RAW, 0);
    need(reader >= 0 && writer >= 0, "AF_XDP");
    memory = mmap(0, (size_t)FRAMES * LONGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct xdp_umem_reg all = {.addr = (uintptr_t)memory, .len = (uint64_t)FRAMES * LONGEST, .chunk_size = LONGEST};
    need(!setsockopt(reader, SOL_XDP, XDP_UMEM_REG, &all, sizeof all), "XDP_UMEM_REG");
    struct ring fill = RING(reader, XDP_UMEM_FILL_RING, XDP_UMEM_PGOFF_FILL_RING, fr, 8);
    // Each socket has all rings of the memory, used or not.
    RING(reader, XDP_UMEM_COMPLETION_RING, XDP_UMEM_PGOFF_COMPLETION_RING, cr, 8);
    struct ring rx = RING(reader, XDP_RX_RING, XDP_PGOFF_RX_RING, rx, sizeof(struct xdp_desc));
    RING(writer, XDP_UMEM_FILL_RING, XDP_UMEM_PGOFF_FILL_RING, fr, 8);
    struct ring done = RING(writer, XDP_UMEM_COMPLETION_RING, XDP_UMEM_PGOFF_COMPLETION_RING, cr, 8);
    struct ring tx = RING(writer, XDP_TX_RING, XDP_PGOFF_TX_RING, tx, sizeof(struct xdp_desc));
    struct sockaddr_xdp to = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY, .sxdp_ifindex = if_nametoindex(in)};
    need(!bind(reader, (void *)&to, sizeof to), in);
    to = (struct sockaddr_xdp){.sxdp_family = AF_XDP, .sxdp_flags = XDP_SHARED_UMEM,
                               .sxdp_ifindex = if_nametoindex(out), .sxdp_shared_umem_fd = reader};
    need(!bind(writer, (void *)&to, sizeof to), out);
    redirect(reader, if_nametoindex(in));
    uint64_t *free_at = fill.slots, *done_at = done.slots;
    struct xdp_desc *came = rx.slots, *go = tx.slots;
    // Half of the memory waits for frames, as the rings are as long as there are frames.
    for (uint32_t i = 0; i < FRAMES / 2; i++)
        free_at[i] = (uint64_t)i * LONGEST;
    __atomic_store_n(fill.producer, FRAMES / 2, __ATOMIC_RELEASE);
    long frames = 0;
    double until = now() + seconds;
    while (now() < until) {
        uint32_t from = *rx.consumer, n = __atomic_load_n(rx.producer, __ATOMIC_ACQUIRE) - from;
        if (n > BATCH)
            n = BATCH;
        if (n) {
            uint32_t at = *tx.producer;
            for (uint32_t i = 0; i < n; i++)
                go[(at + i) % FRAMES] = came[(from + i) % FRAMES];
            __atomic_store_n(rx.consumer, from + n, __ATOMIC_RELEASE);
            __atomic_store_n(tx.producer, at + n, __ATOMIC_RELEASE);
            sendto(writer, 0, 0, MSG_DONTWAIT, 0, 0);
            frames += n;
        }
        // What was sent is free again.
        uint32_t back = *done.consumer, m = __atomic_load_n(done.producer, __ATOMIC_ACQUIRE) - back;
        uint32_t at = *fill.producer;
        for (uint32_t i = 0; i < m; i++)
            free_at[(at + i) % FRAMES] = done_at[(back + i) % FRAMES];
        __atomic_store_n(done.consumer, back + m, __ATOMIC_RELEASE);
        __atomic_store_n(fill.producer, at + m, __ATOMIC_RELEASE);
        if (!n) {
            if (!m)
                sendto(writer, 0, 0, MSG_DONTWAIT, 0, 0);
            wait_for(reader, 1);
        }
    }
    return frames;
}

static int forward(const char *way, const char *in, const char *out, double seconds) {
    double began = now(), before = used();
    long frames;
    if (!strcmp(way, "xdp")) {
        frames = xdp(in, out, seconds);
    } else {
        int reader = packet_socket(), writer = packet_socket(), size = 4 << 20;
        setsockopt(reader, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
        int mapped = !strncmp(way, "v3", 2);
        char *ring = mapped ? map_in(reader) : 0;
        char *out_ring = !strcmp(way, "v3tx") ? map_out(writer) : 0;
        join(reader, in, ETH_P_ALL);
        join(writer, out, 0);
        began = now(), before = used();
        double until = began + seconds;
        frames = mapped ? v3(reader, ring, writer, out_ring, until)
                        : mmsg(reader, writer, !strcmp(way, "sendmmsg"), until);
    }
    printf("{\"way\": \"%s\", \"frames\": %ld, \"used_s\": %.6f, \"wall_s\": %.6f}\n", way, frames,
           used() - before, now() - began);
    return 0;
}

static int flood(const char *interface, int bytes, double seconds) {
    int fd = packet_socket();
    join(fd, interface, 0);
    static const unsigned char head[14] = {2, 0, 0, 0, 0, 7, 2, 9, 9, 9, 9, 9, 0x88, 0xb5};
    memcpy(buffers[0], head, sizeof head);
    struct iovec part = {buffers[0], bytes};
    struct mmsghdr all[BATCH] = {0};
    for (int i = 0; i < BATCH; i++)
        all[i].msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
    long sent = 0;
    double until = now() + seconds;
    while (now() < until) {
        int n = sendmmsg(fd, all, BATCH, 0);
        if (n > 0)
            sent += n;
    }
    printf("%ld\n", sent);
    return 0;
}

int main(int n, char **words) {
    if (n == 6 && !strcmp(words[1], "forward"))
        return forward(words[2], words[3], words[4], atof(words[5]));
    if (n == 5 && !strcmp(words[1], "send"))
        return flood(words[2], atoi(words[3]), atof(words[4]));
    fprintf(stderr, "rings forward WAY IN OUT SECONDS | rings send INTERFACE BYTES SECONDS\n");
    return 2;
}
