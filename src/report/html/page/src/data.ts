// The data in a Tally HTML report: what src/report/html (C++) writes and the page reads. The contract of both sides.
//
// Container: base64 in <script type="application/x-tally" id="data">, of gzip of:
//   8 bytes "TALLYHTM" | u32 version (1) | u32 length of the JSON | JSON (UTF-8), padded with spaces to a multiple of 8 | blobs.
// All numbers little endian. Offsets count from the end of the (padded) JSON; each blob starts at a multiple of 8.
// The JSON is a Head. Text of applications occurs in it only as JSON strings. The length includes the padding.

export type ColumnType = 'u8' | 'u16' | 'u32' | 'u64' | 'f64'; // the writer takes the narrowest that holds all values exactly
export interface Column { type: ColumnType; offset: number; bytes: number; }
export interface Table { rows: number; columns: { [name: string]: Column }; }
// A column that a table does not have is 0 in all rows (a metric that costs nothing), or missing in all rows (an index).
// Missing index in an index column: the type's maximum (u8 255, u16 65535, u32 0xffffffff). Missing time: NaN (f64).
// A "str" column is an index into `strings`; never missing, "" is a string. An "index" column names its table in the comment.

export interface Metric {          // as the columns of `report --format json`
  id: string; title: string; unit: string; description: string; // unit: 'count' | 'ns' | 'bytes' | 'percent'
  // How a block's value belongs to lines and functions: see "How values add up".
  attribution: 'class' | 'every' | 'first';
}

// How values add up. E(c, b): executions of block b by command c, from c's value set. cost(b, m): the sum over b's rows of
// `costs` (a row with a missing line is code without a line).
// - Command, and any set of commands (pass, label, frame, pipeline, shader): not counted m: sum of E * cost; counted m: sum of
//   the column m of `counts`; "executions": the sum of E (it has no column in `costs`). Saturates at 2^64 - 1 (the tests of the writer use BigInt).
// - Line, over any set of commands, with E(b) and V(b, m) summed over that set:
//     'class': each row of `costs` of a block in their order takes part = min(rest, E(b) * cost of the row), rest = V(b, m) at
//       first; what is left goes to "no line" of the shader. For a metric that is not counted this is just E(b) * cost of the row.
//     'every' (executions, subgroups, lanes): of the blocks that have a row of the line and one instance, the value of the one
//       with the most E(b), of equal ones the first; the sum of these over the instances. A line of two blocks ran as often as
//       its most executed block, but code that was inlined for two calls ran for both.
//     'first': V(b, m) goes to blocks.line; missing: to "no line".
// - Function: 'class': as lines, by costs.function; 'every': the sum over the instances of V of the first block (lowest number)
//   that has a row of the function and the instance; 'first' and what 'class' leaves over: to blocks.function.
// - A block with E(b) = 0 gives its lines nothing; they exist with 0 (code that never ran).

export interface Head {
  version: 1;
  tool_version: string;            // of the tally that wrote the page
  strings: string[];               // names, source texts (one string a file), calls ... shared by all captures
  captures: Capture[];             // [new] or, with --against, [new, old]
  default_metric: string;          // the metric by which the page opens: "cost" where there is one
  preferred_metrics: string[];     // those that tables and totals show where they are not all zero, the most informative first
  against: Against | null;         // with --against
}

export interface Against {
  notes: string[];                 // what makes the captures hard to compare
  causes: { total: string; list: { text: string; parts: string }[] }; // why the default metric changed; `parts` may be empty
}

// A member of `findings` of `explain --format json`.
export interface Finding {
  rule: string; text: string; share: number; // from 0 to 1; 0: unknown
  places: { where: string; numbers: string; text: string }[]; places_left_out: number;
  what_to_try: string;
}

// A line's accesses of one kind to one resource, as `report --by memory` counts them.
export interface MemoryRow {
  where: string; text: string; resource: string; access: string;
  bytes: number; sectors: number; extra_passes: number; texels: number;
}

// A member of `tables` of `report --format json`.
export interface JsonTable {
  title: string; total_rows: number; notes: string[];
  columns: { id: string; title: string; unit: string; description: string }[];
  rows: { [id: string]: string | number | null }[];
}

export interface Capture {
  info: any;                       // the member `capture` of `report --format json`
  metrics: Metric[];               // "executions" is one of them, normally the first; may be empty (EGL only)
  counted: string[];               // ids of metrics whose values stand in `counts`: they do not follow from executions
  simd: { lanes: string; executions: string } | null; // ids: SIMD efficiency in percent is 100 * executions / lanes
  left_out: string[];              // sentences for the user: what is not in this file, with numbers
  findings: Finding[];             // of the whole new capture, the largest share first; [] for the old one of two
  memory: MemoryRow[];             // of `run --memory`, the most bytes first; [] for the old one of two
  memory_left_out: number;         // further ones
  prediction: JsonTable[];         // of works and of lines, with a calibrated --device; else []
  cycles: JsonTable[];             // of functions and loops, of `run --clocks`; else [], and for the old one of two
  // each: a row of `commands` is one command. grouped: there were too many; a row stands for the similar commands of a pass
  // (same frame, pass, pipeline, label and call, first uses of pipelines apart; `left_out` says so), `runs` says how many, number is the first one's.
  commands: 'each' | 'grouped';
  tables: {
    frames: Table;        // number, device(u8 index of info.devices), ended_by(str), gpu_time(f64 ns, without first uses of
                          // pipelines), first_use(f64 ns of passes and commands that used a pipeline for the first time),
                          // warm(u8 bool), draws, dispatches, uncounted(commands that ran uncounted), missing(commands that
                          // are not in the capture), counted(u8 bool: reports count it as a frame)
    labels: Table;        // name(str), parent(labels; always a smaller index)
    merged_passes: Table; // the passes as `report --by pass --merge` merges them: name(str), label(labels), match
    passes: Table;        // frame(frames), number, name(str, with its size), label(labels), attachments(str), width, height,
                          // pixels (of its layers, in all its runs), gpu_time(f64), first_use(u8 bool), begin(f64), end(f64): ns on the GPU's clock since the first
                          // timestamp of the capture; queue(queues), command_buffer(u32), merged(merged_passes); with a calibrated
                          // --device predicted_time, predicted_low, predicted_high (f64 ns, of all runs; NaN: no time); time_sample as of commands
    queues: Table;        // name(str)
    pipelines: Table;     // name(str), hash(str), bind_point(str), match
    shaders: Table;       // those that ran; "(unknown)" has the counts of stages that the capture does not name. name(str, as reports show it), stage(str), entry_point(str), hash(str),
                          // constants(str, those that are not the defaults), pipeline(str; of captures before format 7: one that
                          // specializes it, or ""), not_counted(str reason or ""),
                          // source(u8: 0 debug information, 1 reconstructed GLSL, 2 SPIR-V), invocation_block(blocks), match
    pipeline_shaders: Table; // pipeline(pipelines), shader(shaders)
    statistics: Table;    // of the driver's compiler, with --statistics: pipeline(pipelines), shader(shaders; a row for each one of
                          // an executable), executable(str), name(str), description(str), value(f64)
    commands: Table;      // frame(frames), number, pass(passes), call(str), kind(u8: 0 draw, 1 dispatch or other),
                          // pipeline(pipelines), label(labels), values(value_sets; missing: ran uncounted), runs, vertices (that counted
                          // draws name, of all instances), unknown_vertices (draws without), primitives (that counted
                          // draws name, of all instances), unknown_primitives (draws without), gpu_time(f64),
                          // first_use(u8), begin(f64), end(f64), queue(queues), command_buffer(u32), predicted_* as of passes; of a capture of
                          // `run --memory` footprint (the largest of its commands), footprints and requested (of all runs), in bytes
                          // time_sample (time_samples: gpu_time is its mean; missing: measured) and estimated (commands
                          // of the row with that time), if any time of a dispatch or pass is estimated.
                          // In the order of execution. Times, queue and command_buffer only of commands outside of passes.
                          // grouped: call may be "draws" or "dispatches", of several calls
    time_samples: Table;  // of dispatches with equal inputs and of similar passes, if any time is estimated: timed (how many), variance (of one, ns^2)
    value_sets: Table;    // first(counts), count: a run of rows of counts; commands with equal counts share one
    counts: Table;        // block(blocks), executions, and one column for each metric in `counted`; rows of 0 are left out
    blocks: Table;        // shader(shaders), number(public number), function(functions), line(lines: of its first instruction),
                          // discards(u8: 1 if it discards the invocation or demotes it to a helper)
    functions: Table;     // shader(shaders), name(str), match
    call_frames: Table;   // shader(shaders), function(functions), parent(call_frames: what it is inlined into; missing: a function of
                          // the module), block(blocks: the first with its code). Code that was inlined for one call is a frame
    calls: Table;         // caller(call_frames), callee(call_frames, a function of the module), block(blocks: with the call). Without cycles
    costs: Table;         // block(blocks), line(lines), function(functions), instance (number in the shader: of a function, or of
                          // what was inlined for one call), frame(call_frames; missing: code that is not known), and a column for each metric id that has a cost anywhere: what one
                          // execution costs. Ordered by block. Includes rows of 0: code that costs nothing
    lines: Table;         // shader(shaders), file(files), line(u32, from 1), match. For a shader with source 2 (SPIR-V) the file is
                          // its disassembly, and a line is an instruction
    files: Table;         // name(str), text(str; "" if unknown), kind(u8: 0 debug information, 1 reconstructed GLSL,
                          // 2 SPIR-V disassembly, 3 a file of the user's folder (--sources)). Shared by shaders
    assembly: Table;      // shader(shaders), text(str): the whole disassembly as one text; not of shaders with source 2
    assembly_lines: Table;// shader(shaders), row(u32, from 0 in that text), block(blocks), line(lines). Only rows in blocks
    branches: Table;      // block(blocks), line(lines), target(str: true, false, default, case 1, 2), number(in its line; inlined
                          // copies of a branch have one number and are added up), slot(u8, from 0); with --branches
    line_terms: Table;    // how often the loops of a line ran, and its conditions were true, as sums of executions of blocks:
                          // line(lines), block(blocks), term(u8: 0 iterations of its loops, 1 their entries, 2 less entries,
                          // 3 true, 4 less true, 5 false, 6 less false; 3 to 6 not where branches has the counts)
    branch_counts: Table; // value_set(value_sets), branch(branches), taken; ordered by value_set
    pictures: Table;      // pass(passes), layer, image(images), width, height; of two captures also match (equal numbers: these two were
                          // compared), pixels (that differ), max (by which a channel differs, of 255)
    region_passes: Table; // pass(passes), subpass, layer, x, y, width, height (the render area in pixels), region_width,
                          // region_height, columns, rows, first(regions)
    regions: Table;       // one row a region in row-major order; a column for each counter of region_counters, by id
    region_draws: Table;  // with --region-draws: region_pass(region_passes), region(its index in the pass), command(commands), and a column
                          // for each counter of region_counters. Ordered by region_pass, region. Draws without a row are in regions alone
    egl_frames: Table;    // frame(frames), time(f64, ns: duration of the frame), and a column (f64, NaN where not measured)
                          // for each of egl_counters, by id
    spans: Table;         // for the timeline, of labels and command buffers: kind(str: label, command_buffer), name(str),
                          // queue(queues), begin(f64), end(f64), depth
  };
  region_counters: Metric[];
  default_region_counter: string;  // "" if there is none
  egl_counters: (Metric & { group: string; is_level: boolean })[];
  images: { type: 'image/png'; offset: number; bytes: number }[];
}

// With --against, the columns `match` (u32) of shaders, functions, lines, pipelines, merged_passes and commands hold what
// `tally diff` matched, so that the page never matches by itself: rows with the same number, in either capture, are the same
// thing (several rows of one capture may have one number, such as the specializations of a shader or similar draws: add them
// up). A number that occurs in only one capture was added or removed. Missing: not matched at all. Commands have no such column
// where the rows of either capture stand for draws with other calls. Without --against there is no such column.
