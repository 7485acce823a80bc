/* Racks: which group of nodes a node belongs to, as the viewer describes it. Lines are any of
 *   rack1: n[1-4],gpu*       globs of the nodes in it
 *   n17 rack2                one node and its rack (a blank, a tab or a comma between), as tables have it
 *   {r*}n*                   the part of each name that the braces hold is its rack
 * Empty lines and such that begin with # are left out. */

/* {racks: number of racks that are named, rackOf (node) -> name or null, errors: ['line 3: ...']} */
export function parseRacks (text) {
  const single = new Map();
  const rules = [];
  const errors = [];
  text.split(/\r?\n/).forEach((raw, index) => {
    const line = raw.trim();
    if (line === '' || line.startsWith('#'))
      return;
    const rule = ruleOf(line);
    if (rule === null)
      errors.push(`Line ${index + 1}: neither “rack: nodes” nor “node rack” nor “{rack*}node*”.`);
    else if (rule.node)
      single.set(rule.node, rule.rack);
    else
      rules.push(rule);
  });
  return {
    errors,
    count: single.size + rules.length,
    rackOf (node) {
      const rack = single.get(node);
      if (rack !== undefined)
        return rack;
      for (const rule of rules) {
        const found = rule.match(node);
        if (found !== null)
          return found;
      }
      return null;
    },
  };
}

function ruleOf (line) {
  const braces = /^([^{}]*)\{([^{}]+)\}([^{}]*)$/.exec(line);
  if (braces && !line.includes(':')) {
    const pattern = new RegExp(`^${globSource(braces[1])}(${globSource(braces[2])})${globSource(braces[3])}$`, 'u');
    return {match: (node) => pattern.exec(node)?.[1] ?? null};
  }
  const named = /^([^:]+):\s*(\S.*)$/.exec(line);
  if (named) {
    const globs = globsOf(named[2]);
    const rack = named[1].trim();
    return {match: (node) => (globs(node) ? rack : null)};
  }
  const pair = /^([^\s,]+)[\s,]+(\S.*)$/.exec(line);
  return pair ? {node: pair[1], rack: pair[2].trim()} : null;
}

/* A function that says whether one of the shell patterns, with commas or blanks between, matches. */
function globsOf (list) {
  const patterns = list.split(/[\s,]+(?![^[]*\])/).filter(Boolean).map((glob) => new RegExp(`^${globSource(glob)}$`, 'u'));
  return (name) => patterns.some((pattern) => pattern.test(name));
}

const NUMBERS = /^\[(?=.*[-,])(?=.*\d\d)\d+(-\d+)?(,\d+(-\d+)?)*\]$/;

/* *, ? and [a-z] as shells have them, and [1-16] as the ranges of numbers that people write for nodes. */
function globSource (glob) {
  return glob.replace(/\*+|\?|\[[^\]]*\]|[^*?[]+|\[/gu, (part) => {
    if (part.startsWith('*'))
      return '.*';
    if (part === '?')
      return '.';
    if (part.startsWith('[') && part.endsWith(']') && part.length > 2)
      return NUMBERS.test(part) ? numbersSource(part.slice(1, -1)) : setSource(part.slice(1, -1));
    return escape(part);
  });
}

const escape = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

function setSource (inside) {
  const not = /^[!^]/.test(inside);
  return `[${not ? '^' : ''}${inside.slice(not ? 1 : 0).replace(/[\\\]^[&~]/g, '\\$&')}]`;
}

/* "1-16,20" -> (?:0*(?:1|2|...|16)|...): at most 10,000 numbers. */
function numbersSource (list) {
  const numbers = [];
  for (const range of list.split(',')) {
    const [from, to = from] = range.split('-').map(Number);
    for (let i = from; i <= to && numbers.length < 10000; i++)
      numbers.push(i);
  }
  return `0*(?:${numbers.reverse().join('|')})`;
}
