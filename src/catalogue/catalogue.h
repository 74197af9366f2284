// Every counter of Tally once.
#pragma once

namespace tally::catalogue {}
