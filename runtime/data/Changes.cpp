// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// set.resize, crop, zoom, flip, colour and normalise: data sets whose images are augmented when a
// batch is gathered.

#include "data/Dataset.h"
#include "data/Numbers.h"
#include "eager/TensorValue.h"
#include "io/Images.h"

#include <cmath>

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

namespace {

Status giveChanged(void *context, Invocation &call, const PictureChange &change) {
  Dataset *set = nullptr;
  MXRT_CHECK(makeAbove(context, call, set));
  set->changes = true;
  set->change = change;
  return giveDataset(call, set);
}

Status sizeOf(void *context, const Invocation &call, const char *what, PictureChange &change) {
  change.height = call.args[1].i;
  change.width = call.args[2].i;
  if (change.height < 1 || change.width < 1 || change.width > io::maxPixels / change.height)
    return error(hostOf(context).allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                 "%s: a picture of %lld x %lld pixels is not possible", what,
                 static_cast<long long>(change.height), static_cast<long long>(change.width));
  return success();
}

/// Argument `i`, a number in [low, high].
Status shareOf(void *context, const Invocation &call, size_t i, const char *what, double low,
               double high, float &out) {
  out = call.args[i].f;
  if (double(out) >= low && double(out) <= high)
    return success();
  return error(hostOf(context).allocator(), MXRT_INVALID_ARGUMENT, noLocation,
               "%s is %g to %g, this is %g", what, low, high, double(out));
}

Status resize(void *context, Invocation &call) {
  PictureChange change;
  change.kind = Change::Resize;
  MXRT_CHECK(sizeOf(context, call, "resize", change));
  return giveChanged(context, call, change);
}

/// crop(set, height, width, pad, random)
Status crop(void *context, Invocation &call) {
  PictureChange change;
  change.kind = Change::Crop;
  MXRT_CHECK(sizeOf(context, call, "crop", change));
  change.pad = call.args[3].i;
  change.random = call.args[4].i;
  if (change.pad < 0 || change.pad > io::maxPixels)
    return error(hostOf(context).allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                 "crop: pad is a number of pixels on each side, this is %lld",
                 static_cast<long long>(change.pad));
  return giveChanged(context, call, change);
}

Status zoom(void *context, Invocation &call) {
  PictureChange change;
  change.kind = Change::Zoom;
  MXRT_CHECK(
      shareOf(context, call, 1, "zoom: the smallest part of a picture", 0.01, 1, change.values[0]));
  return giveChanged(context, call, change);
}

Status flip(void *context, Invocation &call) {
  PictureChange change;
  change.kind = Change::Flip;
  MXRT_CHECK(shareOf(context, call, 1, "flip: a probability", 0, 1, change.values[0]));
  return giveChanged(context, call, change);
}

/// colour(set, brightness, contrast, saturation)
Status colour(void *context, Invocation &call) {
  static const char *const names[] = {"colour: brightness", "colour: contrast",
                                      "colour: saturation"};
  PictureChange change;
  change.kind = Change::Colour;
  for (size_t i = 0; i < 3; ++i)
    MXRT_CHECK(shareOf(context, call, i + 1, names[i], 0, 1, change.values[i]));
  return giveChanged(context, call, change);
}

/// normalise(set, mean, std)
Status normalise(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  PictureChange change;
  change.kind = Change::Normalise;
  Vec<double> means(host.allocator()), deviations(host.allocator());
  MXRT_CHECK(readNumbers(host, eager::tensorOf(call.args[1]), call.location, means));
  MXRT_CHECK(readNumbers(host, eager::tensorOf(call.args[2]), call.location, deviations));
  if (means.empty() || means.size() != deviations.size() || means.size() > maxChannels)
    return error(host.allocator(), MXRT_SHAPE, noLocation,
                 "normalise: %zu means and %zu deviations; there is one of each for a channel, or "
                 "for all, and %zu at most",
                 means.size(), deviations.size(), maxChannels);
  change.channels = static_cast<int64_t>(means.size());
  for (size_t i = 0; i < means.size(); ++i) {
    if (!(deviations[i] > 0) || !std::isfinite(deviations[i]) || !std::isfinite(means[i]))
      return error(host.allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                   "normalise: a deviation is above 0, this is %g with mean %g", deviations[i],
                   means[i]);
    change.values[i] = static_cast<float>(means[i]);
    change.values[means.size() + i] = static_cast<float>(deviations[i]);
  }
  return giveChanged(context, call, change);
}

} // namespace

static constexpr ParamData size[] = {{Kind::Handle, false}, {Kind::Int, false}, {Kind::Int, false}};
static constexpr ParamData part[] = {{Kind::Handle, false},
                                     {Kind::Int, false},
                                     {Kind::Int, false},
                                     {Kind::Int, false},
                                     {Kind::Bool, false}};
static constexpr ParamData share[] = {{Kind::Handle, false}, {Kind::F32, false}};
static constexpr ParamData shares[] = {
    {Kind::Handle, false}, {Kind::F32, false}, {Kind::F32, false}, {Kind::F32, false}};
static constexpr ParamData tensors[] = {
    {Kind::Handle, false}, {Kind::Tensor, false}, {Kind::Tensor, false}};
static const NativeRow natives[] = {{"mx.data.resize", size, false, Kind::Handle, resize},
                                    {"mx.data.crop", part, false, Kind::Handle, crop},
                                    {"mx.data.zoom", share, false, Kind::Handle, zoom},
                                    {"mx.data.flip", share, false, Kind::Handle, flip},
                                    {"mx.data.colour", shares, false, Kind::Handle, colour},
                                    {"mx.data.normalise", tensors, false, Kind::Handle, normalise}};
const NativeGroup mxrt_natives_changes = {"mxrt_natives_changes", natives, std::size(natives)};

} // namespace mxrt::data
