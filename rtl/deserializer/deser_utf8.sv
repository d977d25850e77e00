// Checks strings for UTF-8 at 64 bytes a cycle. The result of a beat is known two cycles after the beat was given.
// Whether a byte is right depends on it and the three before it (Unicode 15, table 3-7).
module deser_utf8 (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         clear_i,  // forget earlier results
    input  logic         valid_i,
    input  logic         first_i,
    input  logic         last_i,
    input  logic [6:0]   count_i,  // 1 to 64; 64 unless last
    input  logic [511:0] data_i,
    output logic         bad_o     // stays until clear_i
);
  logic [511:0] data_q;
  logic [23:0] before_q;
  logic valid_q, last_q, bad_q;
  logic [6:0] count_q;
  logic [66:0] is_cont, lead2, lead3, lead4, is_e0, is_ed, is_f0, is_f4;
  logic [63:0] never, wrong;
  logic open_end, bad_now;
  logic [535:0] all;

  assign all = {data_q, before_q};
  for (genvar i = 0; i < 67; i++) begin : gen_class
    logic [7:0] b;
    assign b          = all[8*i+:8];
    assign is_cont[i] = b[7:6] == 2'b10;
    assign lead2[i]   = b[7:5] == 3'b110;
    assign lead3[i]   = b[7:4] == 4'b1110;
    assign lead4[i]   = b[7:3] == 5'b11110;
    assign is_e0[i]   = b == 8'hE0;
    assign is_ed[i]   = b == 8'hED;
    assign is_f0[i]   = b == 8'hF0;
    assign is_f4[i]   = b == 8'hF4;
  end
  for (genvar i = 0; i < 64; i++) begin : gen_check
    logic [7:0] b;
    logic must, pair;
    assign b        = data_q[8*i+:8];
    assign never[i] = b[7:1] == 7'h60 || b >= 8'hF5;
    // byte i is all[i+3]; the bytes before it are i+2, i+1, i
    assign must     = lead2[i+2] || lead3[i+2] || lead4[i+2] || lead3[i+1] || lead4[i+1] || lead4[i];
    assign pair     = (is_e0[i+2] && b < 8'hA0) || (is_ed[i+2] && b >= 8'hA0) || (is_f0[i+2] && b < 8'h90) ||
                      (is_f4[i+2] && b >= 8'h90);
    assign wrong[i] = (never[i] || pair || must != is_cont[i+3]) && (7'(i) < count_q);
  end
  // The string ends inside a character.
  always_comb begin
    open_end = 1'b0;
    for (int i = 0; i < 64; i++) begin
      if (count_q == i[6:0] + 7'd1) begin
        open_end = lead2[i+3] || lead3[i+3] || lead4[i+3] || lead3[i+2] || lead4[i+2] || lead4[i+1];
      end
    end
  end
  assign bad_now = valid_q && (|wrong || (last_q && open_end));
  assign bad_o   = bad_q;

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      data_q   <= data_i;
      count_q  <= count_i;
      last_q   <= last_i;
      before_q <= first_i ? 24'd0 : data_q[511:488];
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      bad_q   <= 1'b0;
    end else begin
      valid_q <= valid_i && !clear_i;
      bad_q   <= !clear_i && (bad_q || bad_now);
    end
  end
  logic unused;
  assign unused = ^{is_cont[2:0], lead2[1:0], is_e0[66:66], is_e0[1:0], is_ed[66:66], is_ed[1:0], is_f0[66:66],
                    is_f0[1:0], is_f4[66:66], is_f4[1:0]};
endmodule
