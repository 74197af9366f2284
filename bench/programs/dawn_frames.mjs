// Draws as many frames as the last argument says with Dawn: particles that a compute shader moves,
// and lit triangles over them; each frame is read back.
// COUNT_BY_HAND=1: the shaders count their blocks exactly with atomic operations, except the vertex shader, which WebGPU
// allows none. The program checks the counts of the compute shader. COUNT_BY_HAND=layer: the same with only what a layer
// knows: whether a command counts is in memory.
// It has to be in the same folder as the npm package `webgpu`:
//   scripts/fetch-npm-programs && cp bench/programs/dawn_frames.mjs .deps/webgpu && node .deps/webgpu/dawn_frames.mjs 100
import {create, globals} from "webgpu";

Object.assign(globalThis, globals);
const frames = parseInt(process.argv.at(-1));
const byHand = process.env.COUNT_BY_HAND !== undefined;
const asLayer = process.env.COUNT_BY_HAND === "layer";
const counts = byHand ? "@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>, 5>;" : "";
const uniform = asLayer ? "@group(0) @binding(2) var<uniform> counting: u32;" : "";
const count_in = (i) => !byHand ? "" : `atomicAdd(&counts[${i}], ${asLayer ? "counting" : "1"});`;
const gpu = create(["backend=vulkan"]);
const adapter = await gpu.requestAdapter();
if (!adapter) throw new Error("no adapter");
const device = await adapter.requestDevice();

const count = 16384, width = 640, height = 480;
const particles = device.createBuffer({size: 16 * count, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.VERTEX});
const moved = device.createComputePipeline({layout: "auto", compute: {module: device.createShaderModule({code: `
  @group(0) @binding(0) var<storage, read_write> particles: array<vec4f>;
  ${counts} ${uniform}
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    var p = particles[id.x];
    ${count_in(0)}
    if (all(p == vec4f(0))) {
      ${count_in(1)}
      p = vec4f(fract(f32(id.x) * 0.618) * 2 - 1, fract(f32(id.x) * 0.414) * 2 - 1, 0, 0);
    }
    for (var i = 0; i < 8; i++) {
      let force = -normalize(p.xy) / (0.1 + dot(p.xy, p.xy));
      p = vec4f(p.xy + p.zw * 0.002, p.zw + force * 0.002);
    }
    if (any(abs(p.xy) > vec2f(1))) { ${count_in(2)} p = vec4f(p.xy, -p.zw); }
    particles[id.x] = p;
  }`}), entryPoint: "main"}});
const drawn = device.createRenderPipeline({
  layout: "auto",
  vertex: {
    module: device.createShaderModule({code: `
      struct Out { @builtin(position) position: vec4f, @location(0) place: vec2f, @location(1) speed: f32 }
      @vertex fn main(@builtin(vertex_index) i: u32, @location(0) p: vec4f) -> Out {
        let corner = vec2f(f32(i % 2), f32(i / 2)) * 2 - 1;
        return Out(vec4f(p.xy + corner * 0.006, 0, 1), corner, length(p.zw));
      }`}),
    entryPoint: "main",
    buffers: [{arrayStride: 16, stepMode: "instance", attributes: [{shaderLocation: 0, offset: 0, format: "float32x4"}]}],
  },
  fragment: {
    module: device.createShaderModule({code: `
      ${counts} ${uniform}
      @fragment fn main(@location(0) place: vec2f, @location(1) speed: f32) -> @location(0) vec4f {
        let inside = 1 - dot(place, place);
        ${count_in(3)}
        if (inside < 0) { ${count_in(4)} discard; }
        return vec4f(0.2, 0.1 + 0.2 * speed, 0.3, 1) * inside;
      }`}),
    entryPoint: "main",
    targets: [{format: "rgba8unorm", blend: {
      color: {srcFactor: "one", dstFactor: "one"}, alpha: {srcFactor: "one", dstFactor: "one"}}}],
  },
  primitive: {topology: "triangle-strip"},
});
const counted = byHand ? device.createBuffer({size: 20, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC}) : null;
const ofCounts = byHand ? [{binding: 1, resource: {buffer: counted}}] : [];
if (asLayer) {
  const counting = device.createBuffer({size: 4, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST});
  device.queue.writeBuffer(counting, 0, new Uint32Array([1]));
  ofCounts.push({binding: 2, resource: {buffer: counting}});
}
const group = device.createBindGroup({
  layout: moved.getBindGroupLayout(0), entries: [{binding: 0, resource: {buffer: particles}}, ...ofCounts]});
const countsOfDraws = byHand
  ? device.createBindGroup({layout: drawn.getBindGroupLayout(0), entries: ofCounts}) : null;
const target = device.createTexture({
  size: [width, height], format: "rgba8unorm", usage: GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC});
const picture = device.createBuffer({size: 4 * width * height, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ});
let sum = 0;
for (let frame = 0; frame < frames; frame++) {
  const encoder = device.createCommandEncoder();
  const compute = encoder.beginComputePass();
  compute.setPipeline(moved);
  compute.setBindGroup(0, group);
  compute.dispatchWorkgroups(count / 64);
  compute.end();
  const pass = encoder.beginRenderPass({colorAttachments: [
    {view: target.createView(), loadOp: "clear", storeOp: "store", clearValue: [0, 0, 0, 1]}]});
  pass.setPipeline(drawn);
  pass.setVertexBuffer(0, particles);
  if (byHand) pass.setBindGroup(0, countsOfDraws);
  pass.draw(4, count);
  pass.end();
  encoder.copyTextureToBuffer({texture: target}, {buffer: picture, bytesPerRow: 4 * width}, [width, height]);
  device.queue.submit([encoder.finish()]);
  await picture.mapAsync(GPUMapMode.READ);
  sum += new Uint32Array(picture.getMappedRange())[width * height / 2 + width / 2];
  picture.unmap();
}
console.log(sum);
if (byHand) {
  const read = device.createBuffer({size: 20, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ});
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(counted, 0, read, 0, 20);
  device.queue.submit([encoder.finish()]);
  await read.mapAsync(GPUMapMode.READ);
  const values = new Uint32Array(read.getMappedRange());
  console.error(`by hand: ${values}`);
  if (values[0] !== frames * count || values[1] !== count) throw new Error(`the counts by hand are wrong: ${values}`);
}
device.destroy();
process.exit(0);
