// A list of packets through a queueing discipline of ns-3, each at its time, onto a line of 10 Mbps: the
// counterpart of crates/live/examples/offered.rs and of evidence/peers/offer.c. evidence/peers/offered.py builds
// and runs it. The list has lines of "time_us flow bytes ecn".
//
//   offered LIST DISCIPLINE [ATTRIBUTE=VALUE …]
//
// The discipline is fed directly: no transport, no device queue. Prints one line of JSON.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <fstream>
#include <iostream>

using namespace ns3;

namespace
{

Ptr<QueueDisc> g_disc;
bool g_busy = false;
uint64_t g_offered = 0;
uint64_t g_received = 0;
uint64_t g_marked = 0;
double g_waited = 0;
double g_worst = 0;

void
Send()
{
    auto item = DynamicCast<Ipv4QueueDiscItem>(g_disc->Dequeue());
    g_busy = bool(item);
    if (!item)
    {
        return;
    }
    Time line = MicroSeconds(1) * (item->GetSize() * 8) / 10;
    double waited = (Simulator::Now() + line - item->GetTimeStamp()).GetSeconds();
    g_received++;
    g_marked += item->GetHeader().GetEcn() == Ipv4Header::ECN_CE;
    g_waited += waited;
    g_worst = std::max(g_worst, waited);
    Simulator::Schedule(line, &Send);
}

void
Arrive(uint16_t flow, uint32_t bytes, uint8_t ecn)
{
    Ipv4Header header;
    header.SetSource(Ipv4Address("10.0.0.1"));
    header.SetDestination(Ipv4Address("10.0.0.2"));
    header.SetProtocol(17);
    header.SetEcn(Ipv4Header::EcnType(ecn));
    auto packet = Create<Packet>(bytes - 28);
    UdpHeader ports;
    ports.SetSourcePort(1000 + flow);
    ports.SetDestinationPort(9);
    packet->AddHeader(ports);
    header.SetPayloadSize(packet->GetSize());
    g_offered++;
    g_disc->Enqueue(Create<Ipv4QueueDiscItem>(packet, Address(), 0x0800, header));
    if (!g_busy)
    {
        Send();
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    ObjectFactory factory("ns3::" + std::string(argv[2]) + "QueueDisc");
    for (int i = 3; i < argc; i++)
    {
        std::string pair = argv[i];
        auto at = pair.find('=');
        factory.Set(pair.substr(0, at), StringValue(pair.substr(at + 1)));
    }
    g_disc = factory.Create<QueueDisc>();
    if (auto fair = DynamicCast<FqCoDelQueueDisc>(g_disc))
    {
        fair->SetQuantum(1514);
    }
    g_disc->Initialize();
    std::ifstream list(argv[1]);
    uint64_t us;
    uint32_t flow, bytes, ecn;
    Time last;
    while (list >> us >> flow >> bytes >> ecn)
    {
        last = MicroSeconds(us);
        Simulator::Schedule(last, &Arrive, flow, bytes, ecn);
    }
    Simulator::Stop(last + Seconds(5));
    Simulator::Run();
    std::cout << "{\"offered\": " << g_offered << ", \"received\": " << g_received
              << ", \"marked\": " << g_marked << ", \"mean_ms\": " << 1e3 * g_waited / g_received
              << ", \"worst_ms\": " << 1e3 * g_worst << "}" << std::endl;
    return 0;
}
