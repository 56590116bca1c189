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
      if (element) keepingEnd(() => { element.innerHTML = data.html; });
    });
    on('more', data => {
      const element = document.getElementById(data.id);
      if (element) keepingEnd(() => { append(element, data.html); });
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

  // The page of a tick: its output is followed while the reader is at its end, and no more of it is kept than a browser bears.
  const mostLines = 5000;
  const isAtEnd = log => !log || log.scrollHeight - log.scrollTop - log.clientHeight < 32;
  function keepingEnd(change) {
    const before = document.querySelector('.log');
    const followed = isAtEnd(before);
    const top = before ? before.scrollTop : 0;
    change();
    const log = document.querySelector('.log');
    if (log) log.scrollTop = followed ? log.scrollHeight : log === before ? log.scrollTop : top;
  }
  function append(log, html) {
    log.insertAdjacentHTML('beforeend', html);
    let extra = log.childElementCount - mostLines;
    if (extra <= 0) return;
    while (extra-- >= 0) log.firstElementChild.remove();
    const gap = document.createElement('p');
    gap.className = 'gap';
    gap.textContent = '… older lines are left out here; the whole text has them';
    log.prepend(gap);
  }
  const log = document.querySelector('.log');
  if (log) log.scrollTop = log.scrollHeight;

  if (window.EventSource) follow(); else refreshForGood();
})();
