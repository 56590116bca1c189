// Keeps a page live: regions come by server-sent events and replace what is inside of their elements.
// Without events the page is loaded again every now and then; without this script it is a page that stands still.
'use strict';
(() => {
  const live = document.body.dataset.live;
  if (!live) return;
  const refreshMillis = 15000;
  const connection = document.getElementById('connection');
  const say = text => { if (connection.textContent !== text) connection.textContent = text; };

  async function refresh() {
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
      if (element) element.innerHTML = data.html;
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
