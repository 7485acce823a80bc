// Reads files of columns with a library of somebody else, and writes what is in them as JSON lines:
//   node --input-type=module - READER FILE... < columnar_read.mjs      in a folder with node_modules
// READER: hyparquet, parquet-wasm (Rust's parquet) of Parquet; apache-arrow, flechette of Arrow. First {"columns": [{"name",
// "type", "label", "unit", "help"}...], "rows", more of Parquet: "table", "groups", "arrow"}, then an array for each row; a
// double is the 16 digits of its bits, or "nan". With READER sums (hyparquet, apache-arrow), instead of that, an object of
// all columns: {NAME: [nulls, sum of the values, of texts of their lengths]}, of Parquet with "rows" in all and of each group,
// without having more than a row group in memory.
import { openSync, readSync, fstatSync, readFileSync, writeSync } from "node:fs";
import { decompress } from "fzstd";

const unpack = (bytes) => decompress(bytes).slice(); // from a multiple of 8 on
const [reader, ...paths] = process.argv.slice(2);
let waiting = [];
function flush() {
  const bytes = Buffer.from(waiting.join(""));
  for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at);
  waiting = [];
}
const view = new DataView(new ArrayBuffer(8));
function write(value) {
  waiting.push(JSON.stringify(value, (_, item) => (typeof item === "bigint" ? `#${item}#` : item)).replace(/"#(-?\d+)#"/g, "$1") + "\n");
  if (waiting.length > 5000) flush();
}
function bits(value) {
  if (Number.isNaN(value)) return "nan";
  view.setFloat64(0, value);
  return view.getBigUint64(0).toString(16).padStart(16, "0");
}
const cell = (type, value) =>
  value === null || value === undefined ? null
  : type === "double" ? bits(value)
  : type === "int64" || type === "time" ? BigInt(value)
  : value;

function summer(type) {
  let nulls = 0, whole = 0n, real = 0;
  const add = {
    text: (value) => (real += value.length),
    double: (value) => (real += value),
    bool: (value) => (real += value),
  }[type] ?? ((value) => (whole += value));
  return {
    add: (value) => (value === null || value === undefined ? nulls++ : add(value)),
    end: () => [nulls, BigInt.asIntN(64, whole + BigInt(Math.round(real)))],
  };
}

// ---- Parquet ----

async function hyparquet(path, sums = false) {
  const { parquetMetadataAsync, parquetRead } = await import("hyparquet");
  const { compressors } = await import("hyparquet-compressors");
  const descriptor = openSync(path), size = fstatSync(descriptor).size;
  const file = {
    byteLength: size,
    slice(from, to = size) {
      const bytes = new Uint8Array(to - from);
      readSync(descriptor, bytes, 0, to - from, from);
      return bytes.buffer;
    },
  };
  const metadata = await parquetMetadataAsync(file);
  const raw = (bytes) => bytes; // as it stands, in ns
  const parsers = { timestampFromNanoseconds: raw };
  const columns = metadata.schema.slice(1).map((element) => ({
    name: element.name,
    type: element.logical_type?.type === "STRING" && element.converted_type === "UTF8" ? "text"
      : element.logical_type?.type === "TIMESTAMP" && element.logical_type.isAdjustedToUTC && element.logical_type.unit === "NANOS" ? "time"
      : { INT64: "int64", DOUBLE: "double", BOOLEAN: "bool" }[element.type],
    optional: element.repetition_type === "OPTIONAL",
  }));
  const keys = Object.fromEntries(metadata.key_value_metadata.map(({ key, value }) => [key, value]));
  const shown = (value, type) =>
    value === undefined ? null : value instanceof Date ? `date ${value.toISOString()}`
    : value instanceof Uint8Array ? new TextDecoder().decode(value) : cell(type, value);
  const groups = metadata.row_groups.map((group) => ({
    rows: Number(group.num_rows),
    bytes: Number(group.total_byte_size),
    columns: group.columns.map(({ meta_data: meta }, at) => ({
      codec: meta.codec,
      encodings: meta.encodings,
      values: Number(meta.num_values),
      packed: Number(meta.total_compressed_size),
      raw: Number(meta.total_uncompressed_size),
      nulls: Number(meta.statistics.null_count),
      min: columns[at].type === "time" ? null : shown(meta.statistics.min_value, columns[at].type),
      max: columns[at].type === "time" ? null : shown(meta.statistics.max_value, columns[at].type),
    })),
  }));
  if (sums) {
    const found = { rows: [Number(metadata.num_rows), ...groups.map(({ rows }) => rows)] };
    for (const { name, type } of columns) {
      const sum = summer(type);
      for (let from = 0, group = 0; group < groups.length; from += groups[group++].rows)
        await parquetRead({
          file, metadata, compressors, parsers, columns: [name], rowStart: from, rowEnd: from + groups[group].rows,
          onChunk: ({ columnData }) => columnData.forEach(sum.add),
        });
      found[name] = sum.end();
    }
    write(found);
    return;
  }
  write({ columns, rows: Number(metadata.num_rows), table: JSON.parse(keys.synop), groups, created: metadata.created_by, arrow: keys["ARROW:schema"] });
  const all = columns.map(() => []);
  const names = columns.map(({ name }) => name);
  await parquetRead({
    file, metadata, compressors, parsers,
    onChunk({ columnName, columnData, rowStart }) {
      const to = all[names.indexOf(columnName)];
      for (let i = 0; i < columnData.length; i++) to[rowStart + i] = columnData[i];
    },
  });
  for (let row = 0; row < Number(metadata.num_rows); row++) write(all.map((values, at) => cell(columns[at].type, values[row])));
}

// ---- Arrow ----

const arrowType = (type) =>
  ({ Int64: "int64", Float64: "double", Bool: "bool", Utf8: "text", "Timestamp<NANOSECOND, UTC>": "time" })[String(type)] ?? String(type);

async function arrowTable(table, arrow) {
  const columns = table.schema.fields.map((field) => {
    const label = arrow.DataType.isDictionary(field.type);
    return {
      name: field.name, type: arrowType(label ? field.type.dictionary : field.type), label,
      unit: field.metadata.get("unit") ?? "", help: field.metadata.get("help") ?? "", optional: field.nullable,
    };
  });
  write({ columns, rows: table.numRows, table: Object.fromEntries(table.schema.metadata) });
  for (const batch of table.batches)
    for (let row = 0; row < batch.numRows; row++)
      write(columns.map(({ type }, at) => {
        const data = batch.data.children[at];
        if (!data.getValid(row)) return null;
        return cell(type, type === "time" || type === "int64" ? data.values[row] : batch.getChildAt(at).get(row));
      }));
}

async function apacheArrow(path) {
  const arrow = await import("apache-arrow");
  arrow.compressionRegistry.set(arrow.CompressionType.ZSTD, { decode: unpack });
  await arrowTable(arrow.tableFromIPC(readFileSync(path)), arrow);
}

async function parquetWasm(path) {
  const { createRequire } = await import("node:module");
  const parquet = createRequire(`${process.cwd()}/`)("parquet-wasm/node");
  const arrow = await import("apache-arrow");
  const table = parquet.readParquet(readFileSync(path));
  await arrowTable(arrow.tableFromIPC(table.intoIPCStream()), arrow);
}

// Batch by batch, so that no more than one is in memory.
async function arrowSums(path) {
  const arrow = await import("apache-arrow");
  arrow.compressionRegistry.set(arrow.CompressionType.ZSTD, { decode: unpack });
  const found = new Map();
  for (const batch of arrow.RecordBatchReader.from(readFileSync(path)))
    batch.schema.fields.forEach((field, at) => {
      const type = arrowType(arrow.DataType.isDictionary(field.type) ? field.type.dictionary : field.type);
      if (!found.has(field.name)) found.set(field.name, summer(type));
      const sum = found.get(field.name), data = batch.data.children[at], vector = batch.getChildAt(at);
      for (let row = 0; row < batch.numRows; row++)
        sum.add(!data.getValid(row) ? null : type === "time" || type === "int64" ? data.values[row] : vector.get(row));
    });
  write(Object.fromEntries([...found].map(([name, sum]) => [name, sum.end()])));
}

async function flechette(path) {
  const f = await import("@uwdata/flechette");
  f.setCompressionCodec(f.CompressionType.ZSTD, { encode: (bytes) => bytes, decode: unpack });
  const table = f.tableFromIPC(readFileSync(path), { useBigInt: true });
  const named = (type) =>
    type.typeId === f.Type.Int && type.bitWidth === 64 && type.signed ? "int64"
    : type.typeId === f.Type.Float && type.precision === 2 ? "double"
    : type.typeId === f.Type.Bool ? "bool"
    : type.typeId === f.Type.Utf8 ? "text"
    : type.typeId === f.Type.Timestamp && type.unit === f.TimeUnit.NANOSECOND && type.timezone === "UTC" ? "time" : `${type.typeId}`;
  const columns = table.schema.fields.map((field) => {
    const label = field.type.typeId === f.Type.Dictionary;
    return {
      name: field.name, type: named(label ? field.type.dictionary : field.type), label,
      unit: field.metadata?.get("unit") ?? "", help: field.metadata?.get("help") ?? "", optional: field.nullable,
    };
  });
  write({ columns, rows: table.numRows, table: Object.fromEntries(table.schema.metadata ?? []) });
  for (let part = 0; part < (table.children[0]?.data.length ?? 0); part++)
    for (let row = 0; row < table.children[0].data[part].length; row++)
      write(columns.map(({ type }, at) => {
        const batch = table.children[at].data[part];
        return batch.at(row) === null ? null : cell(type, type === "time" ? batch.values[row] : batch.at(row));
      }));
}

const sums = (path) => (path.endsWith(".arrow") ? arrowSums(path) : hyparquet(path, true));
const readers = { hyparquet, sums, "parquet-wasm": parquetWasm, "apache-arrow": apacheArrow, flechette };
for (const path of paths) await readers[reader](path);
flush();
