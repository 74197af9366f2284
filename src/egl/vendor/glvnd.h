// libglvnd's interface for vendor libraries. It includes GL's headers without declarations, so ours
// must come first.
#pragma once

// clang-format off
#include "egl/gl/headers.h"
#include <glvnd/libeglabi.h>
// clang-format on
