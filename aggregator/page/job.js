/* The report on a job as people read it, live while it runs: what was wrong first, then figures, curves, nodes, GPUs, events. */
import {el, replace, setText} from './dom.js';
import {createEventList} from './event_list.js';
import {createJobCurves} from './job_curves.js';
import {pathOf, stateOf} from './job_items.js';
import {figuresTable, gpusTable, nodesTable} from './job_tables.js';
import {metersOf, notesOf} from './job_notes.js';
import {drawRoofline} from './roofline.js';
import {duration, format, time} from './units.js';

const EVERY = 10000;
const FORMS = [['pdf', 'PDF'], ['html', 'HTML'], ['csv', 'CSV'], ['json', 'JSON'], ['text', 'Text']];

export const view = {
  name: 'job',
  title: (params) => `Job ${params.job ?? ''}`,
  open (root, context) {
    let shown = null;
    const show = (params) => {
      const key = JSON.stringify([params.job, params.user, params.scheduler]);
      if (shown?.key !== key) {
        shown?.close();
        replace(root);
        shown = {key, ...openJob(root, context, params)};
      }
    };
    show(context.params);
    return {update: show, close: () => shown.close()};
  },
};

function openJob (root, context, {job: id = '', user, scheduler}) {
  const state = el('span', {'class': 'state'});
  const made = el('span', {'class': 'dim', role: 'status'});
  const problem = el('p', {'class': 'problem', hidden: true});
  const body = el('div');
  const downloads = el('p', {'class': 'downloads', hidden: true}, 'Download: ', FORMS.map(([form, name]) => el('a', {href: `api/v1/${pathOf(id)}/report?${new URLSearchParams({format: form, ...known({user, scheduler})})}`, download: true}, name)));
  root.append(el('div', {'class': 'head'}, el('h1', {}, `Job ${id}`), state, made), downloads, problem, body);

  let closed = false;
  let timer = 0;
  let inside = null;

  async function load () {
    clearTimeout(timer);
    if (!document.hidden)
      try {
        const report = await context.get(pathOf(id), {user, scheduler});
        if (closed)
          return;
        show(report);
        say('');
        if (report.ended !== null)
          return;
      } catch (error) {
        if (closed)
          return;
        say(error.message);
        if (error.status === 404 || error.status === 409)
          return;
      }
    timer = setTimeout(load, EVERY);
  }

  function show (report) {
    downloads.hidden = false;
    setText(state, stateOf(report));
    state.className = `state is-${report.ended === null ? 'up' : 'none'}`;
    setText(made, report.ended === null ? `As of ${time(report.until, 'short')}` : '');
    inside ??= openReport(body, context, report, {user, scheduler});
    inside.update(report);
  }

  function say (message) {
    problem.hidden = !message;
    setText(problem, message);
  }

  load();
  return {
    close () {
      closed = true;
      clearTimeout(timer);
      inside?.close();
    },
  };
}

const known = (words) => Object.fromEntries(Object.entries(words).filter(([, value]) => value));

/* ---- a report ---- */

function openReport (body, context, first, who) {
  const facts = el('dl', {'class': 'facts job-facts'});
  const notes = el('div', {'class': 'notes'});
  const meters = el('div', {'class': 'meters'});
  const roofline = el('section', {'class': 'panel', hidden: true, 'aria-label': 'Roofline'});
  const gpuPanel = el('section', {'class': 'panel', hidden: true}, el('h2', {}, 'GPUs of the job'));
  const unknown = el('ul', {'class': 'unknown'});
  const unknownPanel = el('section', {'class': 'panel', hidden: true}, el('h2', {}, 'What is not known'), unknown);
  const curves = createJobCurves(context, first, who);
  const nodes = nodesTable(context, (name) => curves.mark(name));
  const gpus = gpusTable(context);
  const figures = figuresTable(context);
  gpuPanel.append(gpus.element);
  const events = createEventList(context, {nodes: new Set(first.nodes.map(({node}) => node)), from: first.started, to: first.until, label: 'Events of its nodes while it ran'});
  const other = el('input', {type: 'text', id: 'job-other', placeholder: 'Id of another job', autocomplete: 'off', spellcheck: 'false'});
  const compare = el('form', {'class': 'tools compare-form'}, el('div', {'class': 'field'}, el('label', {'for': 'job-other'}, 'Compare with'), other), el('button', {'class': 'button'}, 'Compare'));
  compare.addEventListener('submit', (event) => {
    event.preventDefault();
    if (other.value.trim())
      context.go('compare', {a: first.job_id, b: other.value.trim()});
  });
  body.append(
    el('section', {'class': 'panel', 'aria-label': 'What it is'}, facts, notes, meters), curves.element,
    el('section', {'class': 'panel'}, el('h2', {}, 'Nodes'), nodes.element), gpuPanel, roofline,
    el('section', {'class': 'panel'}, el('h2', {}, 'In figures'), figures.element), unknownPanel,
    el('section', {'class': 'panel'}, el('h2', {}, 'Events of its nodes while it ran'), events.element), compare);

  return {
    update (report) {
      replace(facts, factsOf(report).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
      replace(notes, notesOf(report));
      replace(meters, metersOf(report));
      curves.update(report);
      nodes.set(report);
      gpus.set(report);
      gpuPanel.hidden = !report.nodes.some((node) => node.gpus.length);
      roofline.hidden = !drawRoofline(roofline, report);
      figures.set(report);
      replace(unknown, report.unknown.map((sentence) => el('li', {}, sentence)));
      unknownPanel.hidden = report.unknown.length === 0;
    },
    close () {
      curves.destroy();
      events.destroy();
    },
  };
}

/* What its scheduler says of it; what that does not know is absent. */
function schedulerFacts (facts) {
  return [
    ['State', facts.state], ['Exit code', facts.exit_code === undefined ? null : `${facts.exit_code}${facts.exit_signal ? `, signal ${facts.exit_signal}` : ''}`],
    ['Partition', facts.partition], ['Account', facts.account], ['QOS', facts.qos], ['Waited', facts.wait === undefined ? null : duration(facts.wait)],
    ['Time limit', facts.time_limit === undefined ? null : duration(facts.time_limit)],
    ['Asked for', [facts.cpus && `${facts.cpus} CPUs`, facts.memory && format(facts.memory, 'bytes'), facts.gpus && `${facts.gpus} GPUs`].filter(Boolean).join(', ')],
    ['Scheduler', facts.error],
  ];
}

function factsOf (report) {
  return [
    ['User', report.user], ['Name', report.name], ['Command', report.command], ['Scheduler', report.scheduler], ['Array', report.array],
    ['Began', time(report.started, 'full')], ['Ended', report.ended ? time(report.ended, 'full') : null],
    ['Lasted', duration(report.duration)], ...schedulerFacts(report.scheduler_facts ?? {}), ['Nodes', String(report.nodes.length)], ['CPUs', report.cpus === null ? null : String(report.cpus)],
    ['CPU time', duration(report.cpu_time)],
    ['Cost', report.energy?.cost !== null && report.energy?.cost !== undefined ? `${report.energy.cost.toFixed(2)} ${report.energy.currency ?? ''}` : null],
  ].filter(([, value]) => value);
}
