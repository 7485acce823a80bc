/* The head of the page: the views, whether the aggregator answers, zone and theme, and the links' instant. */
import {el, replace, setText} from './dom.js';
import {settings} from './settings.js';

export function showFrame (places, context) {
  const links = new Map(places.map(([name, text]) => [name, el('a', {href: context.link(name)}, text)]));
  replace(document.querySelector('.places'), el('ul', {}, [...links.values()].map((link) => el('li', {}, link))));

  replace(document.querySelector('.settings'), zoneButton(), themeButton(),
    el('button', {type: 'button', 'class': 'quiet', 'aria-label': 'Keys', title: 'Keys (?)', on: {click: context.keys.help}}, '?'));
  context.keys.add({'?': ['These keys', context.keys.help]});
  showPrinted(context);
  showConnection(document.getElementById('link-state'), context);
  carryInstant(context);

  return {
    mark (name) {
      for (const [place, link] of links)
        if (place === name)
          link.setAttribute('aria-current', 'page');
        else
          link.removeAttribute('aria-current');
    },
  };
}

function themeButton () {
  const button = el('button', {type: 'button', 'class': 'quiet', on: {click: () => settings.setTheme(settings.dark ? 'light' : 'dark')}});
  const paint = () => {
    setText(button, `Theme: ${settings.dark ? 'dark' : 'light'}`);
    button.setAttribute('title', `Change to the ${settings.dark ? 'light' : 'dark'} theme`);
  };
  settings.onChange(paint);
  paint();
  return button;
}

function zoneButton () {
  const button = el('button', {type: 'button', 'class': 'quiet', on: {click: () => settings.setZone(settings.zone === 'utc' ? 'local' : 'utc')}});
  const paint = () => {
    setText(button, `Times: ${settings.zone === 'utc' ? 'UTC' : 'local'}`);
    button.setAttribute('title', `Change to ${settings.zone === 'utc' ? 'local time' : 'UTC'}`);
  };
  settings.onChange(paint);
  paint();
  return button;
}

function showConnection (element, {connection, time}) {
  const paint = () => {
    element.classList.toggle('is-lost', connection.state === 'lost');
    setText(element, connection.state === 'lost' ? `No answer since ${time(connection.since, 'short')}; trying again` : '');
  };
  connection.onChange(paint);
  settings.onChange(paint);
  paint();
}

/* On paper: of which instant it is, and where it was seen. */
function showPrinted ({instant, time}) {
  const line = el('p', {'class': 'printed'});
  document.querySelector('header.top').append(line);
  window.addEventListener('beforeprint', () => setText(line, `${time(instant.time(), 'full')} · ${location.href}`));
}

/* Links get the page's instant when somebody is about to use them. */
function carryInstant ({carry}) {
  for (const event of ['pointerdown', 'focusin', 'keydown', 'click'])
    document.addEventListener(event, ({target}) => {
      const link = target instanceof Element ? target.closest('a[href^="#/"]') : null;
      if (link)
        carry(link);
    }, true);
}
