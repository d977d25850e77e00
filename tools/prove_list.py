"""What tools/prove.py proves: each block with its properties, how far, and the mutants for which they must fail."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mutant:
    """One place of a source, changed; the properties have to notice."""

    name: str
    file: str  # below rtl/
    old: str
    new: str


@dataclass(frozen=True)
class Proof:
    """A top of rtl/formal with its parameters: proved for all time, or for `bounded` cycles after power-up.

    Its first cycle has to be one of reset (DROVER_ASSUME_RESET_FIRST)."""

    block: str
    top: str
    files: tuple  # below rtl/, in the order of imports; sv/: generated packages (tools/formats)
    parameters: dict = field(default_factory=dict)
    bounded: int = 0
    mutants: tuple = ()


FIFO = ("common/drover_fifo.sv", "formal/stream_order.sv", "formal/drover_fifo_props.sv")
FIFO_FILE = FIFO[0]
SKID_FILE = "common/drover_skid.sv"
ARBITER = ("common/drover_rr_arbiter.sv", "formal/drover_rr_arbiter_props.sv")
FRAMING = ("deserializer/deser_framing.sv", "formal/deser_framing_props.sv")
AR_MUX = ("common/drover_axi_pkg.sv", "serializer/ser_ar_mux.sv", "formal/stream_holds.sv", "formal/ser_ar_mux_props.sv")

WRITE_PORTS = ("common/drover_axi_pkg.sv", "deserializer/deser_pkg.sv", "common/drover_fifo.sv",
               "common/drover_axi_write_checks.sv", "deserializer/deser_write_ports.sv", "formal/stream_holds.sv",
               "formal/deser_write_ports_props.sv")
PORTS_FILE = WRITE_PORTS[4]
WRITER = ("sv/drover_deserializer_pkg.sv", "deserializer/deser_pkg.sv", "common/drover_fifo.sv",
          "deserializer/deser_writer.sv", "formal/stream_holds.sv", "formal/deser_writer_props.sv")
WRITER_FILE = WRITER[3]

HOST_PACKAGES = ("sv/drover_nic_pkg.sv", "nic/nic_pkg.sv")
HOST_QUEUES = (*HOST_PACKAGES, "common/drover_sram_1r1w.sv", "nic/nic_queues.sv", "formal/nic_queues_props.sv")
HOST_QUEUES_FILE = HOST_QUEUES[3]
POLL = (*HOST_PACKAGES, "nic/nic_poll.sv", "formal/nic_poll_props.sv")
POLL_FILE = POLL[2]
NIC_PACKAGES = ("sv/drover_channel_pkg.sv", "sv/drover_frame_pkg.sv", "sv/drover_connection_pkg.sv",
                "common/drover_axi_pkg.sv", "nic/nic_net_pkg.sv")
NET_QUEUES = ("common/drover_rr_arbiter.sv", "common/drover_sram_1r1w.sv", "nic/nic_net_queues.sv",
              "formal/nic_net_queues_props.sv")
NET_QUEUES_FILE = NET_QUEUES[2]
NET_MISSES = (*NIC_PACKAGES, "common/drover_fifo.sv", "nic/nic_net_misses.sv", "formal/nic_net_misses_props.sv")
MISSES_FILE = "nic/nic_net_misses.sv"
TABLE_PORT = ("common/drover_axi_pkg.sv", "nic/nic_net_table_port.sv", "formal/nic_net_table_port_props.sv")
TABLE_FILE = TABLE_PORT[1]

PROOFS = (
    Proof("drover_fifo", "drover_fifo_props", FIFO, {"Depth": 2}),
    Proof("drover_fifo", "drover_fifo_props", FIFO, {"Depth": 4}, mutants=(
        Mutant("writes when full", FIFO_FILE, "wready_o = !level_o[PtrW]", "wready_o = 1'b1"),
        Mutant("reads the newest word", FIFO_FILE, "mem[rptr_q[PtrW-1:0]];", "mem[wptr_q[PtrW-1:0] - 1'b1];"),
        Mutant("pops what is not there", FIFO_FILE, "pop      = level_o != '0 && rready_i", "pop      = rready_i"),
    )),
    Proof("drover_fifo, bypass", "drover_fifo_props", FIFO, {"Depth": 4, "Bypass": 1}, mutants=(
        Mutant("keeps what has passed", FIFO_FILE, "wvalid_i && wready_o && !(past && rready_i)", "wvalid_i && wready_o"),
        Mutant("passes words in front of it", FIFO_FILE, "past     = Bypass && level_o == '0", "past     = Bypass && wvalid_i"),
    )),
    Proof("drover_fifo", "drover_fifo_props", FIFO, {"Depth": 8}, bounded=20),
    Proof("drover_skid", "drover_skid_props", (SKID_FILE, "formal/stream_order.sv", "formal/drover_skid_props.sv"), {},
          mutants=(
        Mutant("doubles the spare word", SKID_FILE, "valid_q       <= spare_valid_q || wvalid_i;\n      spare_valid_q <= 1'b0",
               "valid_q       <= spare_valid_q || wvalid_i;\n      spare_valid_q <= spare_valid_q"),
        Mutant("passes the spare word", SKID_FILE, "spare_valid_q ? spare_q : wdata_i", "wvalid_i ? wdata_i : spare_q"),
        Mutant("takes a third word", SKID_FILE, "wready_o = !spare_valid_q", "wready_o = !spare_valid_q || rready_i"),
    )),
    Proof("drover_rr_arbiter", "drover_rr_arbiter_props", ARBITER, {"N": 3}),
    Proof("drover_rr_arbiter", "drover_rr_arbiter_props", ARBITER, {"N": 4}, mutants=(
        Mutant("lowest first", ARBITER[0], "valid_i & ~(turn_q - 1'b1)", "valid_i"),
        Mutant("the turn does not move on", ARBITER[0], "N'({pick_o, pick_o} >> (N - 1))", "pick_o"),
        Mutant("picks all behind", ARBITER[0], "behind & (~behind + 1'b1)", "behind"),
    )),
    Proof("drover_rr_arbiter", "drover_rr_arbiter_props", ARBITER, {"N": 5}),
    Proof("deser_framing", "deser_framing_props", FRAMING, {"LengthBits": 32}, mutants=(
        Mutant("swallows the next packet", FRAMING[0], "open_q <= !tlast_i", "open_q <= !(tlast_i && !drop_q)"),
        Mutant("ends at a wrong beat", FRAMING[0], "open_q <= !tlast_i", "open_q <= !last_o"),
        Mutant("takes a long packet for right", FRAMING[0], "tkeep_i != wanted || tlast_i != ends",
               "tkeep_i != wanted || (tlast_i && !ends)"),
        Mutant("hands over what it drops", FRAMING[0], "push_o  = taken && !drop_q", "push_o  = taken"),
    )),
    Proof("deser_framing, bytes counted", "deser_framing_props", FRAMING, {"LengthBits": 9}, bounded=12, mutants=(
        Mutant("a byte too many", FRAMING[0], "32'(i) < left_q", "32'(i) <= left_q"),
    )),
    Proof("ser_ar_mux", "ser_ar_mux_props", AR_MUX, mutants=(
        Mutant("changes its mind", AR_MUX[1], "chosen = held_q ? held_id_q : first", "chosen = first"),
        Mutant("tells all readers", AR_MUX[1], "ready_o[i] = ar_ready_i && chosen == Iw'(i)", "ready_o[i] = ar_ready_i"),
    )),
    Proof("deser_write_ports", "deser_write_ports_props", WRITE_PORTS, {"Lanes": 2, "Bursts": 2}, mutants=(
        # addresses
        Mutant("a beat too many", PORTS_FILE, "host_in.len  = burst_i.len", "host_in.len  = burst_i.len + 1'b1"),
        Mutant("forgets the base", PORTS_FILE, " - {24'd0, engine_base_i, 12'd0}", ""),
        Mutant("an address to both ports", PORTS_FILE, "take && burst_i.where == deser_pkg::ToEngine", "take"),
        Mutant("drops an address", PORTS_FILE, "order_room && host_room && hbm_room", "order_room && host_room"),
        # data
        Mutant("bursts of one beat", PORTS_FILE, "w_valid && w_ready && w.last", "w_valid && w_ready"),
        Mutant("data of what goes nowhere", PORTS_FILE, "w_valid && order.where == deser_pkg::ToHost;",
               "w_valid && order.where != deser_pkg::ToEngine;"),
        Mutant("data before its burst", PORTS_FILE, "w_valid = order_valid && wvalid_i[i]", "w_valid = wvalid_i[i]"),
        Mutant("takes all lanes' data", PORTS_FILE, "order_valid && order.lane == i[3:0] && w_ready",
               "order_valid && w_ready"),
        # answers
        Mutant("drops out of turn", PORTS_FILE, ": !lane_in_flight", ": 1'b1"),
        Mutant("an answer too many", PORTS_FILE, "hbm_bid_i == i[3:0] && hbm_in_flight_q[i] != '0",
               "hbm_bid_i == i[3:0]"),
        Mutant("an answer too few", PORTS_FILE, "host_bready_o = !dropped", "host_bready_o = 1'b1"),
        Mutant("another lane's answer", PORTS_FILE, "host_bready_o && host_bid_i == i[3:0]", "host_bready_o"),
        Mutant("forgets a refusal", PORTS_FILE, "b_fault_o[i][1] = hbm_bresp_i != drover_axi_pkg::RespOkay",
               "b_fault_o[i][1] = 1'b0"),
    )),
    Proof("deser_writer", "deser_writer_props", WRITER, {"BurstRows": 2, "Rows": 2}, bounded=10, mutants=(
        # addresses
        Mutant("a burst over 4 KB", WRITER_FILE, "row_i.last || (&row_i.addr[5:0]) ||", "row_i.last ||"),
        Mutant("a burst too long", WRITER_FILE, "len == 6'(BurstRows - 1)", "len == 6'(BurstRows)"),
        Mutant("a row behind the region", WRITER_FILE, "row_chunk < bounds_i.host_limit",
               "row_chunk <= bounds_i.host_limit"),
        Mutant("a flush to anywhere", WRITER_FILE, "fl_aw_valid_i && fl_aw_ready_o && fl_in_region;",
               "fl_aw_valid_i && fl_aw_ready_o;"),
        Mutant("a burst from its last row on", WRITER_FILE, "fresh_q ? row_i.addr : first_q", "row_i.addr"),
        # data
        Mutant("a beat too few", WRITER_FILE, "gathered_in.last = burst_end", "gathered_in.last = burst_end || len == 6'd0"),
        Mutant("no last beat", WRITER_FILE, "gathered_in.last = burst_end", "gathered_in.last = row_i.last"),
        Mutant("a flush in a burst of rows", WRITER_FILE, "due_valid && (due_flush ? fl_valid_i : w_fifo_valid)",
               "due_valid && (fl_valid_i || w_fifo_valid)"),
        Mutant("data without an address", WRITER_FILE, "wvalid_o = due_valid &&", "wvalid_o ="),
        Mutant("the order changes", WRITER_FILE, "wdata_i(aw_out.flush)", "wdata_i(fl_push)"),
        # as many answers as bursts
        Mutant("issues without counting", WRITER_FILE, "(fl_push && i == 0)", "1'b0"),
    )),
    Proof("nic_queues", "nic_queues_props", HOST_QUEUES, mutants=(
        Mutant("all flows in one", HOST_QUEUES_FILE, "({flow, ptr})", "({1'b0, ptr})"),
        Mutant("pops of the flow that is pushed to", HOST_QUEUES_FILE, "if (pop_i && pop_flow == FlowW'(f))",
               "if (pop_i && push_flow == FlowW'(f))"),
        Mutant("reads the next line", HOST_QUEUES_FILE, "rptr_q[pop_flow][PtrW-1:0])), .rdata_o",
               "rptr_q[pop_flow][PtrW-1:0] + 1'b1)), .rdata_o"),
    )),
    Proof("nic_poll", "nic_poll_props", POLL, mutants=(
        Mutant("forgets invalidations of a poll under way", POLL_FILE, "!direct_q[f] && !snooped_q[f]", "!direct_q[f]"),
        Mutant("looks for the line of the poll before", POLL_FILE, "if (asked) tag_q[f] <= ask_what_i.tag;",
               "if (asked && polls_q[f] != '0) tag_q[f] <= ask_what_i.tag;"),
        Mutant("waits after a direct poll", POLL_FILE, "beat_what_i.first && beat_what_i.cached &&", "beat_what_i.first &&"),
        Mutant("does not wake", POLL_FILE, "waits) && !snooped && !refresh", "waits) && !refresh"),
        Mutant("rests for ever", POLL_FILE, "resting_q[f] && !rest_end)", "resting_q[f])"),
        Mutant("one poll at the tail", POLL_FILE, "(tail_i[f] ? few_q : fresh < ahead_q[f])", "fresh < ahead_q[f]"),
        Mutant("polls are stale for ever", POLL_FILE, "stale_q[f] <= stale_q[f] - 4'd1;", "stale_q[f] <= stale_q[f];"),
    )),
    Proof("nic_net_queues", "nic_net_queues_props", NET_QUEUES, {"Depth": 4}, mutants=(
        Mutant("a line that waits is lost", NET_QUEUES_FILE, "if (done_i && here) kept_q", "if ((done_i || wait_i) && here) kept_q"),
        Mutant("goes on behind a line that waits", NET_QUEUES_FILE, "if (waits) read_q[f] <= kept_q[f];\n        else if", "if"),
        Mutant("does not rest", NET_QUEUES_FILE, "rests_q[f] <= waits || rests_q[f] && !woken", "rests_q[f] <= 1'b0"),
        Mutant("takes a line too many", NET_QUEUES_FILE, "assign full[f] = level[PtrW];", "assign full[f] = 1'b0;"),
        Mutant("moves all flows on", NET_QUEUES_FILE, "else if (issue && pick[f])", "else if (issue)"),
    )),
    Proof("nic_net_misses", "nic_net_misses_props", NET_MISSES, mutants=(
        Mutant("forgets who waits", MISSES_FILE, "used_q[write_q] <= 1'b1;", "used_q[write_q] <= !pop;"),
        Mutant("leaves and stays", MISSES_FILE, "leave_i || stay_i) state_q <= Asks", "leave_i) state_q <= Asks"),
        Mutant("drops what is tried", MISSES_FILE, "state_q == Asks && drop_i ||", "drop_i ||"),
        Mutant("compares with others", MISSES_FILE, "used_q[i] && number_q[i]", "used_q[i] && !pop && number_q[i]"),
    )),
    Proof("nic_net_table_port", "nic_net_table_port_props", TABLE_PORT, mutants=(
        Mutant("takes a second request", TABLE_FILE, "assign free = !busy_q", "assign free = !busy_q || w_q"),
        Mutant("answers before the memory", TABLE_FILE, "answer_o <= answers && (rvalid_i || bvalid_i)",
               "answer_o <= answers"),
        Mutant("reads for ever", TABLE_FILE, "if (arready_i) ar_q <= 1'b0;", ""),
        Mutant("hears no error", TABLE_FILE, "drover_axi_pkg::RespOkay || !rlast_i", "drover_axi_pkg::RespOkay"),
        Mutant("changes its address", TABLE_FILE, "if (free) begin\n      address_q", "begin\n      address_q"),
    )),
)
