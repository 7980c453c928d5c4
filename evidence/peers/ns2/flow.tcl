# One flow from host 0 to host 1 through a hub, and what is lost of it: the counterpart of
# evidence/hosts/simulated.py.
#   ns flow.tcl KIND SEGMENTS RATE BUFFER OWN LOSE LOSE-ACKS TRACE SETTINGS
# KIND is sack1 or fulltcp; LOSE and LOSE-ACKS are lists of packets from 1,
# as "{3 5}"; SETTINGS is Tcl. Writes a trace of both hosts' links and prints a line of JSON.

foreach {kind segments rate buffer own lose lose_acks out settings} $argv break

# Its own window of 20 packets, and FullTcp's segments of 536 bytes, would hide what is to be seen.
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 1000
Agent/TCP/FullTcp set segsize_ 1460
Trace set show_tcphdr_ 1

set ns [new Simulator]
set trace [open $out w]
foreach i {0 1} { set host($i) [$ns node] }
set hub [$ns node]
foreach i {0 1} {
    $ns duplex-link $host($i) $hub [expr {$own ? $rate : "1Gb"}] 5ms DropTail
    $ns queue-limit $host($i) $hub 1000
    $ns queue-limit $hub $host($i) $buffer
    $ns trace-queue $host($i) $hub $trace
    $ns trace-queue $hub $host($i) $trace
}
if {!$own} { [[$ns link $hub $host(1)] link] set bandwidth_ $rate }

# ns-2 counts from 0.
proc lose {numbers from to} {
    global ns
    if {[llength $numbers] == 0} return
    set list {}
    foreach number $numbers { lappend list [expr $number - 1] }
    set model [new ErrorModel/List]
    $model droplist $list
    $model drop-target [new Agent/Null]
    $ns lossmodel $model $from $to
}
lose $lose $host(0) $hub
lose $lose_acks $host(1) $hub

# An experiment may set another than these.
set agent Agent/TCP/Sack1
set taker Agent/TCPSink/Sack1
eval $settings
if {$kind eq "sack1"} {
    set tcp [new $agent]
    set sink [new $taker]
} else {
    set tcp [new Agent/TCP/FullTcp/Sack]
    set sink [new Agent/TCP/FullTcp/Sack]
}
$ns attach-agent $host(0) $tcp
$ns attach-agent $host(1) $sink
$ns connect $tcp $sink
if {$kind eq "sack1"} {
    # The first is the SYN.
    $ns at 0.001 "$tcp advance [expr $segments + 1]"
} else {
    $sink listen
    $ns at 0.001 "$tcp advance-bytes [expr $segments * 1460]"
}
set windows {}
proc window {} {
    global ns tcp windows
    lappend windows [format {[%.3f,%d]} [$ns now] [expr int([$tcp set cwnd_])]]
    $ns at [expr [$ns now] + 0.001] window
}
$ns at 0.002 window
proc finish {} {
    global ns tcp trace windows
    $ns flush-trace
    close $trace
    puts "{\"timeouts\":[$tcp set nrexmit_],\"window\":\[[join $windows ,]\]}"
    exit 0
}
$ns at 20.0 finish
$ns run
