# Eight long-lived ECN* senders to one receiver through one switch, in ns-2: the counterpart
# of evidence/peers/star.toml with transport ecn-star. Debian's ns-2 has no DCTCP.
#   ns star.tcl SENDERS K SECONDS
# Prints one line of JSON.

set senders [lindex $argv 0]
set k [lindex $argv 1]
set seconds [lindex $argv 2]

# TCP as the scenario has it: SACK, ECN, an ACK a packet, 1460 bytes and 40 of headers.
Agent/TCP set packetSize_ 1460
Agent/TCP set ecn_ 1
Agent/TCP set old_ecn_ 0
Agent/TCP set window_ 684
Agent/TCP set windowInit_ 16
Agent/TCP set tcpTick_ 0.000001
Agent/TCP set minrto_ 0.01
Agent/TCP set rtxcur_init_ 0.01
Agent/TCP set maxburst_ 0

# Step marking: an arrival that finds K packets or more is marked, never dropped.
Queue set limit_ 1000
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1500
Queue/RED set thresh_ $k
Queue/RED set maxthresh_ $k
Queue/RED set q_weight_ 1
Queue/RED set gentle_ false
Queue/RED set setbit_ true
Queue/RED set use_mark_p_ true
Queue/RED set mark_p_ 2.0

set ns [new Simulator]
set hub [$ns node]
set receiver [$ns node]
$ns simplex-link $hub $receiver 10Gb 25us RED
$ns simplex-link $receiver $hub 10Gb 25us DropTail
$ns queue-limit $hub $receiver 512

set port [[$ns link $hub $receiver] queue]
for {set i 0} {$i < $senders} {incr i} {
    set node [$ns node]
    $ns duplex-link $node $hub 10Gb 25us DropTail
    set tcp($i) [new Agent/TCP/Sack1]
    set sink($i) [new Agent/TCPSink/Sack1]
    $ns attach-agent $node $tcp($i)
    $ns attach-agent $receiver $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [expr $i * 0.00001] "$ftp start"
}

# Every packet crosses two links, and every ACK. The agents count both anyway: what was sent
# and what was acknowledged (an ACK a packet); what is under way at the end does not matter.
proc finish {} {
    global senders tcp seconds
    set data 0
    set acks 0
    for {set i 0} {$i < $senders} {incr i} {
        incr data [$tcp($i) set ndatapack_]
        incr acks [$tcp($i) set nackpack_]
    }
    puts [format {{"goodput_gbps":%.4f,"packet_hops":%d}} \
        [expr $acks * 1460 * 8e-9 / $seconds] [expr 2 * ($data + $acks)]]
    exit 0
}
$ns at $seconds finish
$ns run
