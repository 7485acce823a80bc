/* The picture of all nodes: one canvas, a cell for each. It is drawn when something changes, in the next frame.
 *
 * createCells (root, {onPoint (i, point, byKey), onOpen (i)}) -> {show (scene), point (i), destroy ()}
 *   scene   {picture, order, groups, low, high, marks, format}: marks is a Set of indices with an alert, format (picture, i) what a
 *           cell says */
import {RAMP_INK, RAMP_PIXELS, stepOf} from './colours.js';
import {el, onFrame} from './dom.js';
import {blockOf, hit, layOut, neighbour, placeOf} from './layout.js';
import {stateOf} from './levels.js';
import {paintPattern, patternColours} from './patterns.js';
import {settings} from './settings.js';
import {shorterOf} from './units.js';

const ARROWS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'];

export function createCells (root, {onPoint, onOpen}) {
  const canvas = el('canvas', {'class': 'cells', tabindex: '0', role: 'application', 'aria-roledescription': 'picture of nodes'});
  const ring = el('div', {'class': 'cell-ring', hidden: true});
  const stage = el('div', {'class': 'cells-stage'}, canvas, ring);
  root.append(stage);
  const context = canvas.getContext('2d', {alpha: true});

  let scene = null;
  let layout = null;
  let arranged = null; /* what the layout was made for */
  let image = null;
  let colours = null;
  let pointed = -1; /* a place in the order */
  let byKey = false;

  const draw = onFrame(() => {
    if (!scene || !stage.clientWidth)
      return;
    arrangeCells();
    if (!layout)
      return;
    colours ??= patternColours(root);
    paintCells(image, layout, scene, colours, canvas.width / canvas.clientWidth);
    context.putImageData(image, 0, 0);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    if (layout.named)
      writeCells(context, layout, scene, colours);
    if (layout.blocks.some((block) => block.label))
      writeLabels(context, layout, colours);
    markCells(context, layout, scene, colours);
    context.setTransform(1, 0, 0, 1, 0, 0);
    placeRing();
  });

  /* The layout is of the room, the number of cells and their groups; only when these change is it made again. */
  function arrangeCells () {
    const wanted = [stage.clientWidth, roomFor(), scene.order.length, devicePixelRatio, scene.groups];
    if (arranged && wanted.every((part, i) => part === arranged[i]))
      return;
    arranged = wanted;
    layout = scene.order.length ? layOut(wanted[0], wanted[1], wanted[2], scene.groups, 1 / devicePixelRatio) : null;
    const height = Math.ceil(Math.max(1, layout?.height ?? 1));
    canvas.width = Math.round(wanted[0] * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    canvas.style.setProperty('height', `${height}px`);
    image = context.createImageData(canvas.width, canvas.height);
    pointed = Math.min(pointed, scene.order.length - 1);
  }

  /* The picture takes what the window has left, within reason. */
  function roomFor () {
    return Math.max(240, Math.min(900, Math.round(window.innerHeight * (scene.groups ? 0.72 : 0.62))));
  }

  function placeRing () {
    const block = layout && pointed >= 0 ? blockOf(layout, pointed) : null;
    ring.hidden = block === null;
    if (!block)
      return;
    const [x, y] = placeOf(layout, block, pointed);
    const edge = layout.w < 8 ? 2 : 1;
    ring.style.setProperty('width', `${layout.w + 2 * edge}px`);
    ring.style.setProperty('height', `${layout.h + 2 * edge}px`);
    ring.style.setProperty('transform', `translate(${x - edge}px, ${y - edge}px)`);
  }

  function point (at, keyed) {
    if (at === pointed && keyed === byKey)
      return;
    pointed = at;
    byKey = keyed;
    if (layout)
      placeRing();
    if (at < 0 || !layout) {
      onPoint(-1, null, keyed);
      return;
    }
    const [x, y] = placeOf(layout, blockOf(layout, at), at);
    onPoint(scene.order[at], {x, y, w: layout.w, h: layout.h, width: stage.clientWidth}, keyed);
  }

  const placeUnder = (event) => (layout ? hit(layout, event.offsetX, event.offsetY) : -1);
  canvas.addEventListener('pointermove', (event) => point(placeUnder(event), false));
  canvas.addEventListener('pointerleave', () => point(document.activeElement === canvas && byKey ? pointed : -1, byKey));
  canvas.addEventListener('click', (event) => {
    const at = placeUnder(event);
    if (at >= 0)
      onOpen(scene.order[at]);
  });
  canvas.addEventListener('focus', () => {
    if (pointed < 0 && layout && canvas.matches(':focus-visible'))
      point(0, true);
  });
  canvas.addEventListener('blur', () => point(-1, false));
  canvas.addEventListener('keydown', (event) => {
    if (!layout)
      return;
    if (ARROWS.includes(event.key))
      point(pointed < 0 ? 0 : neighbour(layout, pointed, event.key), true);
    else if (event.key === 'Home' || event.key === 'End')
      point(event.key === 'Home' ? 0 : scene.order.length - 1, true);
    else if (event.key === 'Enter' && pointed >= 0)
      onOpen(scene.order[pointed]);
    else if (event.key === 'Escape')
      point(-1, false);
    else
      return;
    event.preventDefault();
  });

  const watching = new ResizeObserver(draw);
  watching.observe(stage);
  window.addEventListener('resize', draw);
  const stop = settings.onChange(() => {
    colours = null;
    draw();
  });

  return {
    canvas,
    show (next) {
      const node = pointed >= 0 && scene ? scene.order[pointed] : -1;
      const moved = scene && (scene.order !== next.order);
      scene = next;
      if (node >= 0 && moved)
        pointed = scene.order.indexOf(node);
      draw();
    },
    get pointed () {
      return pointed >= 0 && scene ? scene.order[pointed] : -1;
    },
    /* Where a node's cell lies, for tests and tips. */
    rectOf (i) {
      const at = scene?.order.indexOf(i) ?? -1;
      if (at < 0 || !layout)
        return null;
      const [x, y] = placeOf(layout, blockOf(layout, at), at);
      return {x, y, w: layout.w, h: layout.h};
    },
    destroy () {
      watching.disconnect();
      window.removeEventListener('resize', draw);
      stop();
      draw.cancel();
      stage.remove();
    },
  };
}

/* Fills every cell, pixel by pixel of the screen: its value's colour, or the pattern of why there is none. */
function paintCells (image, layout, {picture, order, low, high}, colours, ratio) {
  const pixels = new Uint32Array(image.data.buffer);
  const {width} = image;
  for (const block of layout.blocks)
    for (let at = block.from; at < block.from + block.count; at++) {
      const [x, y] = placeOf(layout, block, at);
      const left = Math.round(x * ratio), top = Math.round(y * ratio);
      const right = Math.min(width, Math.round((x + layout.w) * ratio)), bottom = Math.min(image.height, Math.round((y + layout.h) * ratio));
      const i = order[at];
      const value = picture.values[i];
      if (Number.isNaN(value) || (picture.states[i] ?? 'u') !== 'u') {
        paintPattern(pixels, width, left, top, right, bottom, stateOf(picture, i), colours, ratio);
        continue;
      }
      const pixel = RAMP_PIXELS[stepOf(value, low, high)];
      for (let line = top; line < bottom; line++)
        pixels.fill(pixel, line * width + left, line * width + right);
    }
}

/* Names and values in cells that have room for them. */
function writeCells (context, layout, {picture, order, low, high, format}, colours) {
  const {w, h} = layout;
  const large = Math.max(13, Math.min(24, Math.round(h * 0.32)));
  const small = h >= 60 ? 12 : 11;
  const room = w - 14;
  context.textBaseline = 'alphabetic';
  for (const block of layout.blocks)
    for (let at = block.from; at < block.from + block.count; at++) {
      const [x, y] = placeOf(layout, block, at);
      const i = order[at];
      const state = stateOf(picture, i);
      const step = stepOf(picture.values[i], low, high);
      if (state !== 'u') {
        context.fillStyle = colours.plate;
        context.fillRect(x + 4, y + 4, w - 8, h - 8);
      }
      context.fillStyle = state === 'u' ? RAMP_INK[step] : colours.ink;
      context.font = `${small}px ${colours.font}`;
      context.fillText(fitText(context, picture.nodes[i], room), x + 7, y + 5 + small);
      context.font = `600 ${state === 'u' ? large : small}px ${colours.font}`;
      const text = format(picture, i);
      context.fillText(state === 'u' ? fitValue(context, text, room) : fitText(context, text, room), x + 7, y + h - (h < 40 ? 5 : 7));
    }
}

const fitted = new Map();

/* A text cut in its middle to what fits: the ends of nodes' names tell them apart. */
function fitText (context, text, room) {
  const key = `${context.font}\n${room}\n${text}`;
  let result = fitted.get(key);
  if (result === undefined) {
    result = cut(context, text, room);
    if (fitted.size > 4000)
      fitted.clear();
    fitted.set(key, result);
  }
  return result;
}

/* A number is never cut, which would be another one: its decimals go, then its unit, then all of it. */
function fitValue (context, text, room) {
  return shorterOf(text).find((one) => context.measureText(one).width <= room) ?? '';
}

function cut (context, whole, room) {
  const letters = [...whole.slice(0, 300)];
  if (context.measureText(letters.join('')).width <= room)
    return letters.join('');
  for (let keep = Math.min(letters.length - 1, 40); keep > 1; keep--) {
    const text = `${letters.slice(0, Math.floor(keep / 2)).join('')}…${letters.slice(-Math.ceil(keep / 2)).join('')}`;
    if (context.measureText(text).width <= room)
      return text;
  }
  return '';
}

function writeLabels (context, layout, colours) {
  context.font = `11px ${colours.font}`;
  context.fillStyle = colours.label;
  context.textBaseline = 'alphabetic';
  for (const block of layout.blocks) {
    if (!block.label)
      continue;
    const width = block.columns * (layout.w + layout.gap) - layout.gap;
    context.fillText(fitText(context, block.name, Math.max(width, 56)), block.x, block.y + block.label - 5);
  }
}

/* Alerts lie on top: a corner of large cells, a frame around small ones. */
function markCells (context, layout, {order, marks}, colours) {
  if (!marks.size)
    return;
  context.lineWidth = 1.5;
  for (const block of layout.blocks)
    for (let at = block.from; at < block.from + block.count; at++) {
      if (!marks.has(order[at]))
        continue;
      const [x, y] = placeOf(layout, block, at);
      const {w, h} = layout;
      if (w < 12) {
        context.strokeStyle = colours.alert;
        context.strokeRect(x - 1, y - 1, w + 2, h + 2);
        continue;
      }
      const side = Math.min(16, Math.round(h * 0.45));
      context.beginPath();
      context.moveTo(x + w - side, y);
      context.lineTo(x + w, y);
      context.lineTo(x + w, y + side);
      context.closePath();
      context.fillStyle = colours.alert;
      context.fill();
      context.strokeStyle = colours.surface;
      context.stroke();
    }
}
