#include "mxrt/abi.def"
