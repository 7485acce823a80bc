/* Colours of values: violet over teal to yellow, computed in OKLab such that each step looks as far as the others, and
 * gets lighter always, so that it is read without seeing hues too. */

export const STEPS = 256;

const LOW = {l: 0.29, c: 0.115, h: 290};
const HIGH = {l: 0.91, c: 0.165, h: 102};

const between = (a, b, t) => a + (b - a) * t;
const radians = (degrees) => degrees * Math.PI / 180;

/* OKLab at t of 0..1 on the way. Teal is held less strong than its ends, as screens cannot show it stronger. */
function onTheWay (t) {
  const l = between(LOW.l, HIGH.l, t);
  const c = between(LOW.c, HIGH.c, t) - 0.05 * Math.sin(Math.PI * t) ** 2;
  const h = radians(between(LOW.h, HIGH.h, t));
  return [l, c * Math.cos(h), c * Math.sin(h)];
}

/* https://bottosson.github.io/posts/oklab */
function srgbOf ([l, a, b]) {
  const long = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const middle = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short].map(encode);
}

function encode (linear) {
  const x = Math.min(1, Math.max(0, linear));
  return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
}

const decode = (x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);

export function oklabOf ([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map(decode);
  const long = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const middle = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const short = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [0.2104542553 * long + 0.793617785 * middle - 0.0040720468 * short,
    1.9779984951 * long - 2.428592205 * middle + 0.4505937099 * short,
    0.0259040371 * long + 0.7827717662 * middle - 0.808675766 * short];
}

const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

/* [r, g, b] of each step: the way is walked in pieces of the same length. */
function walk () {
  const fine = Array.from({length: 2001}, (_, i) => onTheWay(i / 2000));
  const way = [0];
  for (let i = 1; i < fine.length; i++)
    way.push(way[i - 1] + distance(fine[i - 1], fine[i]));
  let at = 0;
  return Array.from({length: STEPS}, (_, step) => {
    const goal = way.at(-1) * step / (STEPS - 1);
    while (at < fine.length - 1 && way[at] < goal)
      at++;
    return srgbOf(fine[at]);
  });
}

export const RAMP = walk();
export const RAMP_CSS = RAMP.map(([r, g, b]) => `rgb(${r} ${g} ${b})`);

/* As ImageData's 32-bit words have it (red is the lowest byte on every machine that has browsers). */
export const pixelOf = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
export const RAMP_PIXELS = Uint32Array.from(RAMP, pixelOf);

const luminance = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, share, i) => sum + share * decode(colour[i]), 0);

/* Ink on each step that has the better contrast with it. */
export const RAMP_INK = RAMP.map((colour) => (luminance(colour) > 0.179 ? '#000000' : '#ffffff'));

/* The step of a value in low..high; what is outside is shown as the end. */
export function stepOf (value, low, high) {
  if (!(high > low))
    return 0;
  const share = (value - low) / (high - low);
  return share <= 0 ? 0 : share >= 1 ? STEPS - 1 : Math.round(share * (STEPS - 1));
}

/* Lines of curves that colour-blind people tell apart (Okabe and Ito's set, each for its ground). */
const LINES = {
  light: ['#0063a6', '#b34700', '#007a58', '#a8478a', '#6b6000', '#1e7fa8', '#5d4a9c', '#4a525c'],
  dark: ['#56b4e9', '#e69f00', '#2fc49a', '#dd8fc0', '#e8dd52', '#8aa8ff', '#f08055', '#b3bac2'],
};
export const lineColours = (dark) => (dark ? LINES.dark : LINES.light);

/* "rgb(1, 2, 3)" or "#123456" -> [1, 2, 3] */
export function rgbOf (css) {
  const hex = /^#([0-9a-f]{6})$/i.exec(css.trim());
  if (hex)
    return [0, 2, 4].map((i) => parseInt(hex[1].slice(i, i + 2), 16));
  return (css.match(/[\d.]+/g) ?? [0, 0, 0]).slice(0, 3).map(Number);
}
