// What both scenarios set so that ns-3 models what Switchbed models, and how both count.
//
// Written against ns-3.37 (Debian) and ns-3.44 (the wheel on PyPI).

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace peer
{

using namespace ns3;

// A full packet without and with PPP's two bytes is 1500 and 1502 bytes.
constexpr uint32_t SEGMENT_BYTES = 1460;
constexpr uint32_t PACKET_BYTES = 1500;
// Where every receiver listens.
constexpr uint16_t PORT = 5000;
// Send and receive buffers. Larger ones make each send slower: it walks all that is in flight.
constexpr uint32_t SOCKET_BYTES = 1000000;

// ns-3's DCTCP with a least window of one packet, which Switchbed has (Linux: two). Without
// one, marks can cut the window below a packet; nothing is in flight then, no ACK can raise
// it, and the sender waits for its retransmission timeout.
class FlooredDctcp : public TcpDctcp
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("peer::FlooredDctcp")
                               .SetParent<TcpDctcp>()
                               .AddConstructor<FlooredDctcp>();
        return id;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t inFlight) override
    {
        return std::max(TcpDctcp::GetSsThresh(state, inFlight), state->m_segmentSize);
    }

    Ptr<TcpCongestionOps> Fork() override { return CopyObject<FlooredDctcp>(this); }
};

struct Tcp
{
    std::string kind = "dctcp";
    // classic: a mark's cut takes effect at once, as Switchbed, RFC 3168 and RFC 8257 have
    // it. prr: ns-3's default, the window comes down over a round trip (RFC 6937).
    std::string recovery = "classic";
    // DCTCP's least window is one packet; otherwise ns-3's own, which has none.
    bool floor = true;
    Time rtoMin = MilliSeconds(10);

    void AddTo(CommandLine& cmd)
    {
        cmd.AddValue("tcp", "dctcp or ecn-star", kind);
        cmd.AddValue("recovery", "how a mark cuts the window: classic (at once) or prr", recovery);
        cmd.AddValue("floor", "dctcp: a window of at least one packet", floor);
        cmd.AddValue("rto-min", "least retransmission timeout, and the first one", rtoMin);
    }

    bool Known() const
    {
        return (kind == "dctcp" || kind == "ecn-star") && (recovery == "classic" || recovery == "prr");
    }

    // ECN* halves its window once a round trip on a mark: Reno with classic ECN.
    void Set() const
    {
        TypeId dctcp = floor ? FlooredDctcp::GetTypeId() : TcpDctcp::GetTypeId();
        TypeId control = kind == "dctcp" ? dctcp : TcpLinuxReno::GetTypeId();
        TypeId cut = recovery == "prr" ? TcpPrrRecovery::GetTypeId() : TcpClassicRecovery::GetTypeId();
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(control));
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(cut));
        Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
        Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
        Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(rtoMin));
        Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
        // TIME_WAIT lasts twice this; end points are searched one by one.
        Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(0.005));
        Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(rtoMin));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(16));
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(SOCKET_BYTES));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(SOCKET_BYTES));
    }
};

// Reno as ours is, without three things of ns-3's: the ACK that ends a recovery counts for all that it
// covers, so that half of the window becomes half and two or three packets (RFC 6582 has ssthresh); the
// ACK that repairs a timeout counts for nothing, so that one packet follows and waits for its delayed
// ACK; and in congestion avoidance packets are counted up to a window, and on after a cut. The last is a
// choice that RFC 5681 leaves: this is its equation 3, for each packet that an ACK covers.
class PlainReno : public TcpLinuxReno
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("peer::PlainReno")
                               .SetParent<TcpLinuxReno>()
                               .AddConstructor<PlainReno>();
        return id;
    }

    void IncreaseWindow(Ptr<TcpSocketState> state, uint32_t acked) override
    {
        auto ended = std::exchange(m_ended, TcpSocketState::CA_OPEN);
        if (ended == TcpSocketState::CA_RECOVERY || !Limited(*state, 0))
        {
            return;
        }
        // An ACK covers two packets at most, but for a repair's last.
        uint32_t least = ended == TcpSocketState::CA_LOSS ? 1 : 0;
        acked = std::clamp(acked, least, 2u);
        if (state->m_cWnd < state->m_ssThresh)
        {
            SlowStart(state, acked);
            return;
        }
        double segment = state->m_segmentSize;
        state->m_cWnd += static_cast<uint32_t>(acked * segment * segment / state->m_cWnd);
    }

    void CongestionStateSet(Ptr<TcpSocketState> state,
                            const TcpSocketState::TcpCongState_t next) override
    {
        bool open = next == TcpSocketState::CA_OPEN;
        m_ended = open ? state->m_congState.Get() : TcpSocketState::CA_OPEN;
        TcpLinuxReno::CongestionStateSet(state, next);
    }

    Ptr<TcpCongestionOps> Fork() override { return CopyObject<PlainReno>(this); }

  private:
    // Whether the window was used up; 3.37 does not ask.
    template <typename State>
    static auto Limited(const State& state, int) -> decltype(bool(state.m_isCwndLimited))
    {
        return state.m_isCwndLimited;
    }
    template <typename State>
    static bool Limited(const State&, long)
    {
        return true;
    }

    // The state that the ACK in question has ended.
    TcpSocketState::TcpCongState_t m_ended{TcpSocketState::CA_OPEN};
};

// PRR as RFC 9937 has it, in place of ns-3.44's, which adds a segment for each duplicate ACK although
// its SACK blocks tell of that segment (section 6.2: only without SACK). What is in flight as it begins
// counts whole, as in RFC 6937 and in ours: RFC 9937 takes off what was SACKed before.
class PlainPrr : public TcpClassicRecovery
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("peer::PlainPrr")
                               .SetParent<TcpClassicRecovery>()
                               .AddConstructor<PlainPrr>();
        return id;
    }

    std::string GetName() const override { return "PlainPrr"; }

    void EnterRecovery(Ptr<TcpSocketState> state, uint32_t, uint32_t flight, uint32_t newly) override
    {
        m_flight = flight;
        m_delivered = m_sent = 0;
        Step(state, newly);
    }

    // 3.37's and 3.44's: each overrides one of these.
    void DoRecovery(Ptr<TcpSocketState> state, uint32_t newly) { Step(state, newly); }
    void DoRecovery(Ptr<TcpSocketState> state, uint32_t newly, bool) { Step(state, newly); }

    void UpdateBytesSent(uint32_t bytes) override { m_sent += bytes; }

    Ptr<TcpRecoveryOps> Fork() override { return CopyObject<PlainPrr>(this); }

  private:
    void Step(Ptr<TcpSocketState> state, int64_t newly)
    {
        if (newly == 0)
        {
            return;
        }
        m_delivered += newly;
        int64_t segment = state->m_segmentSize;
        int64_t threshold = state->m_ssThresh;
        int64_t room = threshold - state->m_bytesInFlight;
        int64_t send = (m_delivered * threshold + m_flight - 1) / m_flight - m_sent;
        if (room >= 0)
        {
            int64_t safe = state->m_isRetransDataAcked ? segment : 0;
            send = std::min(room, std::max(m_delivered - m_sent, newly) + safe);
        }
        send = std::max(send, m_sent == 0 ? segment : 0);
        state->m_cWnd = state->m_bytesInFlight + send;
        state->m_cWndInfl = state->m_cWnd;
    }

    // All in bytes, since the recovery began.
    int64_t m_flight{0};
    int64_t m_delivered{0};
    int64_t m_sent{0};
};

// TCP as ns-3 has it (plain-reno: as ours is), but for a segment that fills a packet with its
// time stamps.
inline void
SetOwn(const std::string& control, uint32_t segment = 1448)
{
    TypeId type = control == "cubic"        ? TcpCubic::GetTypeId()
                  : control == "plain-reno" ? PlainReno::GetTypeId()
                                            : TcpLinuxReno::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(type));
    if (control == "plain-reno")
    {
        TypeId prr = PlainPrr::GetTypeId();
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(prr));
    }
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
}

// A discipline by its name and attributes: "Codel,Interval=10ms,Target=500us".
inline TrafficControlHelper
Aqm(const std::string& text)
{
    std::istringstream words(text);
    std::string word;
    std::getline(words, word, ',');
    ObjectFactory factory("ns3::" + word + "QueueDisc");
    std::string name = factory.GetTypeId().GetName();
    while (std::getline(words, word, ','))
    {
        auto at = word.find('=');
        Config::SetDefault(name + "::" + word.substr(0, at), StringValue(word.substr(at + 1)));
    }
    TrafficControlHelper helper;
    helper.SetRootQueueDisc(name);
    return helper;
}

// A link whose device holds one packet, so that the queue builds in the discipline.
inline PointToPointHelper
Link(Time delay)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    return link;
}

// Marks an arrival if more than k packets' bytes wait, itself counted: RED made a step. RED
// marks at its threshold and above, the arrival not counted, and does not see the packet that
// waits in the device: hence k - 1.
inline TrafficControlHelper
StepMarking(uint32_t k, uint32_t bufferBytes)
{
    double threshold = (k - 1.0) * PACKET_BYTES;
    TrafficControlHelper step;
    step.SetRootQueueDisc("ns3::RedQueueDisc",
                          "MinTh", DoubleValue(threshold), "MaxTh", DoubleValue(threshold),
                          "QW", DoubleValue(1), "Gentle", BooleanValue(false),
                          "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
                          "LInterm", DoubleValue(1), "MeanPktSize", UintegerValue(PACKET_BYTES),
                          "LinkBandwidth", StringValue("10Gbps"),
                          "LinkDelay", TimeValue(MicroSeconds(25)),
                          "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, bufferBytes)));
    return step;
}

// A host's card: it never marks.
inline TrafficControlHelper
Card(uint32_t packets = 1000)
{
    TrafficControlHelper plain;
    plain.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
    return plain;
}

// Writes up to `left` bytes, as many as the socket's buffer takes; `left` becomes the rest.
inline void
Write(Ptr<Socket> socket, uint64_t& left)
{
    while (left > 0 && socket->GetTxAvailable() > 0)
    {
        uint64_t chunk = std::min<uint64_t>({left, socket->GetTxAvailable(), 10 * SEGMENT_BYTES});
        if (socket->Send(Create<Packet>(chunk)) < 0)
        {
            return;
        }
        left -= chunk;
    }
}

// Packets that left a port, all ports and ACKs counted: what went into the devices' queues
// and is there no more. ns-3 keeps these figures anyway, so counting costs nothing.
inline uint64_t
PacketHops()
{
    uint64_t hops = 0;
    for (uint32_t n = 0; n < NodeList::GetNNodes(); n++)
    {
        Ptr<Node> node = NodeList::GetNode(n);
        for (uint32_t d = 0; d < node->GetNDevices(); d++)
        {
            if (auto port = DynamicCast<PointToPointNetDevice>(node->GetDevice(d)))
            {
                hops += port->GetQueue()->GetTotalReceivedPackets() - port->GetQueue()->GetNPackets();
            }
        }
    }
    return hops;
}

// What a run cost so far, as the end of a JSON object: processor time of the whole process,
// and the peak of its memory.
inline void
PrintCost(std::ostream& out)
{
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    out << ",\"packet_hops\":" << PacketHops() << ",\"events\":" << Simulator::GetEventCount()
        << ",\"cpu_s\":" << static_cast<double>(std::clock()) / CLOCKS_PER_SEC
        << ",\"peak_rss_bytes\":" << used.ru_maxrss * 1024 << "}" << std::endl;
}

} // namespace peer
