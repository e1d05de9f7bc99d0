#include "mxrt/abi.def"
#include "mxrt/status.h"
