/* Tables: real ones, sorted by their heads, whose rows stay the same elements while their values change, so that focus and
 * selection outlive each tick.
 *
 * createTable ({label, key, columns, sort, onSort, empty, most, mark}) -> {element, set (rows), sort}
 *   key      (row) -> what tells rows apart
 *   columns  [{id, label, text (row), order (row), number, help, href (row), curve (row), bar (row), mark (row), title (row), check}]
 *            text   what the cell says; order: what it is sorted by, else the text; null comes last
 *            href   makes it a link; curve: a button that shows the curve of that name; bar: a share of 0..1 beside it
 *            check  {is (row), set (row, on), label (row)}: a box to be ticked instead
 *   sort     'id' or '-id', downwards; '' leaves the order of the rows
 *   most     so many rows, until more are asked for
 *   mark     (row) -> a class for the row
 * Of values that are buttons one is a stop of the tab key; arrows move between them. */
import {el, setText} from './dom.js';

const collator = new Intl.Collator('en', {numeric: true});

const missing = (value) => value === null || value === undefined || value === '' || Number.isNaN(value);

/* Sorted by what `order` gives; what is missing comes last, downwards too. */
export function sorted (rows, order, down = false) {
  const compare = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b)));
  return rows.map((row) => [order(row), row])
    .sort(([a], [b]) => missing(a) - missing(b) || (missing(a) ? 0 : down ? compare(b, a) : compare(a, b)))
    .map(([, row]) => row);
}

export function createTable (options) {
  const {label, columns, key, empty = 'None.', most = 200, mark = () => ''} = options;
  let sort = options.sort ?? '';
  let rows = [];
  let limit = most;
  const lines = new Map();
  const heads = new Map(columns.map((column) => [column.id, head(column)]));
  const body = el('tbody');
  const table = el('table', {'class': 'sheet'},
    el('caption', {'class': 'unseen'}, label), el('thead', {}, el('tr', {}, [...heads.values()])), body);
  const none = el('p', {'class': 'note', hidden: true}, empty);
  const more = el('button', {'class': 'quiet', type: 'button', hidden: true, on: {click: showAll}});
  const scroll = el('div', {'class': 'scroll'}, table);
  const wide = el('p', {'class': 'note small to-scroll', hidden: true}, 'There are more columns to the right: scroll.');
  const element = el('div', {'class': 'sheet-box'}, scroll, wide, none, more);
  const watching = new ResizeObserver(() => (wide.hidden = scroll.scrollWidth <= scroll.clientWidth + 1));
  watching.observe(scroll);
  watching.observe(table);

  table.addEventListener('keydown', rove);
  table.addEventListener('focusin', (event) => settle(event.target));

  function head (column) {
    if (column.check)
      return el('th', {scope: 'col'}, column.label);
    const press = el('button', {type: 'button', on: {click: () => sortBy(column)}}, column.label);
    return el('th', {scope: 'col', 'class': column.number ? 'number' : null, title: column.help, 'aria-sort': 'none'}, press);
  }

  function sortBy (column) {
    const down = column.number ? sort !== `-${column.id}` : sort === column.id;
    sort = (down ? '-' : '') + column.id;
    options.onSort?.(sort);
    paint();
  }

  function showAll () {
    limit = Infinity;
    paint();
    body.querySelector('a, button')?.focus();
  }

  function ordered () {
    const column = columns.find((one) => one.id === sort.replace(/^-/, ''));
    for (const [id, th] of heads)
      th.setAttribute('aria-sort', column?.id !== id ? 'none' : sort.startsWith('-') ? 'descending' : 'ascending');
    return column ? sorted(rows, column.order ?? column.text, sort.startsWith('-')) : rows;
  }

  function paint () {
    const shown = ordered().slice(0, limit);
    const kept = new Set(shown.map(key));
    for (const [id, line] of lines)
      if (!kept.has(id)) {
        line.tr.remove();
        lines.delete(id);
      }
    shown.forEach((row, i) => {
      const line = lines.get(key(row)) ?? begin(key(row));
      line.tr.className = mark(row);
      columns.forEach((column, c) => fill(line.cells[c], column, row));
      if (body.children[i] !== line.tr)
        body.insertBefore(line.tr, body.children[i] ?? null);
    });
    none.hidden = rows.length > 0;
    table.hidden = rows.length === 0;
    more.hidden = rows.length <= limit;
    setText(more, `Show all ${rows.length}`);
    if (!body.querySelector('button[data-curve][tabindex="0"]'))
      body.querySelector('button[data-curve]')?.setAttribute('tabindex', '0');
  }

  function begin (id) {
    const cells = columns.map((column, i) => ({td: el(i === 0 ? 'th' : 'td', {'class': column.number ? 'number' : null, scope: i === 0 ? 'row' : null})}));
    const line = {tr: el('tr', {}, cells.map(({td}) => td)), cells};
    lines.set(id, line);
    return line;
  }

  /* Arrows go from value to value. */
  function rove (event) {
    const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    const from = event.target.closest('button[data-curve]');
    if (!step || !from)
      return;
    event.preventDefault();
    const cell = from.closest('td, th');
    let tr = cell.parentElement;
    let index = cell.cellIndex;
    do {
      index += step[0];
      tr = step[1] < 0 ? tr.previousElementSibling : step[1] > 0 ? tr.nextElementSibling : tr;
      const next = tr?.cells[index]?.querySelector('button[data-curve]');
      if (next) {
        next.focus();
        return;
      }
    } while (tr?.cells[index]);
  }

  function settle (target) {
    if (!target.matches('button[data-curve]'))
      return;
    body.querySelector('button[data-curve][tabindex="0"]')?.setAttribute('tabindex', '-1');
    target.setAttribute('tabindex', '0');
  }

  return {
    element,
    set (given) {
      rows = given;
      paint();
    },
  };
}

function fill (cell, column, row) {
  if (column.check) {
    tick(cell, column.check, row);
    return;
  }
  const text = column.text(row) ?? '';
  const href = column.href?.(row) ?? null;
  const curve = column.curve?.(row) ?? null;
  if (column.bar)
    showBar(cell, column.bar(row));
  if (cell.href !== href || cell.curve !== curve) {
    cell.holder?.remove();
    cell.holder = href !== null ? el('a', {href}) : curve !== null ? valueButton(curve) : null;
    if (cell.holder)
      cell.td.append(cell.holder);
    Object.assign(cell, {href, curve});
  }
  if (column.bar && !cell.holder)
    cell.td.append(cell.holder = el('span'));
  setText(cell.holder ?? cell.td, text);
  if (column.title)
    cell.td.setAttribute('title', column.title(row) ?? '');
  const mark = `${column.number ? 'number ' : ''}${column.mark?.(row) ?? ''}`.trim();
  if (cell.td.className !== mark)
    cell.td.className = mark;
}

function tick (cell, check, row) {
  cell.row = row;
  cell.box ??= cell.td.appendChild(el('input', {type: 'checkbox', on: {change: () => check.set(cell.row, cell.box.checked)}}));
  cell.box.setAttribute('aria-label', check.label(row));
  cell.box.checked = check.is(row);
}

function valueButton (curve) {
  return el('button', {type: 'button', 'class': 'value', tabindex: '-1', 'data-curve': curve});
}

function showBar (cell, share) {
  cell.bar ??= cell.td.appendChild(el('span', {'class': 'bar', 'aria-hidden': 'true'}, el('span')));
  const known = Number.isFinite(share);
  cell.bar.classList.toggle('is-none', !known);
  cell.bar.firstElementChild.style.setProperty('width', `${known ? Math.min(100, Math.max(0, share * 100)).toFixed(1) : 0}%`);
}
