/* Any group, as a table: nothing that a node samples is hidden, though the page knows nothing of it. */
import {el, replace, setText} from './dom.js';
import {curveOf, shown, textOf} from './metrics.js';
import {anatomy} from './readings.js';
import {createTable} from './table.js';

/* createGroupTable (table, catalog) -> {element, update (table)}; the own values and the fold, then the rows. */
export function createGroupTable (first, catalog) {
  const meta = catalog.group(first.group);
  const curved = !(meta?.once ?? first.period === null); /* facts are sampled once */
  const values = createTable({
    label: `${first.group}: values of the node`,
    key: ([name]) => name,
    most: 400,
    columns: [
      {id: 'name', label: 'Metric', text: ([name]) => name},
      {id: 'value', label: 'Value', number: true, text: ([, text]) => text, order: ([, , order]) => order, curve: ([, , order, curve]) => (curved && typeof order === 'number' ? curve : null)},
      {id: 'help', label: 'What it is', text: ([, , , , help]) => help},
    ],
  });
  const place = el('div', {'class': 'group-rows'});
  const error = el('p', {'class': 'problem', hidden: true});
  const element = el('div', {}, error, values.element, place);
  let rows = null;
  let names = '';

  function update (table) {
    const {own, fold, rows: list} = anatomy(table, meta);
    error.hidden = !table.error;
    setText(error, table.error);
    const line = (prefix) => ([name, value]) => {
      const metric = catalog.metric(table.group, name);
      return [prefix + name, textOf(metric, value, table.period), shown(metric, value, table.period).value, curveOf(table.group, name), metric.help];
    };
    const lines = [...Object.entries(own).map(line('')), ...Object.entries(fold ?? {}).map(line(meta?.fold_name ? `${meta.fold_name} ` : ''))];
    values.element.hidden = lines.length === 0 && list !== null;
    values.set(lines);
    if (list)
      showRows(table, list);
  }

  function showRows (table, list) {
    const metrics = [...new Set(list.flatMap(([, cells]) => Object.keys(cells)))];
    if (!rows || metrics.join() !== names) {
      names = metrics.join();
      rows = rowsTable(table, metrics);
      replace(place, rows.element);
    }
    rows.set(list.map(([label, cells]) => ({label, cells, table})));
  }

  function rowsTable ({group, owner}, metrics) {
    return createTable({
      label: `${group}: each ${meta?.row || 'row'}`,
      key: ({label}) => label,
      most: 64,
      empty: `There is no ${meta?.row || 'row'}.`,
      columns: [{id: 'row', label: meta?.row ? meta.row[0].toUpperCase() + meta.row.slice(1) : 'Row', text: ({label}) => label},
        ...metrics.map((name) => {
          const metric = catalog.metric(group, name);
          const text = metric.kind === 'text';
          return {id: name, label: name, help: metric.help, number: !text,
            text: ({cells, table}) => textOf(metric, cells[name], table.period),
            order: ({cells, table}) => shown(metric, cells[name], table.period).value,
            curve: ({label, cells}) => (curved && typeof cells[name] === 'number' ? curveOf(group, name, owner ? `${owner}/${label}` : label) : null)};
        })],
    });
  }

  update(first);
  return {element, update};
}
