// RUN: mxc-opt %s --pack-arena --verify-plan --report-plan -o /dev/null | FileCheck %s
// CHECK:      plan of chain
// CHECK:      device cpu:0
// CHECK-NEXT: arena 256 bytes
// CHECK-NEXT: unshared 384 bytes
// CHECK-NEXT: bound 256 bytes
// CHECK-NEXT: arguments 128 bytes
// CHECK-NEXT: results 128 bytes
// CHECK:      in use at the peak
// CHECK-NEXT: 128 f32[32] carried value
// CHECK-NEXT: 128 f32[32] carried value
// CHECK:      bytes in use over time
// CHECK-NEXT: |{{.*}}#{{.*}}256 bytes
// CHECK:      > 5 ops
mxrt.program @chain(%x: !mxrt.buffer<f32[32]>) writes (%y: !mxrt.buffer<f32[32]>) arenas [#mxrt.arena<"" 384>] {
  %a = mxrt.slice 0 bytes 128 : <f32[32]>
  %b = mxrt.slice 128 bytes 128 : <f32[32]>
  %c = mxrt.slice 256 bytes 128 : <f32[32]>
  mxrt.copy %x to %a : <f32[32]>, <f32[32]>
  mxrt.copy %a to %b : <f32[32]>, <f32[32]>
  mxrt.copy %b to %c : <f32[32]>, <f32[32]>
  mxrt.copy %c to %y : <f32[32]>, <f32[32]>
}
