#include "Syntax/Lexer.h"
