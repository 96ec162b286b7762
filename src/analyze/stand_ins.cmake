# Writes OUTPUT, a C++ file with every text of FOLDER as a raw string, sorted by module name.
file(GLOB texts ${FOLDER}/*.py)
list(SORT texts)
set(rows "")
foreach(text ${texts})
  get_filename_component(file ${text} NAME)
  string(REGEX REPLACE "\\.py$" "" module ${file})
  file(READ ${text} content)
  string(APPEND rows "    {\"${module}\", R\"tenon(${content}\n)tenon\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "#include \"analyze/stand_ins.h\"

#include <unordered_map>

namespace tenon::analyze {

std::string_view StandIn(std::string_view module) {
  static const auto* const texts = new std::unordered_map<std::string_view, std::string_view>{
${rows}  };
  const auto found = texts->find(module);
  return found == texts->end() ? std::string_view() : found->second;
}

}  // namespace tenon::analyze
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
