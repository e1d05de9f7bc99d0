#pragma once
#include "dialects/mx/Mx.h"
#define GET_OP_CLASSES
#include "dialects/mx/MxScatter.h.inc"
