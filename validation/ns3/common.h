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

// Reno whose window does not grow for what a recovery repaired: an ACK counts for no more
// segments than a receiver that delays ACKs lets it cover. ns-3's counts for all that it covers,
// and so adds two or three packets to half of the window as a recovery ends.
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
        TcpLinuxReno::IncreaseWindow(state, std::min(acked, 2u));
    }

    Ptr<TcpCongestionOps> Fork() override { return CopyObject<PlainReno>(this); }
};

// TCP as ns-3 has it, but for a segment that fills a packet with its time stamps.
inline void
SetOwn(const std::string& control, uint32_t segment = 1448)
{
    TypeId type = control == "reno"         ? TcpLinuxReno::GetTypeId()
                  : control == "plain-reno" ? PlainReno::GetTypeId()
                                            : TcpCubic::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(type));
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
