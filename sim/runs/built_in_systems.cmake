# Writes OUTPUT: built_in_systems() with the name and text of each of FILES.
set(rows "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND rows "      {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Written by sim/runs/built_in_systems.cmake.
#include \"sim/runs/system.h\"

namespace drover::sim {

std::vector<BuiltInSystem> built_in_systems() {
  return {
${rows}  };
}

}  // namespace drover::sim
")
