#include "oracle/launch_parts.h"

#include <fmt/format.h>

namespace tally::test {

LaunchParts::LaunchParts(ProgramText& text) : text_(text) {
  const uint32_t kind = text_.pick(6);
  leaks_ = kind < 2 ? 0 : kind < 5 ? 1 : 1 + text_.pick(4);
  if (text_.pick(2)) return;
  mostly_sizes_ = true;
  if (text_.pick(3)) leaks_ = 0;
}

std::string LaunchParts::header() {
  return R"(OpCapability Shader
OpCapability GroupNonUniform
OpCapability GroupNonUniformArithmetic
OpCapability ImageQuery
OpCapability StorageImageArrayDynamicIndexing
OpCapability StorageBufferArrayDynamicIndexing
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %global_id %group_id %groups %local_index %lane %subgroup_size
OpExecutionMode %main LocalSize 8 2 1
OpDecorate %global_id BuiltIn GlobalInvocationId
OpDecorate %group_id BuiltIn WorkgroupId
OpDecorate %groups BuiltIn NumWorkgroups
OpDecorate %local_index BuiltIn LocalInvocationIndex
OpDecorate %lane BuiltIn SubgroupLocalInvocationId
OpDecorate %subgroup_size BuiltIn SubgroupSize
OpDecorate %values ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
OpDecorate %rows ArrayStride 16
OpDecorate %uniform_block Block
OpMemberDecorate %uniform_block 0 Offset 0
OpDecorate %uniforms DescriptorSet 0
OpDecorate %uniforms Binding 1
OpDecorate %images DescriptorSet 1
OpDecorate %images Binding 0
OpDecorate %images NonWritable
OpDecorate %texture DescriptorSet 1
OpDecorate %texture Binding 1
OpDecorate %lists DescriptorSet 1
OpDecorate %lists Binding 2
OpDecorate %last_list DescriptorSet 1
OpDecorate %last_list Binding 3
OpDecorate %pushed_array ArrayStride 4
OpDecorate %push_block Block
OpMemberDecorate %push_block 0 Offset 0
OpMemberDecorate %push_block 1 Offset 4
OpMemberDecorate %push_block 2 Offset 8
OpMemberDecorate %push_block 3 Offset 16
OpMemberDecorate %push_block 4 Offset 32
OpMemberDecorate %push_block 5 Offset 36
)";
}

std::string LaunchParts::globals() {
  std::string text = R"(OpDecorate %spec0 SpecId 10
OpDecorate %spec1 SpecId 11
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%int = OpTypeInt 32 1
%float = OpTypeFloat 32
%uvec2 = OpTypeVector %uint 2
%uvec3 = OpTypeVector %uint 3
%uvec4 = OpTypeVector %uint 4
%spec0 = OpSpecConstant %uint 3
%spec1 = OpSpecConstant %uint 4
%half = OpConstant %float 0.5
%c255 = OpConstant %uint 255
%c1023 = OpConstant %uint 1023
%c1024 = OpConstant %uint 1024
)";
  for (int i = 0; i < 64; ++i) text += fmt::format("%c{} = OpConstant %uint {}\n", i, i);
  return text + R"(%four = OpTypeArray %uint %c4
%pushed_array = OpTypeArray %uint %c4
%sixteen = OpTypeArray %uint %c16
%rows = OpTypeArray %uvec4 %c4
%values = OpTypeRuntimeArray %uint
%block = OpTypeStruct %values
%uniform_block = OpTypeStruct %rows
%push_block = OpTypeStruct %uint %uint %uvec2 %pushed_array %float %uint
%pair = OpTypeStruct %uint %uint
%parts = OpTypeStruct %float %float
%zeros = OpConstantNull %four
%corner = OpConstantNull %uvec2
%no_pair = OpConstantNull %pair
%image_type = OpTypeImage %uint 2D 0 0 0 2 R32ui
%texture_type = OpTypeImage %uint 2D 0 1 0 1 Unknown
%two_images = OpTypeArray %image_type %c2
%two_lists = OpTypeArray %block %c2
%void_function = OpTypeFunction %void
%uint_function = OpTypeFunction %uint %uint
%getter = OpTypeFunction %uint
%function_uint = OpTypePointer Function %uint
%function_int = OpTypePointer Function %int
%function_float = OpTypePointer Function %float
%function_four = OpTypePointer Function %four
%private_uint = OpTypePointer Private %uint
%private_four = OpTypePointer Private %four
%private_pair = OpTypePointer Private %pair
%in_uint = OpTypePointer Input %uint
%in_uvec3 = OpTypePointer Input %uvec3
%push_pointer = OpTypePointer PushConstant %push_block
%push_uint = OpTypePointer PushConstant %uint
%push_float = OpTypePointer PushConstant %float
%buffer_block = OpTypePointer StorageBuffer %block
%buffer_uint = OpTypePointer StorageBuffer %uint
%image_pointer = OpTypePointer UniformConstant %image_type
%images_pointer = OpTypePointer UniformConstant %two_images
%texture_pointer = OpTypePointer UniformConstant %texture_type
%lists_pointer = OpTypePointer StorageBuffer %two_lists
%uniform_pointer = OpTypePointer Uniform %uniform_block
%uniform_uint = OpTypePointer Uniform %uint
%shared_pointer = OpTypePointer Workgroup %sixteen
%shared_uint = OpTypePointer Workgroup %uint
%of_block = OpTypeFunction %uint %push_block
%storer = OpTypeFunction %void %function_uint %uint
%putter = OpTypeFunction %void %function_four %uint %uint
%global_id = OpVariable %in_uvec3 Input
%group_id = OpVariable %in_uvec3 Input
%groups = OpVariable %in_uvec3 Input
%local_index = OpVariable %in_uint Input
%lane = OpVariable %in_uint Input
%subgroup_size = OpVariable %in_uint Input
%push = OpVariable %push_pointer PushConstant
%buffer = OpVariable %buffer_block StorageBuffer
%images = OpVariable %images_pointer UniformConstant
%texture = OpVariable %texture_pointer UniformConstant
%lists = OpVariable %lists_pointer StorageBuffer
%last_list = OpVariable %buffer_block StorageBuffer
%uniforms = OpVariable %uniform_pointer Uniform
%shared = OpVariable %shared_pointer Workgroup
%id = OpVariable %private_uint Private
%fuel = OpVariable %private_uint Private
%slot = OpVariable %private_uint Private
%kept = OpVariable %private_uint Private %c5
%array = OpVariable %private_four Private %zeros
%both = OpVariable %private_pair Private %no_pair
%data = OpVariable %private_uint Private
%data_array = OpVariable %private_four Private %zeros
%sum = OpVariable %private_uint Private
%copied = OpVariable %private_uint Private %c6
)";
}

namespace {

// A loop that goes on as often as a sum of all sizes says, each with a weight of its own.
std::string loop_of_sizes() {
  std::string text = R"(%first_size = OpImageQuerySize %uvec2 %first_image
%second_size = OpImageQuerySize %uvec2 %second_image
%whole_texture = OpLoad %texture_type %texture
%texture_size = OpImageQuerySizeLod %uvec3 %whole_texture %c1
%size0 = OpCompositeExtract %uint %first_size 0
%size1 = OpCompositeExtract %uint %first_size 1
%size2 = OpCompositeExtract %uint %second_size 0
%size3 = OpCompositeExtract %uint %second_size 1
%size4 = OpCompositeExtract %uint %texture_size 0
%size5 = OpCompositeExtract %uint %texture_size 1
%size6 = OpCompositeExtract %uint %texture_size 2
%size7 = OpImageQueryLevels %uint %whole_texture
%first_list = OpAccessChain %buffer_block %lists %c0
%size8 = OpArrayLength %uint %first_list 0
%second_list = OpAccessChain %buffer_block %lists %c1
%size9 = OpArrayLength %uint %second_list 0
%size10 = OpArrayLength %uint %last_list 0
%sum0 = OpIMul %uint %size0 %c1
)";
  constexpr int kWeights[] = {1, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31};
  for (int i = 1; i < 11; ++i) {
    text += fmt::format(
        "%weighted{0} = OpIMul %uint %size{0} %c{1}\n"
        "%sum{0} = OpIAdd %uint %sum{2} %weighted{0}\n",
        i, kWeights[i], i - 1);
  }
  return text + R"(%times = OpUMod %uint %sum10 %c61
OpBranch %sizes_header
%sizes_header = OpLabel
%k = OpPhi %uint %c0 %start %next_k %sizes_next
OpLoopMerge %sizes_end %sizes_next None
OpBranch %sizes_test
%sizes_test = OpLabel
%goes_on = OpULessThan %bool %k %times
OpBranchConditional %goes_on %sizes_next %sizes_end
%sizes_next = OpLabel
%next_k = OpIAdd %uint %k %c1
OpBranch %sizes_header
%sizes_end = OpLabel
)";
}

}  // namespace

// Each invocation has a place in the first 1,024 words of the buffer. Others only read what
// follows.
std::string LaunchParts::main() const {
  return R"(%main = OpFunction %void None %void_function
%start = OpLabel
%ids = OpLoad %uvec3 %global_id
%x = OpCompositeExtract %uint %ids 0
%y = OpCompositeExtract %uint %ids 1
%row = OpShiftLeftLogical %uint %y %c7
%flat = OpIAdd %uint %x %row
%place = OpBitwiseAnd %uint %flat %c1023
OpStore %slot %place
OpStore %id %x
OpStore %fuel %c60
%low = OpBitwiseAnd %uint %place %c255
%read_place = OpIAdd %uint %low %c1024
%read_pointer = OpAccessChain %buffer_uint %buffer %c0 %read_place
%read = OpLoad %uint %read_pointer
OpStore %data %read
%reduced = OpGroupNonUniformIAdd %uint %c3 Reduce %read
OpStore %sum %reduced
%first_image_pointer = OpAccessChain %image_pointer %images %c0
%first_image = OpLoad %image_type %first_image_pointer
%first_texel = OpImageRead %uvec4 %first_image %corner
%second_image_pointer = OpAccessChain %image_pointer %images %c1
%second_image = OpLoad %image_type %second_image_pointer
%second_texel = OpImageRead %uvec4 %second_image %corner
%texels = OpIAdd %uvec4 %first_texel %second_texel
%texel = OpCompositeExtract %uint %texels 0
%some_data = OpLoad %uint %data
%more_data = OpIAdd %uint %some_data %texel
OpStore %data %more_data
)" + (mostly_sizes_ ? loop_of_sizes() : std::string()) +
         R"(%mixed = OpIMul %uint %x %c29
%result = OpFunctionCall %uint %f0 %mixed
%end_data = OpLoad %uint %data
%out = OpBitwiseXor %uint %result %end_data
%out_pointer = OpAccessChain %buffer_uint %buffer %c0 %place
OpStore %out_pointer %out
OpReturn
OpFunctionEnd
%second_of = OpFunction %uint None %of_block
%given_block = OpFunctionParameter %push_block
%in_second_of = OpLabel
%second = OpCompositeExtract %uint %given_block 1
OpReturnValue %second
OpFunctionEnd
%twice = OpFunction %uint None %uint_function
%once = OpFunctionParameter %uint
%in_twice = OpLabel
%doubled = OpIAdd %uint %once %once
OpReturnValue %doubled
OpFunctionEnd
%get_data = OpFunction %uint None %getter
%in_get_data = OpLabel
%got_data = OpLoad %uint %data
OpReturnValue %got_data
OpFunctionEnd
%store = OpFunction %void None %storer
%store_to = OpFunctionParameter %function_uint
%store_this = OpFunctionParameter %uint
%in_store = OpLabel
OpStore %store_to %store_this
OpReturn
OpFunctionEnd
%put = OpFunction %void None %putter
%put_to = OpFunctionParameter %function_four
%put_at = OpFunctionParameter %uint
%put_this = OpFunctionParameter %uint
%in_put = OpLabel
%put_pointer = OpAccessChain %function_uint %put_to %put_at
OpStore %put_pointer %put_this
OpReturn
OpFunctionEnd
)";
}

std::string LaunchParts::masked(const std::string& number, uint32_t mask) {
  return text_.let("OpBitwiseAnd %uint {} {}", number, text_.constant(mask));
}

std::string LaunchParts::load(const std::string& type, const std::string& chain) {
  return text_.let("OpLoad %uint {}", text_.let("OpAccessChain {} {}", type, chain));
}

// A number of the size of a descriptor. `element` chooses one of an array: the same one in all
// invocations of a dispatch.
std::string LaunchParts::size(const std::string& element) {
  const auto of_texture = [&] { return text_.let("OpLoad %texture_type %texture"); };
  switch (text_.pick(5)) {
    case 0:
      return text_.let(
          "OpCompositeExtract %uint {} {}",
          text_.let("OpImageQuerySize %uvec2 {}",
                    text_.let("OpLoad %image_type {}",
                              text_.let("OpAccessChain %image_pointer %images {}", element))),
          text_.pick(2));
    case 1:
      return text_.let(
          "OpCompositeExtract %uint {} {}",
          text_.let("OpImageQuerySizeLod %uvec3 {} {}", of_texture(), masked(text_.get(), 1)),
          text_.pick(3));
    case 2:
      return text_.let("OpImageQueryLevels %uint {}", of_texture());
    case 3:
      return text_.let("OpArrayLength %uint {} 0",
                       text_.let("OpAccessChain %buffer_block %lists {}", element));
    default:
      return text_.let("OpArrayLength %uint {} 0", text_.pick(2) ? "%last_list" : "%buffer");
  }
}

// A number that is the same in each dispatch with the same key.
std::string LaunchParts::input() {
  const auto component = [&](const char* variable, uint32_t n) {
    return text_.let("OpCompositeExtract %uint {} {}", text_.let("OpLoad %uvec3 {}", variable), n);
  };
  if (mostly_sizes_ && text_.pick(3)) {
    const uint32_t element = text_.pick(3);
    return size(element == 2 ? masked(load("%push_uint", "%push %c0"), 1)
                             : fmt::format("%c{}", element));
  }
  switch (text_.pick(18)) {
    case 0:
      return load("%push_uint", "%push %c0");
    case 1:
      return load("%push_uint", "%push %c1");
    case 2:
      return load("%push_uint", fmt::format("%push %c2 %c{}", text_.pick(2)));
    case 3:
      return load("%push_uint", fmt::format("%push %c3 %c{}", text_.pick(4)));
    case 4:
      return load("%push_uint", "%push %c3 " + masked(text_.get(), 3));
    case 5:
      return text_.let(
          "OpConvertFToU %uint {}",
          text_.let("OpLoad %float {}", text_.let("OpAccessChain %push_float %push %c4")));
    case 6:
      return load("%push_uint", "%push %c5");
    case 7:
      return text_.let("OpCompositeExtract %uint {} {}", text_.let("OpLoad %push_block %push"),
                       text_.pick(2));
    case 8:
      return text_.let("OpFunctionCall %uint %second_of {}", text_.let("OpLoad %push_block %push"));
    case 9:
      return component("%group_id", text_.pick(2));
    case 10:
      return component("%groups", text_.pick(2));
    case 11:
      return text_.let("OpLoad %uint %local_index");
    case 12:
      return text_.let("OpLoad %uint {}", text_.pick(2) ? "%lane" : "%subgroup_size");
    case 13:
      return load("%in_uint", "%group_id " + masked(text_.get(), 1));
    case 14:
      return load("%private_uint", fmt::format("%array %c{}", text_.pick(4)));
    case 15:
      return size(fmt::format("%c{}", text_.pick(2)));
    case 16:
      return size(masked(load("%push_uint", "%push %c0"), 1));
    default:
      return component("%global_id", text_.pick(2));
  }
}

// A number that may be another one in each dispatch.
std::string LaunchParts::from_memory() {
  const auto word = [&](const std::string& place) {
    return text_.let("OpAccessChain %buffer_uint %buffer %c0 {}", place);
  };
  const auto read_only = [&] {
    return word(
        text_.let("OpIAdd %uint {} %c1024", text_.let("OpBitwiseAnd %uint {} %c255", text_.get())));
  };
  const auto own = [&] { return word(text_.let("OpLoad %uint %slot")); };
  const auto data = [&] { return text_.let("OpLoad %uint %data"); };
  switch (text_.pick(12)) {
    case 0:
      return text_.let("OpLoad %uint {}", read_only());
    case 1:
      return text_.let("OpLoad %uint {}", own());
    case 2:
      return load("%uniform_uint",
                  fmt::format("%uniforms %c0 {} %c{}", masked(text_.get(), 3), text_.pick(4)));
    case 3:
      return size(
          masked(load("%uniform_uint", fmt::format("%uniforms %c0 %c0 %c{}", text_.pick(4))), 1));
    case 4: {
      const std::string shared = text_.let("OpAccessChain %shared_uint %shared {}",
                                           text_.let("OpLoad %uint %local_index"));
      text_.line("OpStore {} {}", shared, data());
      return text_.let("OpLoad %uint {}", shared);
    }
    case 5:
      return text_.let("OpAtomicIAdd %uint {} %c1 %c0 %c3", own());
    case 6:
      return text_.let("OpLoad %uint %sum");
    case 7:
      text_.line("OpCopyMemory %copied {}", read_only());
      return text_.let("OpLoad %uint %copied");
    case 8:
      return load("%push_uint", "%push %c3 " + masked(data(), 3));
    case 9:
      return load("%in_uint", "%group_id " + masked(data(), 1));
    case 10:
      return text_.let("OpFunctionCall %uint %get_data");
    default:
      return data();
  }
}

// After the last two ways no dispatch of the program repeats.
std::string LaunchParts::through_variables(const std::string& number) {
  switch (text_.pick(text_.pick(20) == 0 ? 8 : 6)) {
    case 0:
      text_.line("OpStore %kept {}", number);
      return text_.let("OpLoad %uint %kept");
    case 1: {  // the place
      const std::string place =
          text_.let("OpAccessChain %private_uint %array {}", masked(number, 3));
      text_.line("OpStore {} {}", place, text_.constant(1 + text_.pick(60)));
      return load("%private_uint", fmt::format("%array %c{}", text_.pick(4)));
    }
    case 2:
      return load("%private_uint", "%array " + masked(number, 3));
    case 3: {
      const std::string variable = text_.new_variable("%uint");
      text_.line("OpStore {} %c1", variable);
      text_.let("OpFunctionCall %void %store {} {}", variable, number);
      return text_.let("OpLoad %uint {}", variable);
    }
    case 4: {
      const std::string variable = text_.new_variable("%four");
      text_.line("OpStore {} %zeros", variable);
      text_.let("OpFunctionCall %void %put {} {} {}", variable, masked(number, 3),
                text_.constant(1 + text_.pick(60)));
      return load("%function_uint", fmt::format("{} %c{}", variable, text_.pick(4)));
    }
    case 6: {
      const std::string variable = text_.new_variable("%float");
      text_.line("OpStore {} %half", variable);
      text_.let("OpExtInst %float %glsl Modf {} {}",
                text_.let("OpConvertUToF %float {}", masked(number, 63)), variable);
      return text_.let("OpConvertFToU %uint {}", text_.let("OpLoad %float {}", variable));
    }
    case 5: {
      const std::string member = text_.let("OpAccessChain %private_uint %both %c1");
      text_.line("OpStore {} {}", member, number);
      return text_.let("OpCompositeExtract %uint {} 1", text_.let("OpLoad %pair %both"));
    }
    default:
      text_.line("OpStore %kept {}", number);
      text_.line("OpCopyMemory %copied %kept");
      return text_.let("OpLoad %uint %copied");
  }
}

std::string LaunchParts::through_values(const std::string& number) {
  const auto is_odd = [&] { return text_.let("OpIEqual %bool {} %c1", masked(number, 1)); };
  switch (text_.pick(10)) {
    case 0:
      return text_.let("OpSelect %uint {} {} {}", is_odd(), text_.constant(text_.pick(60)),
                       text_.get());
    case 1:
      return text_.let("OpVectorExtractDynamic %uint {} {}",
                       text_.let("OpCompositeConstruct %uvec2 {} {}", text_.get(), number),
                       masked(text_.get(), 1));
    case 2:
      return text_.let("OpVectorExtractDynamic %uint {} {}",
                       text_.let("OpCompositeConstruct %uvec2 %c3 {}", text_.get()),
                       masked(number, 1));
    case 3:
      return text_.let("OpCompositeExtract %uint {} 1",
                       text_.let("OpCompositeInsert %pair {} %no_pair 1", number));
    case 4:
      return text_.let(
          "OpConvertFToU %uint {}",
          text_.let("OpCompositeExtract %float {} 1",
                    text_.let("OpExtInst %parts %glsl ModfStruct {}",
                              text_.let("OpConvertUToF %float {}", masked(number, 63)))));
    case 5:
      return text_.let("OpExtInst %uint %glsl UMin {} {}", number, text_.constant(60));
    case 6:
      return text_.let("OpBitCount %uint {}", number);
    case 7:
      return text_.let("OpCompositeExtract %uint {} {}",
                       text_.let("OpUMulExtended %pair {} {}", number,
                                 text_.constant(100'000 + text_.pick(1000))),
                       text_.pick(2));
    case 8:
      return text_.let("OpFunctionCall %uint %twice {}", number);
    default:
      return text_.let("OpCopyObject %uint {}", number);
  }
}

std::string LaunchParts::through(const std::string& number) {
  return text_.pick(2) ? through_variables(number) : through_values(number);
}

bool LaunchParts::leaks() {
  if (leaks_ == 0 || text_.pick(3) != 0) return false;
  --leaks_;
  return true;
}

void LaunchParts::statement() {
  static constexpr const char* kOperations[] = {"OpIAdd", "OpIMul", "OpBitwiseXor", "OpISub"};
  const auto change = [&](const std::string& number) {
    text_.set(text_.let("{} %uint {} {}", kOperations[text_.pick(4)], text_.get(), number));
  };
  if (leaks()) return change(through(from_memory()));
  switch (text_.pick(8)) {
    case 0:
      text_.line("OpStore %data {}",
                 text_.let("OpIAdd %uint {} {}", text_.let("OpLoad %uint %data"), from_memory()));
      return;
    case 1:
      text_.line("OpStore %data {}", text_.let("OpBitwiseXor %uint {} {}",
                                               text_.let("OpLoad %uint %data"), text_.get()));
      return;
    case 2:
      text_.line("OpStore {} {}",
                 text_.let("OpAccessChain %private_uint %data_array {}", masked(from_memory(), 3)),
                 text_.get());
      return;
    case 3:
      text_.line("OpStore {} {}",
                 text_.let("OpAccessChain %private_uint %array {}", masked(text_.get(), 3)),
                 text_.get());
      return;
    default:
      return change(through(input()));
  }
}

std::string LaunchParts::number() { return leaks() ? through(from_memory()) : input(); }

}  // namespace tally::test
