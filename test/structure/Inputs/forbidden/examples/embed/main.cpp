#include "mxc/Session.h"
#include "engine/Engine.h"
