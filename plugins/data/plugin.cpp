// The data plugin: tensors from files and back.
#include <tenon/plugin.hpp>

#define DATA(op, module) op(ReadCsv) op(ReadNpy) op(WriteNpy)
TENON_PLUGIN(data, "0.1.0", DATA)
