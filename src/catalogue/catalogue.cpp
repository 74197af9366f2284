#include "catalogue/catalogue.h"

namespace tally::catalogue {}
