#version 450
#extension GL_ARB_shader_viewport_layer_array : require
// One triangle over the whole target per instance, in the layer with the instance's index.
void main() {
  gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.5, 1.0);
  gl_Layer = gl_InstanceIndex;
}
