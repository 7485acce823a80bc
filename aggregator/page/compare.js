/* Two jobs side by side: their figures, what differs, and their curves from their beginnings on. */
import {el, replace, setText} from './dom.js';
import {columnsOf, curveItems, questionFor} from './job_curves.js';
import {itemsOf, pathOf, stateOf} from './job_items.js';
import {field} from './jobs.js';
import {createTable} from './table.js';
import {duration, format, time} from './units.js';

const MARKED = 0.1; /* from which share two figures differ */

export const view = {
  name: 'compare',
  title: ({a, b}) => (a && b ? `Jobs ${a} and ${b}` : 'Compare jobs'),
  open (root, context) {
    const inputs = ['a', 'b'].map((name) => el('input', {type: 'text', id: `compare-${name}`, autocomplete: 'off', spellcheck: 'false'}));
    const form = el('form', {'class': 'tools'}, field('compare-a', 'Job', inputs[0]), field('compare-b', 'with', inputs[1]), el('button', {'class': 'button'}, 'Compare'));
    const problem = el('p', {'class': 'problem', hidden: true});
    const body = el('div');
    let charts = [];
    let serial = 0;
    let asked = '';
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      context.go('compare', {a: inputs[0].value.trim(), b: inputs[1].value.trim()});
    });
    root.append(el('div', {'class': 'head'}, el('h1', {}, 'Compare two jobs')), form, problem, body);

    const clean = () => {
      charts.forEach((chart) => chart.destroy());
      charts = [];
      replace(body);
    };
    async function update ({a = '', b = ''}) {
      if (asked === JSON.stringify([a, b]))
        return;
      asked = JSON.stringify([a, b]);
      [inputs[0].value, inputs[1].value] = [a, b];
      const mine = ++serial;
      clean();
      problem.hidden = true;
      if (!a || !b)
        return;
      try {
        const reports = await Promise.all([a, b].map((id) => context.get(pathOf(id))));
        if (mine === serial)
          show(reports, mine);
      } catch (error) {
        problem.hidden = false;
        setText(problem, error.message);
      }
    }

    function show (reports, mine) {
      const curves = el('div', {'class': 'curves'});
      body.append(el('section', {'class': 'panel'}, el('h2', {}, 'In figures'), figures(context, reports)),
        el('section', {'class': 'panel'}, el('div', {'class': 'head'}, el('h2', {}, 'Curves'),
          el('span', {'class': 'note'}, `The mean of the nodes. ${reports[1].job_id} is moved in time so that both begin together.`)), curves));
      drawCurves(curves, reports, () => mine === serial);
    }

    async function drawCurves (place, reports, wanted) {
      const items = curveItems(reports[0]).filter(({name}) => name in reports[1].total);
      for (const item of items) {
        if (!wanted())
          return;
        const area = el('div', {'class': 'curve-area'});
        const note = el('p', {'class': 'curve-note'});
        place.append(el('article', {'class': 'curve'}, el('h3', {}, item.title), area, note));
        try {
          const answers = await Promise.all(reports.map((report) => context.get('query', questionFor(item, report, {}))));
          if (!wanted())
            return;
          const chart = context.chart(area, {label: `${item.title} of both jobs`, unit: answers[0].unit, height: 160, series: reports.map(({job_id: id}) => ({label: id}))});
          charts.push(chart);
          chart.set(overlay(answers, reports));
        } catch (error) {
          setText(note, error.message);
        }
      }
    }

    update(context.params);
    return {
      update,
      close () {
        serial++;
        clean();
      },
    };
  },
};

/* The means of both, over the time of the first. */
export function overlay (answers, reports) {
  const begin = reports.map(({started}) => Math.floor(Date.parse(started) / 1000));
  const means = answers.map((answer, i) => {
    const {times, lines} = columnsOf(answer);
    return new Map(times.map((t, at) => {
      const known = lines.map(({values}) => values[at]).filter((value) => value !== null);
      return [t - begin[i], known.length ? known.reduce((a, b) => a + b) / known.length : null];
    }));
  });
  const times = [...new Set(means.flatMap((mean) => [...mean.keys()]))].sort((a, b) => a - b);
  return [times.map((t) => t + begin[0]), ...means.map((mean) => times.map((t) => nearest(mean, t)))];
}

/* Their steps lie beside each other: between two of one its line goes on. undefined joins, null parts. */
const nearest = (mean, t) => (mean.has(t) ? mean.get(t) : undefined);

function figures (context, reports) {
  const rows = [
    ...[['State', stateOf], ['User', ({user}) => user], ['Name', ({name}) => name], ['Command', ({command}) => command], ['Began', ({started}) => time(started, 'full')]].map(([name, get]) => ({name, texts: reports.map(get), differs: get(reports[0]) !== get(reports[1]) && name !== 'Began'})),
    numbers('Lasted', reports.map((report) => report.duration), duration),
    numbers('Nodes', reports.map(({nodes}) => nodes.length), format), numbers('CPUs', reports.map(({cpus}) => cpus), format),
    numbers('CPU time', reports.map((report) => report.cpu_time), duration), numbers('CPU efficiency', reports.map((report) => report.cpu_efficiency), (value) => format(value, 'percent')),
    numbers('Peak memory of a node', reports.map((report) => report.memory_peak?.bytes ?? null), (value) => format(value, 'bytes')),
    numbers('Energy', reports.map((report) => (report.energy ? report.energy.kwh * 1000 : null)), (value) => format(value, 'Wh')),
    ...itemsOf({total: {...reports[0].total, ...reports[1].total}}).flatMap((item) => [
      numbers(`${item.title}, mean`, reports.map(({total}) => total[item.name]?.mean ?? null), (value) => format(value, item.unit)),
      ...(reports.some(({total}) => total[item.name]?.total !== undefined) ? [numbers(`${item.title}, total`, reports.map(({total}) => total[item.name]?.total ?? null), (value) => format(value, item.total))] : []),
    ]),
  ];
  const table = createTable({
    label: 'Figures of both jobs', key: ({name}) => name, mark: ({differs}) => (differs ? 'is-marked' : ''), columns: [
      {id: 'name', label: 'Quantity', text: ({name}) => name},
      ...reports.map((report, i) => ({id: `job${i}`, label: `Job ${report.job_id}`, number: true, text: ({texts}) => texts[i], order: ({values, texts}) => values?.[i] ?? texts[i], href: ({name}) => (name === 'State' ? context.link('job', {job: report.job_id}) : null)})),
      {id: 'difference', label: 'Difference', number: true, text: ({difference, differs}) => (difference ?? (differs ? 'differs' : '')), order: ({ratio}) => ratio},
    ],
  });
  table.set(rows.filter(({texts}) => texts.some((text) => text && text !== '–')));
  return table.element;
}

function numbers (name, values, text) {
  const [a, b] = values;
  const known = a !== null && b !== null && Number.isFinite(a) && Number.isFinite(b);
  const ratio = known && a !== 0 ? (b - a) / Math.abs(a) : null;
  const differs = known && (ratio === null ? b !== 0 : Math.abs(ratio) >= MARKED);
  const difference = !known ? '' : ratio === null ? (b === 0 ? '' : 'from none') : Math.abs(ratio) < 0.0005 ? '' : ratio >= 9 ? `${format(b / a)} times` : `${ratio > 0 ? '+' : ''}${format(ratio * 100, 'percent')}`;
  return {name, values, texts: values.map((value) => text(value)), ratio: ratio === null ? null : Math.abs(ratio), differs, difference};
}
