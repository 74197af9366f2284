// The only function that the library exports.
#include "vk/layer.h"
#include "counters/layer/entry_points.h"

extern "C" TALLY_LAYER_ENTRY VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  return tally::vk::negotiate(interface, tally::counters::get_instance_proc_addr,
                              tally::counters::get_device_proc_addr,
                              tally::counters::get_physical_device_proc_addr);
}
