// What both engines' AXI4 ports share: 512 data bits, 64-bit addresses, bursts inside 4 KB.
/* verilator lint_off UNUSEDPARAM */
package drover_axi_pkg;
  localparam int unsigned DataBits = 512;
  localparam int unsigned DataBytes = 64;
  localparam int unsigned AddrBits = 64;
  localparam logic [2:0] SizeFullWidth = 3'd6;  // 64 bytes a beat
  localparam logic [1:0] BurstIncr = 2'd1;
  localparam logic [1:0] RespOkay = 2'd0;

  // A read request, its id apart.
  typedef struct packed {
    logic [AddrBits-1:0] addr;
    logic [7:0]          len;  // beats, less one
  } ar_t;
  localparam int unsigned ArBits = AddrBits + 8;  // for arrays of them: yosys has none of structs

  // A beat of the answer, its id apart.
  typedef struct packed {
    logic                error;  // RRESP is not OKAY
    logic                last;
    logic [DataBits-1:0] data;
  } r_t;
endpackage
/* verilator lint_on UNUSEDPARAM */
