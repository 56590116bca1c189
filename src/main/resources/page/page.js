// Keeps a page live: regions come by server-sent events and replace what is inside of their elements.
// Without events the page is loaded again every now and then; without this script it is a page that stands still.
'use strict';
(() => {
  // What came of a form is told once: a reload, or a bookmark, does not tell it again.
  const shown = new URL(location.href);
  if (shown.searchParams.has('said')) {
    shown.searchParams.delete('said');
    history.replaceState(null, '', shown);
  }

  const live = document.body.dataset.live;
  if (!live) return;
  const refreshMillis = 15000;
  const connection = document.getElementById('connection');
  const say = text => { if (connection.textContent !== text) connection.textContent = text; };

  // Somebody writes in it, or has written something: it is replaced later.
  const isInUse = element => (element.contains(document.activeElement) && document.activeElement.matches('input,textarea,select'))
    || [...element.querySelectorAll('input,textarea')].some(field => field.type === 'checkbox' ? field.checked !== field.defaultChecked : field.value !== field.defaultValue);
  const held = new Map();
  function whenFree(element, act) {
    if (!isInUse(element)) { held.delete(element); act(); return; }
    held.set(element, act);
  }
  setInterval(() => held.forEach((act, element) => whenFree(element, act)), 1000);
  // What is open stays open.
  function put(element, html) {
    const open = [...element.querySelectorAll('details')].map(each => each.open);
    element.innerHTML = html;
    element.querySelectorAll('details').forEach((each, i) => { if (open[i]) each.open = true; });
  }

  async function refresh() {
    const main = document.getElementById('main');
    if (isInUse(main)) {
      say('This page is older than what it shows: it is loaded again when your form is sent or empty.');
      await new Promise(resolve => whenFree(main, resolve));
    }
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (answer.redirected) { location.reload(); return; }
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
      document.getElementById('main').replaceWith(fresh.getElementById('main'));
      document.body.dataset.seen = fresh.body.dataset.seen;
      say('');
      return true;
    } catch (e) {
      say('No connection; trying again.');
      return false;
    }
  }
  const refreshForGood = () => setInterval(refresh, refreshMillis);

  function follow() {
    const source = new EventSource(live + (live.includes('?') ? '&' : '?') + 'seen=' + document.body.dataset.seen);
    const on = (name, act) => source.addEventListener(name, event => act(JSON.parse(event.data)));
    on('region', data => {
      const element = document.getElementById(data.id);
      if (element) whenFree(element, () => put(element, data.html));
    });
    on('reload', async () => { source.close(); await refresh(); follow(); });
    on('fallback', () => { source.close(); refreshForGood(); });
    on('over', () => source.close());
    source.onopen = () => say('');
    source.onerror = () => {
      say('No connection; trying again.');
      if (source.readyState === EventSource.CLOSED) setTimeout(async () => { await refresh(); follow(); }, refreshMillis);
    };
  }
  if (window.EventSource) follow(); else refreshForGood();
})();
