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
    """A top of rtl/formal with its parameters: proved for all time, or for `bounded` cycles after power-up."""

    block: str
    top: str
    files: tuple  # below rtl/, in the order of imports
    parameters: dict = field(default_factory=dict)
    bounded: int = 0
    mutants: tuple = ()


FIFO = ("common/drover_fifo.sv", "formal/stream_order.sv", "formal/drover_fifo_props.sv")
FIFO_FILE = FIFO[0]
SKID_FILE = "common/drover_skid.sv"
ARBITER = ("common/drover_rr_arbiter.sv", "formal/drover_rr_arbiter_props.sv")
FRAMING = ("deserializer/deser_framing.sv", "formal/deser_framing_props.sv")
AR_MUX = ("common/drover_axi_pkg.sv", "serializer/ser_ar_mux.sv", "formal/stream_holds.sv", "formal/ser_ar_mux_props.sv")

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
)
