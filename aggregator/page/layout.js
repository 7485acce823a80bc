/* Where cells lie: as large as the room allows, with name and value where these fit, a pixel each where there are many.
 *
 * layOut (width, height, count, groups, least) -> {w, h, gap, named, height, blocks}
 *   least    the least size of a cell: a pixel of the screen
 *   named    cells have room for name and value
 *   blocks   [{x, y, columns, from, count, name, label}]: label is the height of the name above, 0: none */

const NAMED = [[280, 104, 5], [240, 92, 4], [200, 80, 4], [168, 68, 4], [140, 60, 4], [120, 52, 3], [104, 46, 3], [90, 42, 3], [78, 38, 3], [70, 36, 2], [62, 33, 2]];
const GAP_BETWEEN = 14;
const LABEL = 18;
const LABEL_FROM = 5; /* cells smaller than this have no room for names of groups */
const SHAPES = [1.6, 1, 2.6, 4]; /* of groups: how much wider than high, in cells */

const sizes = function * (least) {
  for (const size of NAMED)
    yield {w: size[0], h: size[1], gap: size[2], named: true};
  for (let s = 34; s >= 2; s--)
    yield {w: s, h: s, gap: s >= 12 ? 2 : s >= 5 ? 1 : 0, named: false};
  for (let s = 2 - least; s >= least; s -= least)
    yield {w: s, h: s, gap: 0, named: false};
};

export function layOut (width, height, count, groups, least = 1) {
  const all = {name: null, from: 0, count};
  let last = null;
  for (const size of sizes(least)) {
    for (const one of groups ? shapesOf(size) : [null]) {
      last = groups ? shelves(width, {...size, ...one}, groups) : plain(width, size, all);
      if (last && last.height <= height)
        return last;
    }
  }
  return last;
}

/* With the groups' names if there is any shape that has room for them. */
function shapesOf ({w}) {
  return (w >= LABEL_FROM ? [LABEL, 0] : [0]).flatMap((label) => SHAPES.map((shape) => ({label, shape})));
}

function plain (width, size, group) {
  const columns = Math.min(group.count || 1, Math.floor((width + size.gap) / (size.w + size.gap)));
  if (columns < 1)
    return null;
  /* Named cells fill the line, but stay small enough to be read as one. */
  const w = size.named ? Math.min(Math.floor((width + size.gap) / columns) - size.gap, 420) : size.w;
  const rows = Math.ceil(group.count / columns);
  return {...size, w, height: rows * (size.h + size.gap) - size.gap, blocks: [{...group, x: 0, y: 0, columns, label: 0}]};
}

/* Blocks of groups, from left to right and line by line; all with the same number of columns, so that they stand in rows. */
function shelves (width, size, groups) {
  const step = size.w + size.gap;
  const most = Math.floor((width + size.gap) / step);
  if (most < 1)
    return null;
  const counts = groups.map((group) => group.count).sort((a, b) => a - b);
  const usual = counts[Math.floor(counts.length / 2)];
  const columns = Math.min(most, columnsFor(usual, size.shape));
  const {label} = size;
  const between = label ? GAP_BETWEEN : 3;
  const blocks = [];
  let x = 0, y = 0, tallest = 0;
  for (const group of groups) {
    /* One that is far larger than the others is as wide as it needs to be no taller. */
    const own = Math.min(most, Math.max(columns, Math.ceil(group.count / Math.max(1, Math.ceil(usual / columns) * 3))));
    const w = Math.max(own * step - size.gap, label ? 56 : 0);
    if (x > 0 && x + w > width) {
      x = 0;
      y += tallest + between;
      tallest = 0;
    }
    blocks.push({...group, x, y, columns: own, label});
    tallest = Math.max(tallest, label + Math.ceil(group.count / own) * (size.h + size.gap) - size.gap);
    x += w + between;
  }
  return {...size, height: y + tallest, blocks};
}

/* Lines are full where a number of columns near the wanted one does that. */
function columnsFor (count, shape) {
  const wanted = Math.max(1, Math.round(Math.sqrt(count * shape)));
  let best = wanted;
  for (let columns = Math.ceil(wanted * 0.7); columns <= wanted * 1.4; columns++)
    if (count % columns === 0 && (count % best !== 0 || Math.abs(columns - wanted) < Math.abs(best - wanted)))
      best = columns;
  return best;
}

/* The left upper corner of the cell at a place of the order, as [x, y]. */
export function placeOf (layout, block, at) {
  const i = at - block.from;
  return [block.x + (i % block.columns) * (layout.w + layout.gap), block.y + block.label + Math.floor(i / block.columns) * (layout.h + layout.gap)];
}

export function blockOf (layout, at) {
  return layout.blocks.find((block) => at >= block.from && at < block.from + block.count) ?? null;
}

/* The place of the order at a point, or -1. A gap belongs to the cell before it. */
export function hit (layout, x, y) {
  const w = layout.w + layout.gap, h = layout.h + layout.gap;
  for (const block of layout.blocks) {
    const column = Math.floor((x - block.x) / w);
    const row = Math.floor((y - block.y - block.label) / h);
    const i = row * block.columns + column;
    if (column >= 0 && column < block.columns && row >= 0 && i < block.count)
      return block.from + i;
  }
  return -1;
}

/* The place that an arrow leads to from `at`. Up and down leave a block for the one that lies there. */
export function neighbour (layout, at, key) {
  const count = layout.blocks.reduce((sum, block) => sum + block.count, 0);
  const block = blockOf(layout, at);
  if (!block)
    return 0;
  if (key === 'ArrowLeft' || key === 'ArrowRight')
    return Math.min(count - 1, Math.max(0, at + (key === 'ArrowRight' ? 1 : -1)));
  const down = key === 'ArrowDown';
  const next = at + (down ? block.columns : -block.columns);
  if (next >= block.from && next < block.from + block.count)
    return next;
  const [x, y] = placeOf(layout, block, at);
  return nearest(layout, x + layout.w / 2, y + layout.h / 2, down ? 1 : -1) ?? at;
}

function nearest (layout, x, y, sign) {
  let best = null;
  let least = Infinity;
  for (const block of layout.blocks)
    for (const at of edge(block, sign)) {
      const [left, top] = placeOf(layout, block, at);
      const dy = (top + layout.h / 2 - y) * sign;
      const dx = Math.abs(left + layout.w / 2 - x);
      if (dy > layout.h / 2 && dy * 4 + dx < least) {
        least = dy * 4 + dx;
        best = at;
      }
    }
  return best;
}

/* The first line of a block when coming from above, its last one from below. */
function edge (block, sign) {
  const first = sign > 0 ? block.from : block.from + Math.floor((block.count - 1) / block.columns) * block.columns;
  return Array.from({length: Math.min(block.columns, block.from + block.count - first)}, (_, i) => first + i);
}
