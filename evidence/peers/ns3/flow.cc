// One flow from host 0 to host 1 through a hub, and what is lost of it: the counterpart of
// evidence/hosts/simulated.py. ns-3's hosts as they are by default, but for what is said here.
//
// Written against ns-3.37 (Debian) and ns-3.44 (the wheel on PyPI).

#include "common.h"

#include <list>
#include <sstream>

using namespace ns3;

namespace
{

uint64_t g_left;
uint32_t g_timeouts = 0;
std::vector<std::pair<double, uint32_t>> g_window;
uint32_t g_segment = 1448;

std::list<uint32_t>
Numbers(const std::string& text)
{
    std::list<uint32_t> found;
    std::stringstream words(text);
    for (std::string word; std::getline(words, word, ',');)
    {
        // ns-3 counts from 0.
        found.push_back(std::stoul(word) - 1);
    }
    return found;
}

void
Lose(Ptr<NetDevice> device, const std::string& text)
{
    Ptr<ReceiveListErrorModel> model = CreateObject<ReceiveListErrorModel>();
    model->SetList(Numbers(text));
    device->SetAttribute("ReceiveErrorModel", PointerValue(model));
}

void
Window(uint32_t, uint32_t bytes)
{
    g_window.emplace_back(Simulator::Now().GetSeconds(), bytes / g_segment);
}

void
State(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
{
    g_timeouts += now == TcpSocketState::CA_LOSS;
}

void
Send(Ptr<Socket> socket, uint32_t)
{
    peer::Write(socket, g_left);
}

void
Start(Ptr<Node> node, Ipv4Address to)
{
    Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->Bind();
    socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Window));
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&State));
    socket->SetConnectCallback(MakeCallback(+[](Ptr<Socket> s) { Send(s, 0); }),
                               MakeNullCallback<void, Ptr<Socket>>());
    socket->SetSendCallback(MakeCallback(&Send));
    socket->Connect(InetSocketAddress(to, peer::PORT));
}

void
Read(Ptr<Socket> socket)
{
    while (socket->Recv())
    {
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t segments = 300;
    uint32_t buffer = 1000;
    std::string control = "cubic";
    std::string rate = "50Mbps";
    std::string lose;
    std::string loseAcks;
    std::string out = "flow";
    bool own = false;
    std::string rtoMin;
    std::string delAck;
    Time rtt = MilliSeconds(20);
    CommandLine cmd(__FILE__);
    cmd.AddValue("segments", "full segments to send", segments);
    cmd.AddValue("buffer", "the bottleneck's, in packets", buffer);
    cmd.AddValue("control", "cubic or reno", control);
    cmd.AddValue("rate", "the bottleneck's", rate);
    cmd.AddValue("lose", "packets of the sender's that are lost, from 1: 3,5", lose);
    cmd.AddValue("lose-acks", "of the receiver's", loseAcks);
    cmd.AddValue("own", "the bottleneck is the sender's own line", own);
    cmd.AddValue("segment", "payload of a full segment", g_segment);
    cmd.AddValue("rto-min", "other than ns-3's", rtoMin);
    cmd.AddValue("del-ack", "packets an ACK, other than ns-3's", delAck);
    cmd.AddValue("out", "beginning of the captures' names", out);
    cmd.Parse(argc, argv);
    g_left = uint64_t(segments) * g_segment;

    peer::SetOwn(control, g_segment);
    Config::SetDefault("ns3::PcapFileWrapper::NanosecMode", BooleanValue(true));
    if (!rtoMin.empty())
    {
        Config::SetDefault("ns3::TcpSocketBase::MinRto", StringValue(rtoMin));
    }
    if (!delAck.empty())
    {
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(std::stoul(delAck)));
    }

    NodeContainer hosts;
    hosts.Create(2);
    Ptr<Node> hub = CreateObject<Node>();
    InternetStackHelper().Install(hosts);
    InternetStackHelper().Install(hub);
    PointToPointHelper link;
    link.SetChannelAttribute("Delay", TimeValue(rtt / 4));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    std::vector<NetDeviceContainer> ends;
    Ipv4Address receiver;
    for (uint32_t i = 0; i < 2; i++)
    {
        link.SetDeviceAttribute("DataRate", StringValue(own ? rate : "1Gbps"));
        ends.push_back(link.Install(hosts.Get(i), hub));
        peer::Card().Install(ends[i].Get(0));
        peer::Card(buffer).Install(ends[i].Get(1));
        Ipv4AddressHelper address;
        std::string net = "10." + std::to_string(i) + ".0.0";
        address.SetBase(net.c_str(), "255.255.255.0");
        receiver = address.Assign(ends[i]).GetAddress(0);
        link.EnablePcap(out + std::to_string(i), ends[i].Get(0), false, true);
    }
    if (!own)
    {
        ends[1].Get(1)->SetAttribute("DataRate", StringValue(rate));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Lose(ends[0].Get(1), lose);
    Lose(ends[1].Get(1), loseAcks);

    Ptr<Socket> listener = Socket::CreateSocket(hosts.Get(1), TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), peer::PORT));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(+[](Ptr<Socket> s, const Address&) {
                                    s->SetRecvCallback(MakeCallback(&Read));
                                }));
    // Later than 0: pcap's first packet.
    Simulator::Schedule(MilliSeconds(1), &Start, hosts.Get(0), receiver);
    Simulator::Stop(Seconds(60));
    Simulator::Run();
    std::cout << "{\"timeouts\":" << g_timeouts << ",\"window\":[";
    for (size_t i = 0; i < g_window.size(); i++)
    {
        std::cout << (i ? "," : "") << "[" << g_window[i].first << "," << g_window[i].second << "]";
    }
    std::cout << "]}" << std::endl;
    Simulator::Destroy();
    return 0;
}
