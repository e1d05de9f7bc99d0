#include "Sema/Types.h"
#include "engine/Engine.h"
#include "mxrt/status.h"
#include "Sema/Internals.h"
