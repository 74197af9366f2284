// TensorFlow.js on Dawn: a product, a convolution and a softmax, as often as the last argument says; prints the last results.
import {createRequire} from "node:module";
import {create, globals} from "webgpu";

Object.assign(globalThis, globals);
Object.defineProperty(globalThis, "navigator", {value: {gpu: create(["backend=vulkan"]), userAgent: "node"}, configurable: true});
globalThis.self = globalThis;
globalThis.window = globalThis;
const require = createRequire(import.meta.url);
const tf = require("@tensorflow/tfjs-core");
require("@tensorflow/tfjs-backend-webgpu");
await tf.setBackend("webgpu");
await tf.ready();
const matrix = tf.tensor2d(Array.from({length: 64 * 64}, (_, i) => (i % 13) / 8), [64, 64]);
const picture = tf.tensor4d(Array.from({length: 32 * 32 * 4}, (_, i) => (i % 7) / 4), [1, 32, 32, 4]);
const filter = tf.tensor4d(Array.from({length: 3 * 3 * 4 * 8}, (_, i) => (i % 5) / 16), [3, 3, 4, 8]);
let lines;
for (let step = parseInt(process.argv.at(-1)); step > 0; step--) {
  lines = [];
  for (const result of [tf.matMul(matrix, matrix), tf.conv2d(picture, filter, 1, "same"), tf.softmax(matrix)]) {
    const values = await result.data();
    result.dispose();
    lines.push(result.shape.join("x"), Array.from(values.filter((_, i) => i % 37 === 0)).join(" "));
  }
}
console.log(lines.join("\n"));
process.exit(0);
