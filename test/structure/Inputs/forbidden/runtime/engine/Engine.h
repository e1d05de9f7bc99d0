#include "mxrt/status.h"
#include "base/Thread.h"
#include "../../compiler/Support/Source.h"
#include <llvm/ADT/StringRef.h>
