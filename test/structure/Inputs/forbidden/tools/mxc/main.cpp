#include "Driver/Session.h"
#include "Sema/Types.h"
