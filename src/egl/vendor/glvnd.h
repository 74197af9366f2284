// libglvnd's interface for vendor libraries. It includes GL's headers without declarations; ours
// come first.
#pragma once

// clang-format off
#include "egl/gl/headers.h"
#include <glvnd/libeglabi.h>
// clang-format on
