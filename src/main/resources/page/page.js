// Keeps a page live: regions come by server-sent events and replace what is inside of their elements. Counts up and down by the server's
// clock. Filters rows. Without events the page is loaded again every now and then; without this script it is a page that stands still.
'use strict';
(() => {
  const refreshMillis = 15000;
  const all = (root, what) => root.querySelectorAll(what);
  document.documentElement.classList.add('js');

  // --- Time: the server's, as of the page or the last event, and from there on what has gone by here. This machine's own clock may be wrong.
  let offset;
  function setClock(serverNow, then) {
    const fresh = serverNow - then;
    if (offset === undefined || Math.abs(fresh - offset) > 500) offset = fresh;
  }
  const now = () => offset + performance.now();

  function span(millis) {
    const s = Math.floor(Math.max(0, millis) / 1000);
    const two = (a, unit, b, other) => a + ' ' + unit + (b ? ' ' + b + ' ' + other : '');
    if (s < 60) return s + ' s';
    if (s < 3600) return two(Math.floor(s / 60), 'min', s % 60, 's');
    if (s < 86400) return two(Math.floor(s / 3600), 'h', Math.floor(s % 3600 / 60), 'min');
    return two(Math.floor(s / 86400), 'd', Math.floor(s % 86400 / 3600), 'h');
  }
  const texts = {
    until: left => left > 0 ? 'in ' + span(left) : 'due now',
    left: left => left > 0 ? span(left) + ' left' : 'over',
    since: left => span(-left) + ' ago',
    span: left => 'for ' + span(-left),
  };
  function tick(root) {
    if (offset === undefined) return;
    const at = now();
    for (const bar of all(root, 'progress[data-until]')) bar.value = Math.max(0, Math.min(bar.max, bar.dataset.until - at));
    for (const kind in texts) {
      for (const e of all(root, 'span[data-' + kind + ']')) {
        const text = texts[kind](e.dataset[kind] - at);
        if (e.textContent !== text) e.textContent = text;
      }
    }
  }
  if (document.body.dataset.now) {
    const visit = performance.getEntriesByType('navigation')[0];
    setClock(Number(document.body.dataset.now), visit ? visit.responseStart : performance.now());
    tick(document);
    setInterval(() => { if (!document.hidden) tick(document); }, 1000);
    document.addEventListener('visibilitychange', () => { if (!document.hidden) tick(document); });
  }

  // --- Filter: a form whose data-rows names the element with the rows. A row's th has its text, and in data-is the states that it is in.
  const inputsOf = form => [form.elements.q.value.trim().toLowerCase(), form.elements.state.value];
  function filterRow(row, q, state) {
    const head = row.querySelector('th');
    row.hidden = !((!q || head.textContent.toLowerCase().includes(q)) && (!state || head.dataset.is.split(' ').includes(state)));
  }
  function filter() {
    const form = document.getElementById('filter');
    const rows = form && document.getElementById(form.dataset.rows);
    if (!rows) return;
    const [q, state] = inputsOf(form);
    for (const row of rows.children) filterRow(row, q, state);
    noneShown(rows);
  }
  function noneShown(rows) {
    const none = document.getElementById('none-shown');
    if (none) none.hidden = !!rows.querySelector('tr:not([hidden])');
  }
  function filterAndTell() {
    filter();
    const [q, state] = inputsOf(document.getElementById('filter'));
    const wanted = new URLSearchParams();
    if (q) wanted.set('q', q);
    if (state) wanted.set('state', state);
    const query = wanted.toString();
    history.replaceState(null, '', location.pathname + (query ? '?' + query : ''));
  }
  for (const kind of ['input', 'submit']) {
    document.addEventListener(kind, event => {
      if (!event.target.closest || !event.target.closest('#filter')) return;
      if (kind === 'submit') event.preventDefault();
      filterAndTell();
    });
  }
  filter();

  // --- What came of a form is told once: a reload, or a bookmark, does not tell it again.
  const shown = new URL(location.href);
  if (shown.searchParams.has('said')) {
    shown.searchParams.delete('said');
    history.replaceState(null, '', shown);
  }

  // --- Output is followed while the reader is at its end, and no more of it is kept than a browser bears.
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

  // --- Live.
  const live = document.body.dataset.live;
  if (!live) return;
  const connection = document.getElementById('connection');
  const say = text => { if (connection.textContent !== text) connection.textContent = text; };

  // Who works with the keyboard, or reads further down, stays where they are.
  function keeping(root, change) {
    const active = document.activeElement;
    const inside = active && active !== root && root.contains(active);
    const stops = 'a[href], button, input, select, textarea, summary, [tabindex]';
    const holder = inside && active.closest('[id]');
    const where = inside && { id: active.id, holder: holder && holder.id, index: [...all(holder || root, stops)].indexOf(active) };
    const fields = [...all(root, 'input[id], select[id], textarea[id]')].map(e => [e.id, e.value, e.selectionStart, e.selectionEnd]);
    const opened = [...all(root, 'details[id][open]')].map(e => e.id);
    const [x, y] = [scrollX, scrollY];
    const fresh = change() || root;
    for (const [id, value] of fields) { const e = document.getElementById(id); if (e) e.value = value; }
    for (const id of opened) { const e = document.getElementById(id); if (e) e.open = true; }
    if (where) {
      const within = document.getElementById(where.holder) || fresh;
      const next = where.id ? document.getElementById(where.id) : all(within, stops)[where.index];
      if (next) {
        next.focus({ preventScroll: true });
        const field = fields.find(f => f[0] === next.id);
        if (field && field[2] !== null && field[2] !== undefined) next.setSelectionRange(field[2], field[3]);
      }
    }
    if (fresh !== root) scrollTo(x, y);
    tick(fresh);
  }

  // Somebody writes in it, or has written something: it is replaced later. The filter does not count: it is kept as it is.
  const isWritten = field => field.type === 'checkbox' ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
  const isInUse = element => (element.contains(document.activeElement) && document.activeElement.matches('input, textarea, select') && !document.activeElement.closest('#filter'))
    || [...all(element, 'input, textarea')].some(field => !field.closest('#filter') && isWritten(field));
  const held = new Map();
  function whenFree(element, act) {
    if (!isInUse(element)) { held.delete(element); act(); return; }
    held.set(element, act);
  }
  setInterval(() => held.forEach((act, element) => whenFree(element, act)), 1000);
  // What is open stays open.
  function put(element, html) {
    const open = [...all(element, 'details')].map(each => each.open);
    element.innerHTML = html;
    all(element, 'details').forEach((each, i) => { if (open[i]) each.open = true; });
  }

  async function refresh() {
    const old = document.getElementById('main');
    if (isInUse(old)) {
      say('This page is older than what it shows: it is loaded again when your form is sent or empty.');
      await new Promise(resolve => whenFree(old, resolve));
    }
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (answer.redirected) { location.reload(); return false; }
      if (!answer.ok) throw new Error(String(answer.status));
      const then = performance.now();
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const main = fresh.getElementById('main');
      setClock(Number(fresh.body.dataset.now), then);
      keepingEnd(() => keeping(document.getElementById('main'), () => { document.getElementById('main').replaceWith(main); return main; }));
      const pages = fresh.querySelector('.top nav');
      if (pages && !document.querySelector('.top nav').contains(document.activeElement)) document.querySelector('.top nav').replaceWith(pages);
      document.body.dataset.seen = fresh.body.dataset.seen;
      filter();
      say('');
      return true;
    } catch (e) {
      say('No connection; trying again.');
      return false;
    }
  }
  const refreshForGood = () => setInterval(refresh, refreshMillis);

  let leave = () => {};
  let comeBack = () => {};
  function follow() {
    leave();
    const source = new EventSource(live + (live.includes('?') ? '&' : '?') + 'seen=' + document.body.dataset.seen);
    let lost = false;
    const again = async () => {
      source.close();
      if (await refresh()) follow(); else setTimeout(again, refreshMillis);
    };
    leave = () => source.close();
    comeBack = again;
    const on = (name, act) => source.addEventListener(name, event => {
      const data = JSON.parse(event.data);
      if (data.now) setClock(data.now, performance.now());
      act(data);
    });
    on('region', data => {
      const element = document.getElementById(data.id);
      if (!element) return;
      whenFree(element, () => keepingEnd(() => keeping(element, () => put(element, data.html))));
      const form = document.getElementById('filter');
      if (form && element.parentElement.id === form.dataset.rows) {
        filterRow(element, ...inputsOf(form));
        noneShown(element.parentElement);
      }
    });
    on('more', data => {
      const element = document.getElementById(data.id);
      if (element) keepingEnd(() => append(element, data.html));
    });
    on('now', () => tick(document));
    on('reload', again);
    on('fallback', () => { source.close(); refreshForGood(); });
    on('over', () => source.close());
    source.onopen = () => { if (lost) again(); else say(''); };
    source.onerror = () => {
      lost = true;
      say('No connection; trying again.');
      if (source.readyState === EventSource.CLOSED) setTimeout(again, refreshMillis);
    };
  }
  // A browser has six connections to a host, and keeps a page that was left for the way back: such a page must not hold one of them.
  addEventListener('pagehide', () => leave());
  addEventListener('pageshow', event => { if (event.persisted) comeBack(); });
  if (window.EventSource) follow(); else refreshForGood();
})();
