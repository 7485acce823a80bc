/* The jobs that run at the page's instant, the largest first. */
import {el, replace, setText} from './dom.js';
import {settings} from './settings.js';
import {time} from './units.js';

const SHOWN = 8;

export function createJobList (context) {
  const heading = el('h2', {id: 'jobs-title'}, 'Jobs');
  const all = el('a', {href: context.link('jobs'), 'class': 'small'}, 'All jobs');
  const body = el('div');
  const element = el('section', {'class': 'panel job-list', 'aria-labelledby': 'jobs-title'}, el('div', {'class': 'panel-head'}, heading, all), body);
  let said = null;

  function fill (jobs) {
    setText(heading, jobs.length ? `Jobs: ${jobs.length} running` : 'Jobs');
    if (!jobs.length) {
      replace(body, el('p', {'class': 'note'}, 'None runs.'));
      return;
    }
    const largest = [...jobs].sort((a, b) => b.nodes.length - a.nodes.length).slice(0, SHOWN);
    replace(body,
      el('table', {}, el('thead', {'class': 'unseen'}, el('tr', {}, ['Job', 'User', 'Nodes', 'Since'].map((text) => el('th', {scope: 'col'}, text)))),
        el('tbody', {}, largest.map((job) => el('tr', {},
          el('td', {'class': 'job-name'}, el('a', {href: context.link('job', {job: job.job_id, user: job.user, scheduler: job.scheduler})}, job.shown ?? job.job_id), job.name && job.name !== job.job_id ? ` ${job.name}` : ''),
          el('td', {'class': 'job-user'}, job.user),
          el('td', {'class': 'number'}, `${job.nodes.length} ${job.nodes.length === 1 ? 'node' : 'nodes'}`),
          el('td', {'class': 'number dim'}, time(job.started, 'short')))))),
      jobs.length > SHOWN ? el('p', {'class': 'note small'}, `and ${jobs.length - SHOWN} more`) : null);
  }

  return {
    element,
    show (jobs) {
      const now = JSON.stringify([settings.zone, jobs.map((job) => [job.job_id, job.user, job.nodes.length])]);
      if (now !== said)
        fill(jobs);
      said = now;
    },
  };
}
