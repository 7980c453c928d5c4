// MQ-ECN's leaf-spine fabric (figure 9) with one queue a port and flows from a list, in
// ns-3: the counterpart of evidence/peers/leaf-spine.toml. `make validate` and `make
// bench-peers` build and run it (evidence/peers/simulators.py); by hand, against Debian's
// libns3-dev and libgsl-dev:
//   g++ -std=c++17 -O3 -DNDEBUG leaf_spine.cc -o leaf_spine \
//     $(pkg-config --cflags --libs ns3-internet ns3-point-to-point ns3-traffic-control)
//   ./leaf_spine --flows=flows.csv --out=fct.csv
//
// The list's columns are start_s, src, dst, size_bytes, path (the spine that a flow's data
// crosses), as evidence/peers/simulators.py writes them. Writes row and completion time of every
// flow that finished, from its start to the arrival of its last byte, the handshake
// included; prints one line of JSON.

#include "common.h"

#include <fstream>
#include <map>
#include <tuple>
#include <unordered_map>

using namespace ns3;

namespace
{

constexpr uint32_t LEAVES = 12;
constexpr uint32_t SPINES = 12;
constexpr uint32_t HOSTS_PER_LEAF = 12;
constexpr uint32_t HOSTS = LEAVES * HOSTS_PER_LEAF;
// Flow r sends from port FIRST_PORT + r, so that every packet names its flow.
constexpr uint16_t FIRST_PORT = peer::PORT + 1;
constexpr size_t MOST_FLOWS = 60000;

struct Flow
{
    double startS;
    uint32_t src;
    uint32_t dst;
    uint64_t size;
    uint32_t path;
    uint64_t unwritten;
    uint64_t received;
    double endS;
};

std::vector<Flow> g_flows;
size_t g_unfinished;
uint32_t g_seed = 1;

Ipv4Address
HostAddress(uint32_t host)
{
    return Ipv4Address(0x0a000001 + host);
}

// The parameter types of a member function. RouteInput takes its callbacks by value in
// ns-3.37 and by reference later; this way one source serves both.
template <typename>
struct Parameters;

template <typename R, typename C, typename... A>
struct Parameters<R (C::*)(A...)>
{
    template <size_t I>
    using At = std::tuple_element_t<I, std::tuple<A...>>;
};

template <size_t I>
using RouteInputArg = Parameters<decltype(&Ipv4RoutingProtocol::RouteInput)>::At<I>;

// Up-down routing over the fabric: a flow's data takes the spine that the list names, its
// ACKs one drawn from a hash of the flow. ns-3's own ECMP draws a spine for each packet.
class FabricRouting : public Ipv4RoutingProtocol
{
  public:
    enum Kind
    {
        HOST,
        LEAF,
        SPINE
    };

    void Place(Kind kind, uint32_t number)
    {
        m_kind = kind;
        m_number = number;
    }

    // Interface i + 1 is port i: interface 0 is the loopback.
    void Finish()
    {
        for (uint32_t i = 0; i < m_ipv4->GetNInterfaces(); i++)
        {
            Ptr<Ipv4Route> route = Create<Ipv4Route>();
            route->SetOutputDevice(m_ipv4->GetNetDevice(i));
            route->SetGateway(Ipv4Address::GetZero());
            m_routes.push_back(route);
        }
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& header, Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOTERROR;
        Ptr<Ipv4Route> route = m_routes[1];
        route->SetSource(m_ipv4->GetAddress(1, 0).GetLocal());
        route->SetDestination(header.GetDestination());
        return route;
    }

    bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice> device,
                    RouteInputArg<3> forward, RouteInputArg<4>, RouteInputArg<5> deliver,
                    RouteInputArg<6>) override
    {
        if (m_kind == HOST)
        {
            deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
            return true;
        }
        uint32_t dst = header.GetDestination().Get() - HostAddress(0).Get();
        uint32_t leaf = dst / HOSTS_PER_LEAF;
        uint32_t port = m_kind == SPINE      ? leaf
                        : leaf == m_number ? dst % HOSTS_PER_LEAF
                                           : HOSTS_PER_LEAF + Spine(packet);
        forward(m_routes[port + 1], packet, header);
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void SetIpv4(Ptr<Ipv4> ipv4) override { m_ipv4 = ipv4; }
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    // TCP's header begins with the source port and the destination port.
    static uint32_t Spine(Ptr<const Packet> packet)
    {
        uint8_t ports[4];
        packet->CopyData(ports, sizeof ports);
        uint16_t from = ports[0] << 8 | ports[1];
        uint16_t to = ports[2] << 8 | ports[3];
        if (to == peer::PORT)
        {
            return g_flows[from - FIRST_PORT].path % SPINES;
        }
        uint32_t hash = (to - FIRST_PORT + 1) * 2654435761U ^ g_seed * 2246822519U;
        hash = (hash ^ hash >> 15) * 3266489917U;
        return (hash ^ hash >> 13) % SPINES;
    }

    Kind m_kind = HOST;
    uint32_t m_number = 0;
    Ptr<Ipv4> m_ipv4;
    std::vector<Ptr<Ipv4Route>> m_routes;
};

class FabricRoutingHelper : public Ipv4RoutingHelper
{
  public:
    FabricRoutingHelper* Copy() const override { return new FabricRoutingHelper(*this); }

    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override { return CreateObject<FabricRouting>(); }
};

void
Place(Ptr<Node> node, FabricRouting::Kind kind, uint32_t number)
{
    auto routing = DynamicCast<FabricRouting>(node->GetObject<Ipv4>()->GetRoutingProtocol());
    routing->Place(kind, number);
    routing->Finish();
}

// Gives a device an address without the address helper, which would add a discipline.
void
AddInterface(Ptr<NetDevice> device, Ipv4Address address)
{
    Ptr<Ipv4> ipv4 = device->GetNode()->GetObject<Ipv4>();
    uint32_t interface = ipv4->AddInterface(device);
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(address, Ipv4Mask::GetOnes()));
    ipv4->SetUp(interface);
}

void
Send(size_t row, Ptr<Socket> socket, uint32_t)
{
    Flow& flow = g_flows[row];
    if (flow.unwritten > 0)
    {
        peer::Write(socket, flow.unwritten);
        if (flow.unwritten == 0)
        {
            socket->Close();
        }
    }
}

void
Connected(size_t row, Ptr<Socket> socket)
{
    Send(row, socket, 0);
}

void
Start(size_t row, Ptr<Node> node)
{
    const Flow& flow = g_flows[row];
    Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(HostAddress(flow.src), FIRST_PORT + row));
    socket->SetConnectCallback(MakeBoundCallback(&Connected, row), MakeNullCallback<void, Ptr<Socket>>());
    socket->SetSendCallback(MakeBoundCallback(&Send, row));
    socket->Connect(InetSocketAddress(HostAddress(flow.dst), peer::PORT));
}

void
Drain(size_t row, Ptr<Socket> socket)
{
    Flow& flow = g_flows[row];
    while (Ptr<Packet> packet = socket->Recv())
    {
        flow.received += packet->GetSize();
    }
    if (flow.received == flow.size && flow.endS < 0)
    {
        flow.endS = Simulator::Now().GetSeconds();
        if (--g_unfinished == 0)
        {
            Simulator::Stop();
        }
    }
}

void
PeerClosed(Ptr<Socket> socket)
{
    socket->Close();
}

void
Accepted(Ptr<Socket> socket, const Address& from)
{
    size_t row = InetSocketAddress::ConvertFrom(from).GetPort() - FIRST_PORT;
    socket->SetRecvCallback(MakeBoundCallback(&Drain, row));
    socket->SetCloseCallbacks(MakeCallback(&PeerClosed), MakeCallback(&PeerClosed));
}

bool
ReadFlows(const std::string& file)
{
    std::ifstream in(file);
    std::string line;
    if (!std::getline(in, line) || line != "start_s,src,dst,size_bytes,path")
    {
        return false;
    }
    Flow flow{};
    flow.endS = -1;
    char comma;
    while (in >> flow.startS >> comma >> flow.src >> comma >> flow.dst >> comma >> flow.size >>
           comma >> flow.path)
    {
        flow.unwritten = flow.size;
        if (flow.src >= HOSTS || flow.dst >= HOSTS || flow.src == flow.dst || flow.size == 0)
        {
            return false;
        }
        g_flows.push_back(flow);
    }
    return in.eof() && !g_flows.empty() && g_flows.size() <= MOST_FLOWS;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string flows;
    std::string out;
    uint32_t k = 65;
    uint32_t buffer = 300000;
    uint32_t card = 1000;
    peer::Tcp tcp;
    tcp.rtoMin = MilliSeconds(5);
    CommandLine cmd(__FILE__);
    cmd.AddValue("flows", "CSV file of the flows", flows);
    cmd.AddValue("out", "CSV file for the completion times", out);
    cmd.AddValue("k", "marking threshold in packets", k);
    cmd.AddValue("buffer", "a switch port's memory in bytes", buffer);
    cmd.AddValue("card", "a host card's memory in packets", card);
    cmd.AddValue("seed", "draws the spines of ACKs", g_seed);
    tcp.AddTo(cmd);
    cmd.Parse(argc, argv);
    if (k < 2 || !tcp.Known())
    {
        std::cerr << "leaf_spine: want --k 2 or more, --tcp dctcp or ecn-star, "
                     "--recovery classic or prr\n";
        return 2;
    }
    if (!ReadFlows(flows))
    {
        std::cerr << "leaf_spine: --flows=" << flows << ": want columns start_s,src,dst,size_bytes,path"
                  << " and 1 to " << MOST_FLOWS << " flows among hosts 0 to " << HOSTS - 1 << "\n";
        return 2;
    }
    tcp.Set();

    NodeContainer hosts;
    NodeContainer leaves;
    NodeContainer spines;
    hosts.Create(HOSTS);
    leaves.Create(LEAVES);
    spines.Create(SPINES);
    InternetStackHelper stack;
    stack.SetRoutingHelper(FabricRoutingHelper());
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();

    // Interfaces come in the order of ports: a leaf's hosts, then the spines. Addresses of
    // switches are never used, but IP wants them.
    PointToPointHelper hostLink = peer::Link(NanoSeconds(20200));
    PointToPointHelper fabricLink = peer::Link(NanoSeconds(200));
    TrafficControlHelper step = peer::StepMarking(k, buffer);
    TrafficControlHelper cardQueue = peer::Card(card);
    uint32_t unused = 0x0b000001;
    for (uint32_t h = 0; h < HOSTS; h++)
    {
        NetDeviceContainer ends = hostLink.Install(hosts.Get(h), leaves.Get(h / HOSTS_PER_LEAF));
        cardQueue.Install(ends.Get(0));
        step.Install(ends.Get(1));
        AddInterface(ends.Get(0), HostAddress(h));
        AddInterface(ends.Get(1), Ipv4Address(unused++));
    }
    for (uint32_t l = 0; l < LEAVES; l++)
    {
        for (uint32_t s = 0; s < SPINES; s++)
        {
            NetDeviceContainer ends = fabricLink.Install(leaves.Get(l), spines.Get(s));
            step.Install(ends);
            AddInterface(ends.Get(0), Ipv4Address(unused++));
            AddInterface(ends.Get(1), Ipv4Address(unused++));
        }
    }
    for (uint32_t h = 0; h < HOSTS; h++)
    {
        Place(hosts.Get(h), FabricRouting::HOST, h);
        Ptr<Socket> listener = Socket::CreateSocket(hosts.Get(h), TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), peer::PORT));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&Accepted));
    }
    for (uint32_t l = 0; l < LEAVES; l++)
    {
        Place(leaves.Get(l), FabricRouting::LEAF, l);
    }
    for (uint32_t s = 0; s < SPINES; s++)
    {
        Place(spines.Get(s), FabricRouting::SPINE, s);
    }

    g_unfinished = g_flows.size();
    for (size_t row = 0; row < g_flows.size(); row++)
    {
        const Flow& flow = g_flows[row];
        Simulator::Schedule(Seconds(flow.startS), &Start, row, hosts.Get(flow.src));
    }
    Simulator::Run();

    std::ofstream fcts(out);
    fcts << "row,fct_s\n";
    fcts.precision(12);
    for (size_t row = 0; row < g_flows.size(); row++)
    {
        if (g_flows[row].endS >= 0)
        {
            fcts << row << "," << g_flows[row].endS - g_flows[row].startS << "\n";
        }
    }
    if (!fcts.flush())
    {
        std::cerr << "leaf_spine: --out=" << out << ": cannot be written\n";
        return 1;
    }
    uint64_t marks = 0;
    uint64_t drops = 0;
    for (uint32_t n = HOSTS; n < NodeList::GetNNodes(); n++)
    {
        Ptr<TrafficControlLayer> control = NodeList::GetNode(n)->GetObject<TrafficControlLayer>();
        for (uint32_t d = 0; d < NodeList::GetNode(n)->GetNDevices(); d++)
        {
            if (Ptr<QueueDisc> disc = control->GetRootQueueDiscOnDevice(NodeList::GetNode(n)->GetDevice(d)))
            {
                marks += disc->GetStats().nTotalMarkedPackets;
                drops += disc->GetStats().nTotalDroppedPackets;
            }
        }
    }
    std::cout << "{\"finished\":" << g_flows.size() - g_unfinished << ",\"marks\":" << marks
              << ",\"drops\":" << drops;
    peer::PrintCost(std::cout);
    Simulator::Destroy();
    return 0;
}
