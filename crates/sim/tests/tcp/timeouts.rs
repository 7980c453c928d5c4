//! The retransmission timeout's settings.

use super::pipe::*;
use switchbed_scenario::transport::*;
use switchbed_units::{Span, Time};

#[test]
fn the_floor_may_be_of_what_the_timeout_adds_to_the_rtt() {
    let rto = |rto_floor| {
        let mut pipe = Pipe::new(&Transport { rto_floor, ..transport() });
        pipe.write(1);
        pipe.run();
        pipe.sender.rto(&pipe.config)
    };
    // An RTT of 100 us, a deviation of 50: four times that is less than 5 ms.
    assert_eq!(rto(RtoFloor::Timeout), Span::from_us(5000));
    assert_eq!(rto(RtoFloor::Variance), Span::from_us(5100));
}

#[test]
fn the_first_syn_timeouts_may_be_alike() {
    let at = |syn_linear_timeouts| {
        let settings = Transport { syn_linear_timeouts, ..transport() };
        let mut pipe = Pipe::fresh(&settings).dropping(&[0, 1, 2, 3, 4, 5]);
        pipe.write(1);
        pipe.run();
        pipe.assert_delivered(1);
        let ms = |at: Time| at.since(Time::ZERO).as_ps() / 1_000_000_000;
        pipe.sent[..7].iter().map(|s| ms(s.0)).collect::<Vec<_>>()
    };
    assert_eq!(at(0), [0, 10, 30, 70, 150, 310, 630]);
    // Linux since 6.5: four more tries a second apart, then as before.
    assert_eq!(at(4), [0, 10, 20, 30, 40, 50, 70]);
}

#[test]
fn a_timeout_in_a_recovery_cuts_again_or_not() {
    // 3 of ten is lost and its retransmission too: thirteen were out when it was found.
    let ssthresh = |timeout_cuts_again| {
        let settings = Transport { timeout_cuts_again, ..transport() };
        let mut pipe = Pipe::new(&settings).dropping(&[3, 18]);
        pipe.write(40);
        pipe.run();
        assert_eq!(pipe.sender.counters().timeouts, 1);
        pipe.sender.ssthresh()
    };
    assert_eq!(ssthresh(false), 6.5);
    assert!(ssthresh(true) < 6.5);
}
