// N long-lived DCTCP or ECN* senders to one receiver through one switch, in ns-3.
//
// Build (Debian's libns3-dev 3.37, libgsl-dev, pkg-config):
//   g++ -std=c++17 -O3 -DNDEBUG star.cc -o star \
//     $(pkg-config --cflags --libs ns3-internet ns3-point-to-point ns3-traffic-control)
// Run: ./star --senders=8 --k=65 --tcp=dctcp
//
// Prints one line of JSON. Queue lengths are packets waiting at the switch's port to the
// receiver: the discipline's and the device queue's one, not the packet on the wire.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <iostream>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;

std::vector<uint64_t> g_received;
std::vector<uint32_t> g_samples;

// Keeps a sender's buffer full.
void
Fill(Ptr<Socket> socket, uint32_t)
{
    while (socket->GetTxAvailable() > 0)
    {
        if (socket->Send(Create<Packet>(std::min<uint32_t>(socket->GetTxAvailable(), 14600))) < 0)
        {
            return;
        }
    }
}

void
Connected(Ptr<Socket> socket)
{
    Fill(socket, 0);
}

void
Start(Ptr<Node> node, Ipv4Address to)
{
    Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->SetConnectCallback(MakeCallback(&Connected), MakeNullCallback<void, Ptr<Socket>>());
    socket->SetSendCallback(MakeCallback(&Fill));
    socket->Connect(InetSocketAddress(to, PORT));
}

void
Drain(uint32_t sender, Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        g_received[sender] += packet->GetSize();
    }
}

// Sender i has the address 10.i.0.1 (i from 0), so the address names the sender.
void
Accepted(Ptr<Socket> socket, const Address& from)
{
    uint32_t address = InetSocketAddress::ConvertFrom(from).GetIpv4().Get();
    socket->SetRecvCallback(MakeBoundCallback(&Drain, (address >> 16) & 0xff));
}

void
Sample(Ptr<QueueDisc> disc, Ptr<NetDevice> device, Time every)
{
    auto port = DynamicCast<PointToPointNetDevice>(device);
    g_samples.push_back(disc->GetNPackets() + port->GetQueue()->GetNPackets());
    Simulator::Schedule(every, &Sample, disc, device, every);
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t senders = 8;
    uint32_t k = 65;
    std::string tcp = "dctcp";
    uint32_t window = 16;
    double warmup = 0.05;
    double end = 0.25;
    CommandLine cmd(__FILE__);
    cmd.AddValue("senders", "senders, at most 200", senders);
    cmd.AddValue("k", "marking threshold in packets", k);
    cmd.AddValue("tcp", "dctcp or ecnstar", tcp);
    cmd.AddValue("window", "initial window in packets", window);
    cmd.AddValue("warmup", "seconds before measuring", warmup);
    cmd.AddValue("end", "seconds of simulated time", end);
    cmd.Parse(argc, argv);
    if (senders < 1 || senders > 200 || (tcp != "dctcp" && tcp != "ecnstar") || end <= warmup)
    {
        std::cerr << "star: want --senders 1 to 200, --tcp dctcp or ecnstar, --end after --warmup\n";
        return 2;
    }

    // ECN* halves its window once a round trip on a mark: NewReno with classic ECN.
    TypeId kind = tcp == "dctcp" ? TypeId::LookupByName("ns3::TcpDctcp")
                                 : TypeId::LookupByName("ns3::TcpLinuxReno");
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(kind));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1000000));

    NodeContainer hosts;
    hosts.Create(senders + 1);
    Ptr<Node> hub = CreateObject<Node>();
    InternetStackHelper().Install(hosts);
    InternetStackHelper().Install(hub);

    // Base RTT 100 us: four links of 25 us propagation, two each way.
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(25)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));

    // Step marking on the queue's length before the arriving packet, at K and above.
    TrafficControlHelper step;
    step.SetRootQueueDisc("ns3::RedQueueDisc",
                          "MinTh", DoubleValue(k), "MaxTh", DoubleValue(k),
                          "QW", DoubleValue(1), "Gentle", BooleanValue(false),
                          "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
                          "LInterm", DoubleValue(1), "MeanPktSize", UintegerValue(1500),
                          "LinkBandwidth", StringValue("10Gbps"),
                          "LinkDelay", TimeValue(MicroSeconds(25)),
                          "MaxSize", StringValue("10000p"));
    TrafficControlHelper plain;
    plain.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("10000p"));

    Ptr<QueueDisc> disc;
    Ptr<NetDevice> port;
    Ipv4Address receiver;
    for (uint32_t i = 0; i <= senders; i++)
    {
        NetDeviceContainer ends = link.Install(hosts.Get(i), hub);
        plain.Install(ends.Get(0));
        QueueDiscContainer discs = i == senders ? step.Install(ends.Get(1)) : plain.Install(ends.Get(1));
        Ipv4AddressHelper address;
        std::string net = "10." + std::to_string(i) + ".0.0";
        address.SetBase(net.c_str(), "255.255.255.0");
        Ipv4InterfaceContainer interfaces = address.Assign(ends);
        if (i == senders)
        {
            disc = discs.Get(0);
            port = ends.Get(1);
            receiver = interfaces.GetAddress(0);
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    g_received.assign(senders, 0);
    Ptr<Socket> listener = Socket::CreateSocket(hosts.Get(senders), TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&Accepted));
    for (uint32_t i = 0; i < senders; i++)
    {
        Simulator::Schedule(MicroSeconds(10 * i), &Start, hosts.Get(i), receiver);
    }
    std::vector<uint64_t> before;
    Simulator::Schedule(Seconds(warmup), [&before]() { before = g_received; });
    Simulator::Schedule(Seconds(warmup), &Sample, disc, port, MicroSeconds(1));
    Simulator::Stop(Seconds(end));
    Simulator::Run();

    double sum = 0;
    double squares = 0;
    std::cout << "{\"goodput_gbps\":[";
    for (uint32_t i = 0; i < senders; i++)
    {
        double gbps = (g_received[i] - before[i]) * 8e-9 / (end - warmup);
        sum += gbps;
        squares += gbps * gbps;
        std::cout << (i ? "," : "") << gbps;
    }
    double total = 0;
    for (uint32_t sample : g_samples)
    {
        total += sample;
    }
    std::sort(g_samples.begin(), g_samples.end());
    std::cout << "],\"goodput_total_gbps\":" << sum
              << ",\"jain\":" << (squares > 0 ? sum * sum / (senders * squares) : 0)
              << ",\"queue_mean\":" << total / g_samples.size()
              << ",\"queue_p99\":" << g_samples[g_samples.size() * 99 / 100]
              << ",\"marks\":" << disc->GetStats().nTotalMarkedPackets
              << ",\"drops\":" << disc->GetStats().nTotalDroppedPackets << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
