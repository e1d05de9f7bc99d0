#include "Support/Source.h"
#include <string>
