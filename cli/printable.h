// Text of others (servers, engines, files) on its way to a terminal: what it would act on is shown as \xNN, in JSON as
// \u00NN.
#pragma once

#include <string>
#include <string_view>

namespace drover::cli {

// Control characters (C0 but \n and \t, DEL, C1) and bytes that are not UTF-8 become \xNN, byte by byte.
std::string printable(std::string_view text);
// The same of what belongs on one line, such as a name or a status: \n and \t, too.
std::string printable_line(std::string_view text);
// JSON on one line: it stays JSON. Control characters become \u00NN, bytes that are not UTF-8 \ufffd.
std::string printable_json(std::string_view json);

}  // namespace drover::cli
