// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DCTCP (RFC 8257) as a congestion control that the kernel runs as BPF struct_ops, for kernels
// without their own. The kernel cuts the window once a window of data when it sees ECE, to what
// `ssthresh` says; all else grows as Reno does.
//
// Only the fields that are used are declared: where they are, the kernel's own types say when
// this is loaded.

#include <linux/types.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

// The verifier wants a licence that the kernel's functions may be called under.
char _license[] SEC("license") = "Dual MIT/GPL";

#define FIELDS_OF_THE_KERNEL __attribute__((preserve_access_index))

struct sock {
} FIELDS_OF_THE_KERNEL;

struct inet_connection_sock {
	struct {
		__u8 pending;
	} FIELDS_OF_THE_KERNEL icsk_ack;
	__u64 icsk_ca_priv[13];
} FIELDS_OF_THE_KERNEL;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 rcv_nxt;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 delivered;
	__u32 delivered_ce;
	__u8 ecn_flags;
} FIELDS_OF_THE_KERNEL;

enum tcp_ca_event {
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
};

#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_ECN_DEMAND_CWR 4
#define ICSK_ACK_TIMER 2

// Alpha is a fraction of this (RFC 8257, section 3.3: 1 to begin with).
#define ONE 1024
// g = 1/16 (section 4.2).
#define G_SHIFT 4
#define LEAST_WINDOW 2

struct dctcp {
	__u32 alpha;
	// Packets delivered, and those of them marked, when the observation window began.
	__u32 delivered;
	__u32 marked;
	// The sequence number that ends it.
	__u32 ends;
	// What the receiver has taken in as of the last packet, and whether that was marked.
	__u32 taken;
	__u32 marking;
	__u32 before_loss;
};

static struct dctcp *state(struct tcp_sock *tp)
{
	return (struct dctcp *)tp->inet_conn.icsk_ca_priv;
}

static void observe(struct tcp_sock *tp, struct dctcp *ca)
{
	ca->delivered = tp->delivered;
	ca->marked = tp->delivered_ce;
	ca->ends = tp->snd_nxt;
}

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

SEC("struct_ops/init")
void BPF_PROG(sb_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *ca = state(tp);

	ca->alpha = ONE;
	ca->taken = tp->rcv_nxt;
	ca->marking = 0;
	ca->before_loss = 0;
	observe(tp, ca);
}

// Section 3.3, equation 4: cwnd · (1 − alpha/2).
SEC("struct_ops/ssthresh")
__u32 BPF_PROG(sb_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *ca = state(tp);
	__u32 window = tp->snd_cwnd;
	__u32 cut = ((__u64)window * ca->alpha) / (2 * ONE);

	ca->before_loss = window;
	// Never more than the window, whatever alpha has become: the kernel takes it as it is.
	if (cut >= window || window - cut < LEAST_WINDOW)
		return LEAST_WINDOW;
	return window - cut;
}

// Section 3.3, equations 1 to 3: alpha follows the marked part of each window of data.
SEC("struct_ops/in_ack_event")
void BPF_PROG(sb_in_ack_event, struct sock *sk, __u32 flags)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *ca = state(tp);
	__u32 delivered, marked, part;

	if ((__s32)(tp->snd_una - ca->ends) < 0)
		return;
	delivered = tp->delivered - ca->delivered;
	marked = tp->delivered_ce - ca->marked;
	if (delivered == 0)
		delivered = 1;
	if (marked > delivered)
		marked = delivered;
	part = (__u32)(((__u64)marked * ONE) / delivered);
	// A last sixteenth that rounds to nothing goes too: alpha must be able to reach zero.
	if (ca->alpha >> G_SHIFT)
		ca->alpha -= ca->alpha >> G_SHIFT;
	else
		ca->alpha = 0;
	ca->alpha += part >> G_SHIFT;
	if (ca->alpha > ONE)
		ca->alpha = ONE;
	observe(tp, ca);
}

// Section 3.2: ECE says of each packet whether it was marked. When that changes, packets
// received so far and not yet acknowledged are acknowledged as they were.
SEC("struct_ops/cwnd_event")
void BPF_PROG(sb_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *ca = state(tp);
	__u32 marking;

	if (event != CA_EVENT_ECN_IS_CE && event != CA_EVENT_ECN_NO_CE)
		return;
	marking = event == CA_EVENT_ECN_IS_CE;
	if (marking != ca->marking) {
		if (ca->marking)
			tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
		else
			tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
		if (tp->inet_conn.icsk_ack.pending & ICSK_ACK_TIMER)
			bpf_tcp_send_ack(tp, ca->taken);
	}
	ca->marking = marking;
	ca->taken = tp->rcv_nxt;
	if (marking)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(sb_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *ca = state(tp);

	return tp->snd_cwnd > ca->before_loss ? tp->snd_cwnd : ca->before_loss;
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(sb_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC(".struct_ops")
struct tcp_congestion_ops sb_dctcp = {
	.init = (void *)sb_init,
	.ssthresh = (void *)sb_ssthresh,
	.in_ack_event = (void *)sb_in_ack_event,
	.cwnd_event = (void *)sb_cwnd_event,
	.undo_cwnd = (void *)sb_undo_cwnd,
	.cong_avoid = (void *)sb_cong_avoid,
	.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
	.name = "sb_dctcp",
};
