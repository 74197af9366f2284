// three.js on Dawn: draws as many frames as the last argument says into a target, reads each, and prints a checksum of the last.
import {create, globals} from "webgpu";

Object.assign(globalThis, globals);
Object.defineProperty(globalThis, "navigator", {value: {gpu: create(["backend=vulkan"]), userAgent: "node"}, configurable: true});
globalThis.self = globalThis;
globalThis.requestAnimationFrame ??= f => setTimeout(f, 1);
globalThis.cancelAnimationFrame ??= clearTimeout;
const size = 64;
const THREE = await import("three/webgpu");
const context = {configure() {}, unconfigure() {}, getCurrentTexture() { throw new Error("no canvas"); }};
const canvas = {width: size, height: size, style: {}, getContext: () => context, addEventListener() {}, removeEventListener() {},
                setAttribute() {}, getRootNode: () => ({})};
const renderer = new THREE.WebGPURenderer({canvas, antialias: false});
await renderer.init();
const scene = new THREE.Scene();
scene.background = new THREE.Color(0x204060);
const camera = new THREE.PerspectiveCamera(50, 1, 0.1, 10);
camera.position.set(0, 1, 3);
camera.lookAt(0, 0, 0);
const light = new THREE.DirectionalLight(0xffffff, 2);
light.position.set(1, 2, 3);
scene.add(light, new THREE.AmbientLight(0x404040));
scene.add(new THREE.Mesh(new THREE.TorusKnotGeometry(0.6, 0.2, 64, 12), new THREE.MeshStandardMaterial({color: 0xffaa33, roughness: 0.4})));
const target = new THREE.RenderTarget(size, size);
renderer.setRenderTarget(target);
let pixels;
for (let frame = parseInt(process.argv.at(-1)); frame > 0; frame--) {
  await renderer.renderAsync(scene, camera);
  pixels = await renderer.readRenderTargetPixelsAsync(target, 0, 0, size, size);
}
let hash = 2166136261;
for (const value of pixels) hash = Math.imul(hash ^ value, 16777619) >>> 0;
console.log(hash.toString(16), new Set(pixels).size > 16 ? "many colours" : "few colours");
process.exit(0);
