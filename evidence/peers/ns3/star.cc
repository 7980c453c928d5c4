// N long-lived DCTCP or ECN* senders to one receiver through one switch, in ns-3: the
// counterpart of evidence/peers/star.toml. `make validate` and `make bench-peers` build and
// run it (evidence/peers/simulators.py); by hand, against Debian's libns3-dev and libgsl-dev:
//   g++ -std=c++17 -O3 -DNDEBUG star.cc -o star \
//     $(pkg-config --cflags --libs ns3-internet ns3-point-to-point ns3-traffic-control)
//   ./star --senders=8 --k=65 --tcp=dctcp
//
// Prints one line of JSON. Queue lengths are packets waiting at the switch's port to the
// receiver: the discipline's and the device queue's one, not the packet on the wire.

#include "common.h"

using namespace ns3;

namespace
{

std::vector<uint64_t> g_received;
std::vector<uint32_t> g_samples;
uint64_t g_cuts;

// Counts windows cut for marks.
void
StateChanged(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
{
    g_cuts += now == TcpSocketState::CA_CWR;
}

// Keeps a sender's buffer full.
void
Fill(Ptr<Socket> socket, uint32_t)
{
    uint64_t endless = UINT64_MAX;
    peer::Write(socket, endless);
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
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&StateChanged));
    socket->Connect(InetSocketAddress(to, peer::PORT));
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
    uint32_t buffer = 768000;
    Time warmup = MilliSeconds(50);
    Time end = MilliSeconds(250);
    Time sampling = MicroSeconds(1);
    std::string rate = "10Gbps";
    Time stagger = MicroSeconds(10);
    Time delay = MicroSeconds(25);
    std::string own;
    std::string aqm;
    Time longer = Seconds(0);
    peer::Tcp tcp;
    CommandLine cmd(__FILE__);
    cmd.AddValue("senders", "senders, at most 200", senders);
    cmd.AddValue("k", "marking threshold in packets", k);
    cmd.AddValue("buffer", "the switch port's memory in bytes", buffer);
    cmd.AddValue("warmup", "time before measuring", warmup);
    cmd.AddValue("end", "simulated time", end);
    cmd.AddValue("sampling", "interval of the queue's samples; 0s: none", sampling);
    cmd.AddValue("rate", "every link's rate", rate);
    cmd.AddValue("stagger", "time from one sender's start to the next's", stagger);
    cmd.AddValue("longer", "so much longer is the last sender's link than the others", longer);
    cmd.AddValue("delay", "a link's, one way", delay);
    cmd.AddValue("own", "cubic or reno as ns-3 has them, or plain-reno, and plain queues; not --tcp", own);
    cmd.AddValue("aqm", "a discipline at the hub: Codel,Interval=10ms,Target=500us", aqm);
    tcp.AddTo(cmd);
    cmd.Parse(argc, argv);
    if (senders < 1 || senders > 200 || k < 2 || end <= warmup || !tcp.Known())
    {
        std::cerr << "star: want --senders 1 to 200, --k 2 or more, --end after --warmup, "
                     "--tcp dctcp or ecn-star, --recovery classic or prr\n";
        return 2;
    }
    if (own.empty())
    {
        tcp.Set();
    }
    else
    {
        peer::SetOwn(own);
    }

    NodeContainer hosts;
    hosts.Create(senders + 1);
    Ptr<Node> hub = CreateObject<Node>();
    InternetStackHelper().Install(hosts);
    InternetStackHelper().Install(hub);

    // Base RTT: four links, two each way. Addresses come after the disciplines: the address
    // helper installs a default one where there is none.
    PointToPointHelper link = peer::Link(delay);
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    Ptr<QueueDisc> disc;
    Ptr<NetDevice> port;
    Ipv4Address receiver;
    for (uint32_t i = 0; i <= senders; i++)
    {
        link.SetChannelAttribute("Delay", TimeValue(i + 1 == senders ? delay + longer : delay));
        NetDeviceContainer ends = link.Install(hosts.Get(i), hub);
        peer::Card().Install(ends.Get(0));
        QueueDiscContainer discs = (!aqm.empty() ? peer::Aqm(aqm) : own.empty() ? peer::StepMarking(k, buffer) : peer::Card(buffer / peer::PACKET_BYTES)).Install(ends.Get(1));
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
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), peer::PORT));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&Accepted));
    for (uint32_t i = 0; i < senders; i++)
    {
        Simulator::Schedule(i * stagger, &Start, hosts.Get(i), receiver);
    }
    std::vector<uint64_t> before(senders, 0);
    uint64_t marks = 0;
    uint64_t drops = 0;
    Simulator::Schedule(warmup, [&]() {
        before = g_received;
        g_cuts = 0;
        if (!aqm.empty())
        {
            marks = disc->GetStats().nTotalMarkedPackets;
            drops = disc->GetStats().nTotalDroppedPackets;
        }
    });
    if (!sampling.IsZero())
    {
        Simulator::Schedule(warmup, &Sample, disc, port, sampling);
    }
    Simulator::Stop(end);
    Simulator::Run();

    double sum = 0;
    double squares = 0;
    for (uint32_t i = 0; i < senders; i++)
    {
        double gbps = (g_received[i] - before[i]) * 8e-9 / (end - warmup).GetSeconds();
        sum += gbps;
        squares += gbps * gbps;
    }
    std::cout << "{\"goodput_gbps\":" << sum
              << ",\"jain\":" << (squares > 0 ? sum * sum / (senders * squares) : 1)
              << ",\"cuts\":" << g_cuts << ",\"marks\":" << disc->GetStats().nTotalMarkedPackets - marks
              << ",\"drops\":" << disc->GetStats().nTotalDroppedPackets - drops;
    if (!g_samples.empty())
    {
        double total = 0;
        for (uint32_t sample : g_samples)
        {
            total += sample;
        }
        std::sort(g_samples.begin(), g_samples.end());
        std::cout << ",\"queue_mean_pkt\":" << total / g_samples.size()
                  << ",\"queue_p99_pkt\":" << g_samples[g_samples.size() * 99 / 100];
    }
    peer::PrintCost(std::cout);
    Simulator::Destroy();
    return 0;
}
