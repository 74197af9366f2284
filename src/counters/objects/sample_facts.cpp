#include "counters/objects/sample_facts.h"

namespace tally::counters {

SampleCounter sample_counter(const SampleFacts& facts, Program::Samples counted) {
  bool dropped = true;
  switch (counted) {
    case Program::Samples::Uncounted:
      break;
    case Program::Samples::BeforeTests:
      dropped = facts.covers_by_alpha || facts.may_fail_tests();
      break;
    case Program::Samples::AfterTests:
      // An invocation does not see which samples of its pixel have passed. Alpha to coverage comes
      // after the tests, and after samples are counted.
      dropped = facts.samples != VK_SAMPLE_COUNT_1_BIT && facts.may_fail_tests();
      break;
  }
  return dropped ? SampleCounter::Driver : SampleCounter::Shader;
}

}  // namespace tally::counters
