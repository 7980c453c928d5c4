//! Behaviours of hosts that decide results, and the keys that model them.

/// Behaviours of hosts, with the keys that model each (none: it is not modelled) and a remark.
pub(super) const BEHAVIOURS: &[(&str, &[&str], &str)] = &[
    ("congestion control", &["transport.kind"], ""),
    (
        "loss detection and recovery",
        &[
            "transport.loss_detection",
            "transport.lost_in_flight",
            "transport.sack_blocks",
            "transport.timer_slack",
        ],
        "RFC 6675, FACK or RACK with SACK blocks, NewReno (RFC 6582) without",
    ),
    ("tail loss probe", &["transport.tail_loss_probe", "transport.timer_slack"], ""),
    (
        "limited transmit and early retransmit",
        &["transport.limited_transmit", "transport.early_retransmit"],
        "",
    ),
    ("initial window", &["transport.initial_window"], ""),
    ("first slow-start threshold", &["transport.initial_ssthresh"], ""),
    ("slow start by ACKs or by bytes", &["transport.slow_start", "transport.abc_limit"], ""),
    ("early exit from slow start (HyStart)", &["transport.hystart"], ""),
    ("congestion avoidance by ACKs or by bytes", &["transport.avoidance"], ""),
    (
        "growth when the application limits",
        &["transport.grow_when_app_limited", "transport.cwnd_limited"],
        "",
    ),
    (
        "delayed ACKs",
        &["transport.ack_every", "transport.ack_delay", "transport.ack_delay_max"],
        "",
    ),
    (
        "quick ACKs at the start and after idling",
        &["transport.quick_acks", "transport.ack_short", "transport.ack_pushed"],
        "",
    ),
    (
        "retransmission timeout",
        &[
            "transport.rto_initial",
            "transport.rto_min",
            "transport.rto_max",
            "transport.rto_floor",
            "transport.timeout_cuts_again",
        ],
        "RFC 6298; each expiry doubles it",
    ),
    (
        "timeouts of SYNs, and the window after them",
        &[
            "transport.rto_initial",
            "transport.syn_linear_timeouts",
            "transport.one_after_lost_syns",
        ],
        "",
    ),
    (
        "giving up",
        &["transport.syn_retries", "transport.data_retries", "transport.data_retries_by"],
        "a server's SYN-ACKs apart",
    ),
    ("RTT samples", &["transport.rtt_sampling", "transport.rtt_of_syn_ack"], ""),
    (
        "what restarts the retransmission timer",
        &["transport.partial_acks", "transport.sacks_restart_timer"],
        "",
    ),
    ("least window after a cut", &["transport.cut", "transport.mark_least"], ""),
    ("gradual window reduction (rate halving, PRR)", &["transport.reduction"], ""),
    ("what a loss halves", &["transport.loss_halves"], ""),
    ("selective acknowledgements", &["transport.sack_blocks"], ""),
    (
        "ECN on data, ACKs, SYNs and retransmissions",
        &["transport.ecn", "transport.ecn_acks", "transport.ecn_syn", "transport.ecn_retransmits"],
        "",
    ),
    ("ECN given up for a lost SYN", &["transport.ecn_fallback"], ""),
    ("accurate ECN", &["transport.accecn_option"], "with prague"),
    ("kernels' integers", &["transport.alpha", "transport.curve"], ""),
    ("idle restart", &["transport.restart"], ""),
    (
        "socket buffers",
        &["transport.receive_window", "transport.initial_receive_window", "transport.send_buffer"],
        "a sender's is twice its window when it tunes itself, so only its most counts",
    ),
    (
        "TCP small queues",
        &["host.small_queues", "host.small_queue_limit"],
        "bytes on the wire, not the kernel's memory",
    ),
    ("pacing", &["transport.pacing"], "with host.nic = \"fq\" in the card"),
    ("card's queue", &["host.nic", "host.nic_buffer"], ""),
    (
        "segmentation offload",
        &["host.lso", "host.lso_max", "host.lso_beta", "host.lso_autosize", "host.lso_recent"],
        "",
    ),
    ("compressed SACKs", &[], "Linux since 4.18: fewer ACKs while segments are missing"),
    ("receive offload", &["host.merge_packets", "host.merge_time", "host.merge_flush"], ""),
    ("interrupt coalescing", &["host.coalesce_frames", "host.coalesce_time"], ""),
    ("host's delay and jitter", &["host.delay", "host.jitter"], ""),
    (
        "spurious retransmissions undone (F-RTO, Eifel, DSACK)",
        &["transport.dsack", "transport.undo", "transport.frto"],
        "with RACK alone",
    ),
    ("clock granularity", &[], "timers are exact"),
];
