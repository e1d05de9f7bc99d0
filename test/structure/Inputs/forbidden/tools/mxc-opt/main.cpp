#include "Graph/Passes.h"
