# The NIC's network half (docs/nic-network.md), with either transport, small enough that entries have to make room.
drover_rtl_sources(nic_net.f network_modules)
set(network_udp 0)
set(network_reliable 1)
set(network_transports udp reliable)
foreach(transport IN LISTS network_transports)
  drover_verilate(nic_net_${transport} TOP nic_net PARAMETERS Transport=${network_${transport}} Flows=4 Connections=16
                  SOURCES ${DROVER_RTL_COMMON} ${network_modules} DEPENDS drover_formats)
endforeach()
drover_test(nic_net_test SOURCES nic_net_test.cc DEPENDS drover_rtl_nic_net_udp drover::datagram LABELS rtl)
drover_test(nic_net_reliable_test SOURCES nic_net_reliable_test.cc nic_net_peer_test.cc
            DEPENDS drover_rtl_nic_net_reliable drover::datagram LABELS rtl)
drover_long_test(nic_net_random_test nic_net_reliable_test DROVER_TEST_FACTOR=20)
