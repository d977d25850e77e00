// What both engines' AXI4 ports share: 512 data bits, 64-bit addresses, bursts inside 4 KB.
package drover_axi_pkg;
  localparam int unsigned DataBits = 512;
  localparam int unsigned DataBytes = 64;
  localparam int unsigned AddrBits = 64;
  localparam logic [2:0] SizeFullWidth = 3'd6;  // 64 bytes a beat
  localparam logic [1:0] BurstIncr = 2'd1;
  localparam logic [1:0] RespOkay = 2'd0;
endpackage
