// Captures that no driver makes: many draws, hostile names, counts above 2^53. Random, but the same for the same options.
import { Container } from './container.mjs';

export const kHostile = ['</script><img src=x onerror="window.hacked=1">', '<svg onload=window.hacked=1>', '\u202Egnp.exe\u202C', '\u2066\u200Fabc',
  'a\u0000b\u0007c\u001B[31m', '&lt;b&gt;&amp;', '"\'`${window.hacked=1}', 'javascript:window.hacked=1', '\uD800 lone', '-->', ']]>', '__proto__', 'constructor', 'x'.repeat(5000)];

const kMetrics = [
  ['executions', 'executions', 'every'], ['instructions', 'instructions', 'class'], ['fma', 'multiply-adds', 'class'], ['texture_samples', 'texture samples', 'class'],
].map(([id, title, attribution]) => ({ id, title, unit: 'count', description: `number of ${title}`, attribution }));

function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const kDefaults = { seed: 1, frames: 2, passes: 4, pipelines: 6, draws: 40, sets: 1, blocks: 6, hostile: false, scale: 1n, against: false, dropped: [], uncounted: [], regions: false, regionDraws: [],
  compute: false /* no passes */, labelled: true, findings: [], memory: [], footprints: false /* of the new capture */ };

function capture(c, options, side) {
  const { frames, passes, pipelines, draws, blocks, hostile } = options, next = random(options.seed);
  const name = (kind, i) => (hostile ? `${kHostile[i % kHostile.length]} ${i}` : `${kind} ${i}`);
  const match = (i) => (options.against ? { match: i } : {});
  const shaders = pipelines * 2, text = Array.from({ length: blocks + 4 }, (_, i) => (hostile ? kHostile[i % kHostile.length] : `  float v${i} = texture(image, uv).x * ${i}.0;  // line ${i + 1}`)).join('\n');
  const rows = (count, make) => Array.from({ length: count }, (_, i) => make(i));
  const similar = new Map(), similarOf = (...parts) => { const key = parts.join(); if (!similar.has(key)) similar.set(key, similar.size); return similar.get(key); };
  const perFrame = Math.ceil(draws / frames), sets = Math.max(1, Math.floor(draws * options.sets));
  const counts = [], valueSets = [];
  for (let s = 0; s < sets; ++s) {
    const pipeline = s % pipelines, first = counts.length;
    for (let b = 0; b < 2 * blocks; ++b) {
      const executions = BigInt(next(1000) + side * (s % 3)) * options.scale;
      if (executions) counts.push({ block: pipeline * 2 * blocks + b, executions });
    }
    valueSets.push({ first, count: counts.length - first });
  }
  const costRows = rows(shaders * blocks, (b) => ({ block: b, line: b, function: Math.floor(b / blocks), instructions: 1 + (b % 7), fma: b % 3, texture_samples: b % 2 }));
  const passName = (p) => `${name('pass', p % passes)} 64x64`;
  return {
    info: { file: hostile ? kHostile[0] : `synthetic${side}.tally`, tool_version: '0', command_line: ['app', hostile ? kHostile[1] : '--draws'], start_unix_ns: 0, duration_ns: 1e9,
      exit_status: 0, complete: true, frame_range: '', shader_pattern: '', replaced: hostile ? [{ shader: kHostile[0], file: kHostile[1], refusal: '' }, { shader: kHostile[0], file: kHostile[1], refusal: kHostile[2] }] : [], processes: 1,
      devices: [{ name: name('device', 2), driver: name('driver', 3), api: 'Vulkan', api_version: '1.3', not_captured: '' }],
      frames, frames_end_at: options.compute ? "labels that match 'label 0'" : 'presents', warm_frames: [[1, frames - 1]], passes: options.compute ? 0 : passes * frames, draws: options.compute ? 0 : draws, dispatches: options.compute ? draws : 0, pipelines, shaders_counted: shaders, not_counted: hostile ? [{ shader: kHostile[0], reason: kHostile[2], commands: 3 }] : [],
      commands_missing: 0, processes_cut_off: 0, messages: hostile ? [{ severity: 'error', text: kHostile[1], count: 2 }] : [] },
    metrics: kMetrics, counted: [], simd: null, left_out: [], findings: side === Number(options.against) ? options.findings : [], memory: side === Number(options.against) ? options.memory : [], memory_left_out: 0, prediction: [], cycles: [], commands: 'each',
    tables: {
      frames: c.table(rows(frames, (f) => ({ number: f, device: 0, ended_by$: 'present', 'gpu_time~': 1e6 + next(1e6), 'first_use~': f ? NaN : 5e5, warm: f ? 1 : 0, draws: perFrame, dispatches: 0, uncounted: f === 1 ? 1 : 0, missing: 0, counted: 1 }))),
      labels: c.table(rows(3, (l) => ({ name$: name('label', l), parent: l ? l - 1 : null }))),
      merged_passes: c.table(rows(options.compute ? 0 : passes, (p) => ({ name$: passName(p), label: p % 3, ...match(p) }))),
      passes: c.table(rows(options.compute ? 0 : frames * passes, (p) => ({ frame: Math.floor(p / passes), number: p % passes, name$: passName(p), label: p % 3, attachments$: '[]', width: 64, height: 64, pixels: 4096,
        'gpu_time~': 1e5 + next(1e5), first_use: p < passes ? 1 : 0, 'begin~': p * 2e5, 'end~': p * 2e5 + 1.5e5, queue: 0, command_buffer: 0, merged: p % passes }))),
      queues: c.table([{ name$: name('queue', 0) }]),
      pipelines: c.table(rows(pipelines, (p) => ({ name$: name('pipeline', p), hash$: `hash${p}`, bind_point$: 'graphics', ...match(p) }))),
      shaders: c.table(rows(shaders, (s) => ({ name$: name('shader', s), stage$: s % 2 ? 'fragment' : 'vertex', entry_point$: 'main', hash$: `hash${s}`, constants$: '', pipeline$: '', not_counted$: '', source: 0, invocation_block: s * blocks, ...match(s) }))),
      pipeline_shaders: c.table(rows(shaders, (s) => ({ pipeline: s >> 1, shader: s }))),
      commands: c.table(rows(draws, (d) => ({ frame: Math.floor(d / perFrame), number: d % perFrame, pass: options.compute ? null : Math.floor(d / perFrame) * passes + (d % passes), call$: `Draw ${3 * (1 + (d % 50))}`, kind: options.compute ? 1 : 0,
        pipeline: (d % sets) % pipelines, label: options.labelled ? d % 3 : null, values: options.uncounted.includes(d) ? null : d % sets, runs: 1, 'gpu_time~': NaN, first_use: d < pipelines ? 1 : 0, 'begin~': NaN, 'end~': NaN, queue: 0, command_buffer: 0,
        ...(options.footprints && side === Number(options.against) ? { footprint: 128 * (1 + d), footprints: 256 * (1 + d), requested: 100 * d } : {}), ...match(similarOf(d % passes, d % 50, (d % sets) % pipelines, d % 3)) })).filter((_, d) => side || !options.dropped.includes(d))),
      value_sets: c.table(valueSets),
      counts: c.table(counts),
      blocks: c.table(rows(shaders * blocks, (b) => ({ shader: Math.floor(b / blocks), number: b % blocks, function: Math.floor(b / blocks), line: b }))),
      functions: c.table(rows(shaders, (s) => ({ shader: s, name$: name('function', s), ...match(s) }))),
      costs: c.table(costRows),
      lines: c.table(rows(shaders * blocks, (l) => ({ shader: Math.floor(l / blocks), file: Math.floor(l / blocks), line: 1 + (l % blocks), ...match(l) }))),
      files: c.table(rows(shaders, (s) => ({ name$: name('file', s), text$: text, kind: 0 }))),
      assembly: c.table(rows(shaders, (s) => ({ shader: s, text$: text }))),
      assembly_lines: c.table(rows(shaders * blocks, (b) => ({ shader: Math.floor(b / blocks), row: b % blocks, block: b, line: b }))),
      branches: c.table([], []), branch_counts: c.table([], []), pictures: c.table([], []),
      // Two regions; the right one has half of the pixels.
      region_passes: c.table(options.regions ? [{ pass: 0, subpass: 0, layer: 0, x: 0, y: 0, width: 24, height: 16, region_width: 16, region_height: 16, columns: 2, rows: 1, first: 0 }] : []),
      regions: c.table(options.regions ? [{ fragment_invocations: 256 }, { fragment_invocations: 160 }] : []), region_draws: c.table(options.regionDraws.map(([region, command, value]) => ({ region_pass: 0, region, command, fragment_invocations: value }))), egl_frames: c.table([], []),
      spans: c.table([{ kind$: 'label', name$: name('span', 1), queue: 0, 'begin~': 0, 'end~': 3e5, depth: 0 }]),
    },
    region_counters: options.regions ? [{ id: 'fragment_invocations', title: 'fragment invocations', unit: 'count', description: '', attribution: 'first' }] : [],
    default_region_counter: options.regions ? 'fragment_invocations' : '', egl_counters: [], images: [],
  };
}

export function synthetic(options) {
  const all = { ...kDefaults, ...options }, c = new Container();
  const captures = all.against ? [capture(c, all, 1), capture(c, all, 0)] : [capture(c, all, 0)];
  return c.pack({ version: 1, tool_version: '0', captures, default_metric: 'instructions', preferred_metrics: ['instructions', 'fma', 'texture_samples'], against: all.against ? { notes: [], causes: { total: 'instructions 10 -> 12, +20.0 %', list: [{ text: 'a.frag:3 was edited (<b>f(1)</b> -> f(2)); instructions +20.0 %', parts: '' }] } } : null });
}
