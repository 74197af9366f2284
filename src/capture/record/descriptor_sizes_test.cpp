#include "capture/record/descriptor_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <utility>

namespace tally::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using Resource = spirv::LaunchInputs::Resource;
using Sizes = std::vector<DescriptorSize>;

template <typename Handle>
Handle handle(uint64_t number) {
  return (Handle)number;  // NOLINT: a pointer on 64-bit machines, an integer on others
}

constexpr uint32_t kImages = 0, kBuffers = 2, kLast = 5;  // bindings

VkImageCreateInfo image_info() {
  VkImageCreateInfo info{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = VK_FORMAT_R8_UNORM;
  info.extent = {64, 32, 1};
  info.mipLevels = 4;
  info.arrayLayers = 3;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  return info;
}

VkImageViewCreateInfo view_info(VkImage image) {
  VkImageViewCreateInfo info{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  info.image = image;
  info.viewType = VK_IMAGE_VIEW_TYPE_2D_ARRAY;
  info.format = VK_FORMAT_R8_UNORM;
  info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                           VK_REMAINING_ARRAY_LAYERS};
  return info;
}

// Objects with handles by number. Image and view 1 are those of image_info() and view_info();
// buffer 1 has 1000 bytes. The set 1 has two images, three buffers, and a buffer with a dynamic
// offset, in the bindings above.
class DescriptorSizesTest : public ::testing::Test {
 protected:
  DescriptorSizesTest() {
    sizes_.add(handle<VkImage>(1), image_info());
    sizes_.add(handle<VkImageView>(1), view_info(handle<VkImage>(1)));
    add_buffer(1, 1000);
    bindings_ = {
        {kLast, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 1, VK_SHADER_STAGE_ALL, nullptr},
        {kImages, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 2, VK_SHADER_STAGE_ALL, nullptr},
        {kBuffers, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3, VK_SHADER_STAGE_ALL, nullptr}};
    add_layout(1);
    allocate(1);
  }

  void add_buffer(uint64_t number, VkDeviceSize size) {
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = size;
    sizes_.add(handle<VkBuffer>(number), info);
  }
  void add_layout(uint64_t number, const void* next = nullptr,
                  VkDescriptorSetLayoutCreateFlags flags = 0) {
    sizes_.add(handle<VkDescriptorSetLayout>(number),
               {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, next, flags,
                static_cast<uint32_t>(bindings_.size()), bindings_.data()});
  }
  void allocate(uint64_t set, uint64_t layout = 1, uint64_t pool = 1) {
    const auto with = handle<VkDescriptorSetLayout>(layout);
    const auto made = handle<VkDescriptorSet>(set);
    sizes_.add_sets({VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr,
                     handle<VkDescriptorPool>(pool), 1, &with},
                    &made);
  }

  static VkWriteDescriptorSet write_of(uint64_t set, uint32_t binding, uint32_t element,
                                       size_t count, VkDescriptorType type) {
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = handle<VkDescriptorSet>(set);
    write.dstBinding = binding;
    write.dstArrayElement = element;
    write.descriptorCount = static_cast<uint32_t>(count);
    write.descriptorType = type;
    return write;
  }
  void write_views(uint32_t element, const std::vector<uint64_t>& views, uint64_t set = 1) {
    std::vector<VkDescriptorImageInfo> infos;
    for (const uint64_t view : views)
      infos.push_back({VK_NULL_HANDLE, handle<VkImageView>(view), VK_IMAGE_LAYOUT_GENERAL});
    VkWriteDescriptorSet write =
        write_of(set, kImages, element, views.size(), VK_DESCRIPTOR_TYPE_STORAGE_IMAGE);
    write.pImageInfo = infos.data();
    sizes_.update({&write, 1}, {});
  }
  void write_buffers(uint32_t binding, uint32_t element,
                     const std::vector<VkDescriptorBufferInfo>& infos, uint64_t set = 1) {
    VkWriteDescriptorSet write =
        write_of(set, binding, element, infos.size(),
                 binding == kLast ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
                                  : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
    write.pBufferInfo = infos.data();
    sizes_.update({&write, 1}, {});
  }
  static VkDescriptorBufferInfo range(VkDeviceSize size) { return {handle<VkBuffer>(1), 0, size}; }

  // The sizes of a binding for a dispatch with this set.
  Sizes read(uint32_t binding, uint64_t set = 1) const {
    BoundSets bound;
    const auto it = handle<VkDescriptorSet>(set);
    bound.bind(3, {&it, 1});
    return read(bound, binding);
  }
  Sizes read(const BoundSets& bound, uint32_t binding) const {
    const Resource resource{3, binding};
    Sizes room(8);
    const auto found = bound.read({&resource, 1}, sizes_, room);
    return {found.begin(), found.end()};
  }
  // The size of a view, as a number.
  DescriptorSize size_of_view(uint64_t view) {
    write_views(0, {view, 1});
    const Sizes found = read(kImages);
    return found.empty() ? kNoSize : found[1];
  }

  DescriptorSizes sizes_;
  std::vector<VkDescriptorSetLayoutBinding> bindings_;
};

TEST_F(DescriptorSizesTest, views_of_equal_shapes_have_one_size) {
  sizes_.add(handle<VkImage>(2), image_info());
  sizes_.add(handle<VkImageView>(2), view_info(handle<VkImage>(2)));
  EXPECT_NE(size_of_view(1), kNoSize);
  EXPECT_EQ(size_of_view(1), size_of_view(2));
}

TEST_F(DescriptorSizesTest, views_that_differ_in_anything_have_different_sizes) {
  std::set<DescriptorSize> all = {size_of_view(1)};
  uint64_t next = 10;
  const auto add = [&](const VkImageCreateInfo& image, const auto& change) {
    const uint64_t number = next++;
    sizes_.add(handle<VkImage>(number), image);
    VkImageViewCreateInfo view = view_info(handle<VkImage>(number));
    change(view);
    sizes_.add(handle<VkImageView>(number), view);
    all.insert(size_of_view(number));
  };
  using Change = void (*)(VkImageCreateInfo&);
  constexpr Change kOfImages[] = {
      [](VkImageCreateInfo& i) { i.flags = VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT; },
      [](VkImageCreateInfo& i) { i.imageType = VK_IMAGE_TYPE_3D; },
      [](VkImageCreateInfo& i) { i.format = VK_FORMAT_R16_UNORM; },
      [](VkImageCreateInfo& i) { i.extent.width = 63; },
      [](VkImageCreateInfo& i) { i.extent.height = 63; },
      [](VkImageCreateInfo& i) { i.extent.depth = 2; },
      [](VkImageCreateInfo& i) { i.mipLevels = 3; },
      [](VkImageCreateInfo& i) { i.arrayLayers = 4; },
      [](VkImageCreateInfo& i) { i.samples = VK_SAMPLE_COUNT_4_BIT; }};
  for (const Change change : kOfImages) {
    VkImageCreateInfo image = image_info();
    change(image);
    add(image, [](VkImageViewCreateInfo&) {});
  }
  using ViewChange = void (*)(VkImageViewCreateInfo&);
  constexpr ViewChange kOfViews[] = {
      [](VkImageViewCreateInfo& v) { v.flags = 1; },
      [](VkImageViewCreateInfo& v) { v.viewType = VK_IMAGE_VIEW_TYPE_2D; },
      [](VkImageViewCreateInfo& v) { v.format = VK_FORMAT_R8_UINT; },
      [](VkImageViewCreateInfo& v) { v.subresourceRange.aspectMask = VK_IMAGE_ASPECT_PLANE_1_BIT; },
      [](VkImageViewCreateInfo& v) { v.subresourceRange.baseMipLevel = 1; },
      [](VkImageViewCreateInfo& v) { v.subresourceRange.levelCount = 1; },
      [](VkImageViewCreateInfo& v) { v.subresourceRange.baseArrayLayer = 1; },
      [](VkImageViewCreateInfo& v) { v.subresourceRange.layerCount = 1; }};
  for (const ViewChange change : kOfViews) add(image_info(), change);
  EXPECT_EQ(all.size(), 1 + std::size(kOfImages) + std::size(kOfViews));
  EXPECT_FALSE(all.contains(kNoSize));
}

TEST_F(DescriptorSizesTest, what_a_struct_may_change_has_no_size) {
  const VkImageViewUsageCreateInfo harmless{VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO, nullptr,
                                            VK_IMAGE_USAGE_STORAGE_BIT};
  VkImageViewMinLodCreateInfoEXT lod{VK_STRUCTURE_TYPE_IMAGE_VIEW_MIN_LOD_CREATE_INFO_EXT, nullptr,
                                     1};
  VkImageViewCreateInfo view = view_info(handle<VkImage>(1));
  view.pNext = &harmless;
  sizes_.add(handle<VkImageView>(2), view);
  EXPECT_EQ(size_of_view(2), size_of_view(1));
  lod.pNext = &harmless;
  view.pNext = &lod;
  sizes_.add(handle<VkImageView>(3), view);
  EXPECT_EQ(size_of_view(3), kNoSize);
  VkExternalMemoryImageCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO};
  VkImageCreateInfo image = image_info();
  image.pNext = &external;
  sizes_.add(handle<VkImage>(2), image);
  sizes_.add(handle<VkImageView>(4), view_info(handle<VkImage>(2)));
  EXPECT_EQ(size_of_view(4), size_of_view(1));
  // The struct makes it an image of a swapchain.
  external.sType = VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR;
  sizes_.add(handle<VkImage>(3), image);
  sizes_.add(handle<VkImageView>(5), view_info(handle<VkImage>(3)));
  EXPECT_EQ(size_of_view(5), kNoSize);
}

TEST_F(DescriptorSizesTest, objects_that_are_not_known_have_no_size) {
  sizes_.add(handle<VkImageView>(7), view_info(handle<VkImage>(7)));
  EXPECT_EQ(size_of_view(7), kNoSize) << "of a swapchain, for example";
  EXPECT_EQ(size_of_view(8), kNoSize);
  EXPECT_EQ(size_of_view(0), kNoSize);
  EXPECT_THAT(read(kImages, 2), IsEmpty());
}

TEST_F(DescriptorSizesTest, a_handle_that_is_used_again_has_the_new_size_or_none) {
  const DescriptorSize first = size_of_view(1);
  sizes_.remove(handle<VkImageView>(1));
  EXPECT_EQ(size_of_view(1), kNoSize);
  sizes_.remove(handle<VkImage>(1));
  sizes_.add(handle<VkImageView>(1), view_info(handle<VkImage>(1)));
  EXPECT_EQ(size_of_view(1), kNoSize);
  VkImageCreateInfo image = image_info();
  image.extent.width = 65;
  sizes_.add(handle<VkImage>(1), image);
  sizes_.add(handle<VkImageView>(1), view_info(handle<VkImage>(1)));
  EXPECT_NE(size_of_view(1), first);
  write_buffers(kBuffers, 0, {range(VK_WHOLE_SIZE), range(4), range(4)});
  EXPECT_THAT(read(kBuffers), ElementsAre(3, 1000, 4, 4));
  sizes_.remove(handle<VkBuffer>(1));
  write_buffers(kBuffers, 1, {range(VK_WHOLE_SIZE)});
  EXPECT_THAT(read(kBuffers), IsEmpty());
  add_buffer(1, 900);
  write_buffers(kBuffers, 1, {range(VK_WHOLE_SIZE)});
  EXPECT_THAT(read(kBuffers), ElementsAre(3, 1000, 900, 4));
}

TEST_F(DescriptorSizesTest, buffers_have_their_ranges) {
  write_buffers(kBuffers, 0, {{handle<VkBuffer>(1), 100, VK_WHOLE_SIZE}, range(8), range(12)});
  EXPECT_THAT(read(kBuffers), ElementsAre(3, 900, 8, 12));
  write_buffers(kBuffers, 2, {{VK_NULL_HANDLE, 0, VK_WHOLE_SIZE}});
  EXPECT_THAT(read(kBuffers), IsEmpty());
  write_buffers(kLast, 0, {range(16)});
  EXPECT_THAT(read(kLast), ElementsAre(1, 16));
  write_buffers(kLast, 0, {range(VK_WHOLE_SIZE)});
  EXPECT_THAT(read(kLast), IsEmpty()) << "it depends on the dynamic offset";
}

TEST_F(DescriptorSizesTest, a_set_has_sizes_when_all_elements_are_written) {
  write_buffers(kBuffers, 1, {range(8)});
  EXPECT_THAT(read(kBuffers), IsEmpty());
  write_buffers(kBuffers, 2, {range(12)});
  write_buffers(kBuffers, 0, {range(4)});
  EXPECT_THAT(read(kBuffers), ElementsAre(3, 4, 8, 12));
  VkWriteDescriptorSet other = write_of(1, kBuffers, 1, 1, VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER);
  sizes_.update({&other, 1}, {});
  EXPECT_THAT(read(kBuffers), IsEmpty()) << "a descriptor of another type";
}

TEST_F(DescriptorSizesTest, writes_go_on_in_the_bindings_that_follow) {
  bindings_ = {{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2, VK_SHADER_STAGE_ALL, nullptr},
               {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0, VK_SHADER_STAGE_ALL, nullptr},
               {4, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2, VK_SHADER_STAGE_ALL, nullptr}};
  add_layout(2);
  allocate(2, 2);
  write_buffers(0, 0, {range(4)}, 2);
  write_buffers(0, 1, {range(8), range(12), range(16), range(20)}, 2);
  EXPECT_THAT(read(0, 2), ElementsAre(2, 4, 8));
  EXPECT_THAT(read(4, 2), ElementsAre(2, 12, 16));
  EXPECT_THAT(read(1, 2), IsEmpty());
}

TEST_F(DescriptorSizesTest, copies_have_what_they_were_copied_from) {
  allocate(2);
  write_buffers(kBuffers, 0, {range(4), range(8), range(12)});
  write_buffers(kBuffers, 0, {range(16), range(20), range(24)}, 2);
  VkCopyDescriptorSet copy{VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET};
  copy.srcSet = handle<VkDescriptorSet>(1);
  copy.srcBinding = copy.dstBinding = kBuffers;
  copy.srcArrayElement = 1;
  copy.dstSet = handle<VkDescriptorSet>(2);
  copy.descriptorCount = 2;
  sizes_.update({}, {&copy, 1});
  EXPECT_THAT(read(kBuffers, 2), ElementsAre(3, 8, 12, 24));
  copy.srcSet = handle<VkDescriptorSet>(77);
  sizes_.update({}, {&copy, 1});
  EXPECT_THAT(read(kBuffers, 2), IsEmpty()) << "a copy of what is not known";
}

TEST_F(DescriptorSizesTest, bindings_whose_descriptors_may_change_later_have_no_sizes) {
  const VkDescriptorBindingFlags kept = VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;
  for (const VkDescriptorBindingFlags flag :
       {kept, VkDescriptorBindingFlags{VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT},
        VkDescriptorBindingFlags{VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT},
        VkDescriptorBindingFlags{VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT}}) {
    const VkDescriptorBindingFlags flags[] = {flag, 0, flag};  // the dynamic one, images, buffers
    const VkDescriptorSetLayoutBindingFlagsCreateInfo info{
        VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO, nullptr, 3, flags};
    add_layout(2, &info);
    allocate(2, 2);
    write_views(0, {1, 1}, 2);
    write_buffers(kBuffers, 0, {range(4), range(8), range(12)}, 2);
    EXPECT_THAT(read(kImages, 2), Not(IsEmpty()));
    EXPECT_EQ(read(kBuffers, 2).empty(), flag != kept) << flag;
  }
  add_layout(3, nullptr, VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT);
  allocate(3, 3);
  EXPECT_EQ(sizes_.find(handle<VkDescriptorSet>(3)), nullptr);
}

TEST_F(DescriptorSizesTest, sets_are_known_until_they_are_freed_or_their_pool_is_reset) {
  write_buffers(kLast, 0, {range(4)});
  for (const uint64_t set : {2, 3}) {
    allocate(set, 1, 2);
    write_buffers(kLast, 0, {range(8)}, set);
  }
  const auto second = handle<VkDescriptorSet>(2);
  sizes_.remove_sets(handle<VkDescriptorPool>(2), {&second, 1});
  EXPECT_THAT(read(kLast, 2), IsEmpty());
  allocate(2, 1, 2);
  EXPECT_THAT(read(kLast, 2), IsEmpty()) << "nothing is written yet";
  write_buffers(kLast, 0, {range(8)}, 2);
  sizes_.remove_pool(handle<VkDescriptorPool>(2));
  EXPECT_THAT(read(kLast, 2), IsEmpty());
  EXPECT_THAT(read(kLast, 3), IsEmpty());
  EXPECT_THAT(read(kLast, 1), ElementsAre(1, 4));
}

// The layout may be destroyed before its sets.
TEST_F(DescriptorSizesTest, a_set_keeps_the_layout_that_it_was_allocated_with) {
  sizes_.remove(handle<VkDescriptorSetLayout>(1));
  bindings_.resize(1);
  add_layout(1);
  write_buffers(kBuffers, 0, {range(4), range(8), range(12)});
  EXPECT_THAT(read(kBuffers), ElementsAre(3, 4, 8, 12));
  allocate(2);
  write_buffers(kBuffers, 0, {range(4), range(8), range(12)}, 2);
  EXPECT_THAT(read(kBuffers, 2), IsEmpty());
}

TEST_F(DescriptorSizesTest, templates_read_each_descriptor_at_its_stride) {
  const struct Data {
    uint32_t others = 7;
    struct Padded {
      VkDescriptorBufferInfo info{};
      uint64_t padding[3] = {1, 2, 3};
    } buffers[3];
    VkDescriptorImageInfo images[2]{};
  } data{7,
         {{range(4)}, {range(8)}, {range(VK_WHOLE_SIZE)}},
         {{VK_NULL_HANDLE, handle<VkImageView>(1), VK_IMAGE_LAYOUT_GENERAL},
          {VK_NULL_HANDLE, handle<VkImageView>(1), VK_IMAGE_LAYOUT_GENERAL}}};
  const VkDescriptorUpdateTemplateEntry entries[] = {
      {kBuffers, 0, 3, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, offsetof(Data, buffers),
       sizeof(Data::Padded)},
      {kImages, 0, 2, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, offsetof(Data, images),
       sizeof(VkDescriptorImageInfo)}};
  VkDescriptorUpdateTemplateCreateInfo info{
      VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO};
  info.descriptorUpdateEntryCount = 2;
  info.pDescriptorUpdateEntries = entries;
  info.templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET;
  sizes_.add(handle<VkDescriptorUpdateTemplate>(1), info);
  sizes_.update(handle<VkDescriptorSet>(1), handle<VkDescriptorUpdateTemplate>(1), &data);
  EXPECT_THAT(read(kBuffers), ElementsAre(3, 4, 8, 1000));
  EXPECT_THAT(read(kImages), Not(IsEmpty()));
  sizes_.update(handle<VkDescriptorSet>(1), handle<VkDescriptorUpdateTemplate>(2), &data);
  EXPECT_THAT(read(kBuffers), IsEmpty()) << "by a template that is not known";
}

TEST_F(DescriptorSizesTest, pushed_descriptors_stay_until_something_else_is_bound) {
  const VkDescriptorSetLayout set_layouts[] = {VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE,
                                               handle<VkDescriptorSetLayout>(1)};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.setLayoutCount = 4;
  info.pSetLayouts = set_layouts;
  sizes_.add(handle<VkPipelineLayout>(1), info);
  const auto layout = sizes_.find(handle<VkPipelineLayout>(1), 3);
  ASSERT_TRUE(layout);
  EXPECT_FALSE(sizes_.find(handle<VkPipelineLayout>(1), 2));
  EXPECT_FALSE(sizes_.find(handle<VkPipelineLayout>(1), 4));
  EXPECT_FALSE(sizes_.find(handle<VkPipelineLayout>(2), 3));
  BoundSets bound;
  const auto push = [&](uint32_t element, VkDeviceSize size) {
    const VkDescriptorBufferInfo buffer = range(size);
    VkWriteDescriptorSet write =
        write_of(0, kBuffers, element, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
    write.pBufferInfo = &buffer;
    sizes_.write(*bound.push(3, layout), {&write, 1});
  };
  const auto push_all = [&] {
    for (uint32_t i = 0; i < 3; ++i) push(i, 4 + 4 * i);
    EXPECT_THAT(read(bound, kBuffers), ElementsAre(3, 4, 8, 12));
  };
  push_all();
  push(1, 16);
  EXPECT_THAT(read(bound, kBuffers), ElementsAre(3, 4, 16, 12));
  bound.reset();
  EXPECT_THAT(read(bound, kBuffers), IsEmpty());
  push(1, 16);
  EXPECT_THAT(read(bound, kBuffers), IsEmpty()) << "the others are those of the last recording";
  push_all();
  const auto set = handle<VkDescriptorSet>(1);
  bound.bind(3, {&set, 1});
  EXPECT_THAT(read(bound, kBuffers), IsEmpty());
  push(1, 16);
  EXPECT_THAT(read(bound, kBuffers), IsEmpty());
  push_all();
  EXPECT_EQ(bound.push(3, nullptr), nullptr);
  EXPECT_THAT(read(bound, kBuffers), IsEmpty());
}

TEST_F(DescriptorSizesTest, sets_that_are_bound_take_the_place_of_others) {
  allocate(2);
  write_buffers(kLast, 0, {range(4)});
  write_buffers(kLast, 0, {range(8)}, 2);
  BoundSets bound;
  const VkDescriptorSet both[] = {handle<VkDescriptorSet>(1), handle<VkDescriptorSet>(2)};
  bound.bind(2, both);
  EXPECT_THAT(read(bound, kLast), ElementsAre(1, 8));
  bound.bind(3, {both, 1});
  EXPECT_THAT(read(bound, kLast), ElementsAre(1, 4));
  const VkDescriptorSet none = VK_NULL_HANDLE;
  bound.bind(3, {&none, 1});
  EXPECT_THAT(read(bound, kLast), IsEmpty());
  bound.bind(7, both);  // the second one is beyond those that are kept
  const Resource beyond{8, kLast};
  Sizes room(8);
  EXPECT_THAT(bound.read({&beyond, 1}, sizes_, room), IsEmpty());
}

TEST_F(DescriptorSizesTest, more_sizes_than_fit_are_none) {
  write_buffers(kBuffers, 0, {range(4), range(8), range(12)});
  write_buffers(kLast, 0, {range(16)});
  BoundSets bound;
  const auto set = handle<VkDescriptorSet>(1);
  bound.bind(0, {&set, 1});
  const Resource both[] = {{0, kBuffers}, {0, kLast}};
  Sizes room(6);
  EXPECT_THAT(bound.read(both, sizes_, room), ElementsAre(3, 4, 8, 12, 1, 16));
  EXPECT_THAT(bound.read(both, sizes_, std::span(room).first(5)), IsEmpty());
}

}  // namespace
}  // namespace tally::capture
