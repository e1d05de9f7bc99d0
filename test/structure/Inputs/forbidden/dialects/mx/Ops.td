include "mlir/IR/OpBase.td"
include "compiler/Graph/Passes.td"
