#include "Support/Source.h"
