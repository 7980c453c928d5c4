//! Settings that TCP cannot work with are refused by name.

use super::pipe::*;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::Config;
use switchbed_units::{Bytes, Span};

#[test]
fn impossible_settings_are_refused_by_name() {
    let t = transport;
    let dctcp = |g, alpha_start| {
        marked(CongestionControl::Dctcp(DctcpParams {
            g,
            alpha_start,
            arithmetic: Arithmetic::Exact,
        }))
    };
    let cubic = |c, beta| {
        let (fast_convergence, reno_friendly) = (true, true);
        marked(CongestionControl::Cubic(CubicParams {
            c,
            beta,
            fast_convergence,
            reno_friendly,
            arithmetic: Arithmetic::Exact,
        }))
    };
    let warm = |cwnd, us| Some(Warm { cwnd, srtt: Span::from_us(us) });
    for (settings, key) in [
        (Transport { mss: Bytes::ZERO, ..t() }, "mss"),
        (Transport { mss: Bytes::new(65_536), ..t() }, "mss"),
        (Transport { header: Bytes::new(65_536), ..t() }, "header"),
        (Transport { initial_window: 0, ..t() }, "initial_window"),
        (Transport { initial_ssthresh: 0, ..t() }, "initial_ssthresh"),
        (Transport { receive_window: 0, ..t() }, "receive_window"),
        (Transport { receive_window: 2_941_759, ..t() }, "receive_window"),
        (Transport { ack_every: 0, ..t() }, "ack_every"),
        (Transport { rto_initial: Span::ZERO, ..t() }, "rto_initial"),
        (Transport { ack_delay_max: Span::from_us(499), ..t() }, "ack_delay_max"),
        (Transport { abc_limit: 0, ..t() }, "abc_limit"),
        (Transport { send_buffer: Some(Bytes::new(1_459)), ..t() }, "send_buffer"),
        (Transport { rto_min: Span::ZERO, ..t() }, "rto_min"),
        (Transport { rto_max: Span::from_ms(4), ..t() }, "rto_initial"),
        (Transport { sack_blocks: 4, ..t() }, "sack_blocks"),
        (dctcp(0.0, 1.0), "g"),
        (dctcp(f64::NAN, 1.0), "g"),
        (dctcp(0.1, 1.5), "alpha_start"),
        (cubic(0.0, 0.7), "c"),
        (cubic(0.4, 1.0), "beta"),
        (Transport { warm: warm(0.5, 100), ..t() }, "warm"),
        (Transport { warm: warm(10.0, 0), ..t() }, "warm.srtt"),
    ] {
        let refusal = Config::new(&settings).expect_err(key);
        assert_eq!(refusal.key, key, "{refusal}");
    }
    assert!(Config::new(&Transport { receive_window: 2_941_758, ..t() }).is_ok());
    let refusal = Config::new(&Transport { sack_blocks: 4, ..t() }).unwrap_err();
    assert_eq!(refusal.to_string(), "sack_blocks: it must be a whole number from 0 to 3");
}
