#version 460
#extension GL_EXT_descriptor_heap : require
#extension GL_EXT_nonuniform_qualifier : require
// As stripes.frag, but the texture and the sampler are found in the heaps. heap_stripes.inc holds the SPIR-V, since glslang
// of Debian 12 does not know the extension. Made with glslang 16:
// glslang --target-env vulkan1.4 -x -o heap_stripes.inc heap_stripes.frag
layout(descriptor_heap) uniform texture2D pictures[];
layout(descriptor_heap) uniform sampler samplers[];
layout(push_constant) uniform Push {
  uint picture;
  uint how;
};
layout(location = 0) out vec4 color;

void main() {
  if (textureLod(sampler2D(pictures[picture], samplers[how]), gl_FragCoord.xy / 32.0, 0.0).r > 0.5) {
    color = vec4(1.0, 0.5, 0.0, 1.0);
  } else {
    color = vec4(0.0, 0.0, 1.0, 1.0);
  }
}
