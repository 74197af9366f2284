// Doubles numbers with Dawn, from the npm package `webgpu`, and prints them.
import {create, globals} from "webgpu";

Object.assign(globalThis, globals);
const gpu = create(["backend=vulkan"]);
const adapter = await gpu.requestAdapter();
if (!adapter) throw new Error("no adapter");
const device = await adapter.requestDevice();
const size = 4 * 256;
const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
const buffer = device.createBuffer({size, usage});
device.queue.writeBuffer(buffer, 0, Uint32Array.from({length: 256}, (_, i) => i));
const module = device.createShaderModule({code: `
  @group(0) @binding(0) var<storage, read_write> values: array<u32>;
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    for (var i = 0u; i < id.x % 3u; i++) { values[id.x] *= 2u; }
  }`});
const pipeline = device.createComputePipeline({layout: "auto", compute: {module, entryPoint: "main"}});
const group = device.createBindGroup({
  layout: pipeline.getBindGroupLayout(0), entries: [{binding: 0, resource: {buffer}}]});
const result = device.createBuffer({size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});
const encoder = device.createCommandEncoder();
const pass = encoder.beginComputePass();
pass.setPipeline(pipeline);
pass.setBindGroup(0, group);
pass.dispatchWorkgroups(4);
pass.end();
encoder.copyBufferToBuffer(buffer, 0, result, 0, size);
device.queue.submit([encoder.finish()]);
await result.mapAsync(GPUMapMode.READ);
console.log(new Uint32Array(result.getMappedRange()).join(" "));
device.destroy();
process.exit(0);
