# Writes OUTPUT, a C++ file with the text of INPUT in pieces that every compiler takes.
file(READ ${INPUT} content)
string(REPLACE "\n {\"names\"" "\n)models\" R\"models( {\"names\"" content "${content}")
file(WRITE ${OUTPUT} "#include <string_view>

namespace tenon::analyze {

std::string_view ModelIndexText();
std::string_view ModelIndexText() { return R\"models(${content})models\"; }

}  // namespace tenon::analyze
")
