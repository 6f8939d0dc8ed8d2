// The live page: asks /api/live once a second and shows what comes. Names of locks and owners are text of strangers,
// so everything goes into the page by textContent; nothing is ever put together as HTML.
"use strict";

// ---- words and numbers -----------------------------------------------------------------------------------------

const $ = (id) => document.getElementById(id);
const POINTS = 180;     // on a chart at most, one a second
const FEWEST = 60;      // so wide it is from the beginning
const RECENT = 6;       // samples that rates of a row are taken over
const WINDOW = 10;      // samples that waits are taken over

/** Microseconds, as people say it. */
function time(us) {
  if (us == null || !isFinite(us)) return "–";
  if (us < 1) return "0";
  if (us < 1000) return `${Math.round(us)} µs`;
  const ms = us / 1000;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}

function count(n) {
  if (n == null || !isFinite(n)) return "–";
  if (n >= 10e6) return `${(n / 1e6).toFixed(0)} M`;
  if (n >= 1e6) return `${(n / 1e6).toFixed(1)} M`;
  if (n >= 10e3) return `${(n / 1e3).toFixed(0)} k`;
  if (n >= 1e3) return `${(n / 1e3).toFixed(1)} k`;
  return n >= 10 || Number.isInteger(n) ? String(Math.round(n)) : n.toFixed(1);
}

function bytes(n) {
  for (const unit of ["KiB", "MiB", "GiB"]) {
    n /= 1024;
    if (n < 1000) return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${unit}`;
  }
  return `${Math.round(n / 1024)} TiB`;
}

/** An element: its classes, its text or children. */
function el(tag, classes = "", ...content) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.append(...content.filter((one) => one != null && one !== ""));
  return made;
}

/** What a part of all waits lies within, from the difference of two histograms. */
function within(share, now, before) {
  const counts = now.counts.map((n, i) => n - (before ? before.counts[i] : 0));
  const all = counts.reduce((sum, n) => sum + n, 0);
  if (all <= 0) return null;
  let seen = 0;
  for (let i = 0; i < counts.length; ++i) {
    if (seen + counts[i] >= all * share) {
      const low = i === 0 ? 0 : 2 ** (i - 1), high = 2 ** i;
      return low + (high - low) * ((all * share - seen) / counts[i]);
    }
    seen += counts[i];
  }
  return null;
}

// ---- what was seen ---------------------------------------------------------------------------------------------

const samples = [];            // answers of /api/live, the last WINDOW
const points = [];             // {given, refused, half, most} for the charts
const rowSamples = new Map();  // a lock's rows of late, by place
let paused = false;
let opened = null;             // {database, id} of the lock in the drawer
let shown = null;              // its row, as it was shown last

const placeOf = (row) => `${row.database}/${row.id}`;

function remember(live) {
  const last = samples.at(-1);
  samples.push(live);
  if (samples.length > WINDOW) samples.shift();
  if (!last || live.clock <= last.clock) return;
  const seconds = (live.clock - last.clock) / 1e6;
  const rate = (name) => Math.max(0, (live.totals[name] - last.totals[name]) / seconds);
  points.push({
    given: rate("grants"), refused: rate("refusals"), commands: rate("commands"),
    half: within(0.5, live.wait, samples[0].wait), most: within(0.99, live.wait, samples[0].wait),
  });
  if (points.length > POINTS) points.shift();
}

/** Rates of a lock: between the oldest sample of late and this one, or since somebody has been in line. */
function rates(row, clock) {
  const place = placeOf(row);
  let seen = rowSamples.get(place);
  const last = seen?.at(-1);
  // Its line may have come and gone meanwhile: then everything counts from the new one.
  const passed = last ? clock - last.clock : 0, stood = last ? row.inLineFor - last.row.inLineFor : 0;
  if (!last || passed < 0 || Math.abs(passed - stood) > 250000) {
    seen = [];
    rowSamples.set(place, seen);
  }
  if (!seen.length || seen.at(-1).clock < clock) seen.push({row, clock});
  if (seen.length > RECENT) seen.shift();
  const first = seen[0], busy = (one) => one.heldBefore + Math.min(one.held, one.inLineFor);
  const span = clock - first.clock;
  const from = span > 500000 ? first.row : {handOffs: 0, waited: 0, ended: 0, heldBefore: 0, held: 0, inLineFor: 0};
  const over = span > 500000 ? span : row.inLineFor;
  const handed = row.handOffs - from.handOffs, ended = row.ended - from.ended;
  return {
    handOffs: over > 0 ? handed / (over / 1e6) : 0,
    wait: handed > 0 ? (row.waited - from.waited) / handed : row.longestWait || null,
    hold: ended > 0 ? (row.heldBefore - from.heldBefore) / ended : row.holders ? row.held : null,
    use: over > 0 ? Math.min(1, Math.max(0, (busy(row) - busy(from)) / over)) : row.holders ? 1 : 0,
  };
}

// ---- tiles and charts ------------------------------------------------------------------------------------------

function showTiles(live) {
  const last = points.at(-1), t = live.totals;
  const tiles = [
    ["Given a second", count(last?.given), `${count(t.grants)} since the start`],
    ["In line now", count(t.waiters), `for ${count(t.lines)} lock${t.lines === 1 ? "" : "s"}, polls included`],
    ["Wait, 99 %", time(last?.most), last?.half != null ? `half within ${time(last.half)}` : "nobody waited of late"],
    ["Lock keys", count(t.keys), t.lost ? `${count(t.lost)} lost since the start` : "none was lost"],
    ["Clients", count(t.clients), `${count(last?.commands)} commands a second`],
    ["Memory", bytes(t.memoryUsed), `of ${bytes(t.memoryTotal)}`],
  ];
  if (live.leases) {
    tiles.splice(4, 0, ["Leases", count(live.leases.held), live.leases.bare
      ? `${count(live.leases.bare)} on a bare majority` : "all on more than a bare majority"]);
  }
  if (t.deadlocks) tiles.push(["Deadlocks", count(t.deadlocks), "since the start", "alarm"]);
  $("tiles").replaceChildren(...tiles.map(([title, value, more, kind]) =>
    el("dl", `tile ${kind ?? ""}`, el("dt", "", title), el("dd", "", value), el("dd", "more", more))));
}

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** A round number above `most`, so that the scale does not tremble. */
function ceiling(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= most);
}

class Chart {
  constructor(holder, first, second, show) {
    this.holder = holder;
    this.fields = [first, second];
    this.show = show;
    this.at = null;
    this.read = el("span", "read");
    holder.addEventListener("pointermove", (event) => {
      const box = holder.getBoundingClientRect();
      this.at = Math.round((event.clientX - box.left) / box.width * (this.width() - 1));
      this.draw();
    });
    holder.addEventListener("pointerleave", () => { this.at = null; this.draw(); });
  }

  /** In points. */
  width() {
    return Math.max(FEWEST, points.length);
  }

  draw() {
    const width = this.width();
    const values = points.flatMap((point) => this.fields.map((field) => point[field] ?? 0));
    const top = ceiling(Math.max(0, ...values));
    const x = (i) => (width - points.length + i) / (width - 1) * 1000, y = (v) => 100 - v / top * 96;
    const svg = shape("svg", {viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true"});
    for (const level of [0, 0.5, 1]) {
      svg.append(shape("line", {class: "grid", x1: 0, x2: 1000, y1: y(level * top), y2: y(level * top),
                                "vector-effect": "non-scaling-stroke"}));
    }
    for (const [n, field] of this.fields.entries()) {
      // Where nothing is known the line has a gap.
      let path = "", area = "", begun = null;
      points.forEach((point, i) => {
        const value = point[field];
        if (value == null) {
          if (begun != null) area += `L${x(i - 1)} 100L${x(begun)} 100Z`;
          begun = null;
          return;
        }
        const step = `${begun == null ? "M" : "L"}${x(i).toFixed(1)} ${y(value).toFixed(2)}`;
        begun ??= i;
        path += step;
        area += step;
      });
      if (begun != null) area += `L1000 100L${x(begun).toFixed(1)} 100Z`;
      if (n === 0) svg.append(shape("path", {class: "area", d: area}));
      svg.append(shape("path", {class: `line ${n === 0 ? "one" : "two"}`, d: path}));
    }
    const chosen = this.at == null ? null : points[this.at - (width - points.length)];
    if (chosen) {
      const where = this.at / (width - 1) * 1000;
      svg.append(shape("line", {class: "mark", x1: where, x2: where, y1: 0, y2: 100}));
      this.read.textContent = `${width - 1 - this.at} s ago: ` +
        this.fields.map((field) => this.show(chosen[field])).join(" and ");
    } else {
      this.read.textContent = "";
    }
    const scale = el("span", "scale", this.show(top));
    scale.style.top = "-.35rem";
    this.holder.replaceChildren(svg, scale, this.read);
  }
}

const charts = [new Chart($("chart-rate"), "given", "refused", count), new Chart($("chart-wait"), "half", "most", time)];

// ---- tables of locks -------------------------------------------------------------------------------------------

const COLUMNS = [
  ["Lock", "wide"], ["Held by", "wide"], ["In line", "number"], ["In use", ""], ["Wait", "number"], ["Hold", "number"],
  ["Handed on", "number"], ["Held now", "number"],
];

function who(client) {
  if (!client.id) return "";
  if (!client.address) return "connection gone";
  const name = client.name || client.library;
  return name ? `${name}, ${client.address}` : client.address;
}

const hrefOf = (row) => `#lock/${row.database}/${row.id}`;

function cells(row, clock) {
  const r = rates(row, clock), inLine = row.waiters + row.polling;
  const name = el("a", "name", row.key);
  name.href = hrefOf(row);
  const bar = el("span", r.use > 0.9 ? "bar full" : "bar", el("i"));
  bar.firstChild.style.width = `${Math.round(r.use * 100)}%`;
  const line = inLine === 0 ? "–" : row.polling ? `${count(inLine)} ` : count(inLine);
  return [
    [name, row.database ? el("span", "tag", `db ${row.database}`) : null,
     row.mode !== "exclusive" ? el("span", "tag", row.mode) : null],
    [row.holders ? el("span", "owner", row.owner) : "free",
     row.holders > 1 ? el("span", "tag", `and ${row.holders - 1} more`) : null,
     el("span", "who", [row.holders ? `fence ${row.fence}` : "", who(row.client)].filter(Boolean).join(" · "))],
    [line, row.polling ? el("span", "tag", row.waiters ? `${row.polling} poll` : "poll") : null],
    [bar, `${Math.round(r.use * 100)} %`],
    [inLine || row.handOffs ? time(r.wait) : "–"],
    [time(r.hold)],
    [row.handOffs ? `${count(r.handOffs)}/s` : "–"],
    [row.holders ? time(row.held) : "–"],
  ];
}

/** Rows stay the same elements from one second to the next, so that focus and a click in the middle survive. */
function showTable(table, rows, clock) {
  if (!table.tHead) {
    const head = el("tr", "", ...COLUMNS.map(([title, kind]) => el("th", kind, title)));
    table.append(el("thead", "", head), el("tbody"));
  }
  const body = table.tBodies[0], known = new Map([...body.rows].map((tr) => [tr.dataset.place, tr]));
  const focused = document.activeElement?.closest("tr")?.dataset.place;
  const shown = rows.map((row) => {
    const place = placeOf(row);
    const tr = known.get(place) ?? el("tr", "", ...COLUMNS.map(([title, kind]) => {
      const td = el("td", kind);
      td.dataset.label = title;
      return td;
    }));
    tr.dataset.place = place;
    const current = opened && placeOf(opened) === place;
    current ? tr.setAttribute("aria-current", "true") : tr.removeAttribute("aria-current");
    cells(row, clock).forEach((content, i) => {
      const td = tr.cells[i];
      const link = td.querySelector("a.name");
      if (i === 0 && link && link.textContent === row.key && td.childElementCount === content.filter(Boolean).length) return;
      td.replaceChildren(...content.filter((one) => one != null && one !== ""));
    });
    return tr;
  });
  const same = shown.length === body.rows.length && shown.every((tr, i) => tr === body.rows[i]);
  if (!same) {
    body.replaceChildren(...shown);
    if (focused) [...body.rows].find((tr) => tr.dataset.place === focused)?.querySelector("a.name")?.focus();
  }
}

function showHot(live) {
  showTable($("hot-table"), live.hot, live.clock);
  $("hot-table").hidden = live.hot.length === 0;
  $("hot-empty").hidden = live.hot.length > 0;
  $("hot-hint").textContent = live.hot.length ? "most in line first" : "";
  const kept = new Set(live.hot.map(placeOf));
  if (opened) kept.add(placeOf(opened));
  for (const place of rowSamples.keys()) {
    if (!kept.has(place) && rowSamples.size > 500) rowSamples.delete(place);
  }
}

// ---- masters ---------------------------------------------------------------------------------------------------

function showStripes(live) {
  $("masters").hidden = live.stripes.length === 0;
  if (!live.stripes.length) return;
  const half = within(0.5, live.rounds, samples[0].rounds), most = within(0.99, live.rounds, samples[0].rounds);
  $("masters-hint").textContent = half == null ? "" : `rounds of late: half within ${time(half)}, 99 % within ${time(most)}`;
  $("stripes").replaceChildren(...live.stripes.map((stripe) => {
    const voting = stripe.masters.filter((one) => one.state === "admitted").length;
    const needed = Math.floor(stripe.masters.length / 2) + 1;
    const list = el("ul", "", ...stripe.masters.map((one) => el("li", "",
      el("span", "address", one.address), el("span", `standing ${one.state}`, one.state === "admitted" ? "votes" : one.state),
      one.reason && one.state !== "admitted" ? el("span", "reason", one.reason) : null,
      one.quarantined > 0 ? el("span", "reason", `may vote in ${time(one.quarantined)}`) : null,
      el("span", "numbers", `${count(one.votes)} votes, answers in ${time(one.answer)} (99 % within ${time(one.answer99)})` +
        (one.timeouts ? `, ${count(one.timeouts)} too late` : "")))));
    return el("div", "stripe", el("p", "", stripe.name,
      el("span", voting < needed ? "bad" : "", `${voting} of ${stripe.masters.length} vote, ${needed} needed`)), list);
  }));
}

// ---- slow waits, habits ----------------------------------------------------------------------------------------

function lockLink(note) {
  const link = el("a", "name", note.key);
  link.href = hrefOf(note);
  return link;
}

function slowNote(note) {
  const item = el("li", "");
  const owner = (name, client) => client ? `${name} (${client})` : name;
  const ends = {granted: "and got it", timed_out: "in vain", cancelled: "and left", refused: "and was refused",
                released: "", removed: "until it was deleted", expired: "until it ran out"};
  if (note.kind === "wait") {
    item.append(el("span", "owner", owner(note.owner, note.client)), ` waited ${time(note.took)} for `, lockLink(note),
                ` ${ends[note.end]}`);
    if (note.other) item.append(el("span", "about-it", `held by ${owner(note.other, note.otherClient)} for ${time(note.otherTook)}`));
  } else {
    item.append(el("span", "owner", owner(note.owner, note.client)), " held ", lockLink(note),
                ` for ${time(note.took)} ${ends[note.end]}`);
    if (note.inLine) {
      item.append(el("span", "about-it", `${note.inLine} in line, the first of them ${owner(note.other, note.otherClient)}`));
    }
  }
  item.title = new Date(note.time).toLocaleString();
  return item;
}

function lintNote(note) {
  const head = el("summary", "", el("span", "name", note.keys), ` ${note.client || "a client that has left"} ${note.what}`,
                  el("span", "tag", note.count === 1 ? "once" : `${count(note.count)} times`));
  const more = el("details", "", head, el("p", "", note.advice), el("p", "", `For example ${note.example}, ${time(note.ago)} ago.`));
  more.dataset.note = JSON.stringify([note.habit, note.keys, note.client]);
  return el("li", "", more);
}

async function refreshNotes() {
  const notes = await get("api/notes");
  $("slow-list").replaceChildren(...notes.slow.map(slowNote));
  $("slow-empty").hidden = notes.slow.length > 0;
  // What is unfolded stays so.
  const open = new Set([...$("lint-list").querySelectorAll("details[open]")].map((one) => one.dataset.note));
  const items = notes.lint.map(lintNote);
  for (const item of items) item.firstChild.open = open.has(item.firstChild.dataset.note);
  const focused = document.activeElement?.closest("#lint-list details")?.dataset.note;
  $("lint-list").replaceChildren(...items);
  if (focused) items.find((item) => item.firstChild.dataset.note === focused)?.querySelector("summary").focus();
  $("lint-empty").hidden = notes.lint.length > 0;
}

// ---- one lock --------------------------------------------------------------------------------------------------

function person(place, owner, shownTime, about, tags = []) {
  return el("li", "", el("span", "place", place), el("span", "owner", owner || "–", ...tags), el("span", "time", shownTime),
            el("span", "who", about));
}

function nobody(words) {
  return el("li", "nobody", words);
}

function showLock(answer, clock) {
  const row = answer.lock, r = rates(row, clock);
  shown = row;
  $("break").disabled = !row.holders;
  $("lock-key").textContent = row.key;
  const facts = [`database ${row.database}`, `core ${answer.core}`];
  if (row.holders) facts.push(`in use ${Math.round(r.use * 100)} % of the time`);
  if (row.handOffs) facts.push(`handed on ${count(r.handOffs)} times a second`, `waits of ${time(r.wait)}`);
  if (row.ended) facts.push(`holds of ${time(r.hold)}`);
  $("lock-facts").textContent = facts.join(" · ");
  $("lock-holders").replaceChildren(...(answer.holding.length ? answer.holding.map((one) => {
    const about = [`fence ${one.fence}`];
    about.push(one.bound ? "while its connection lives" : one.ttl >= 0 ? `ends in ${time(one.ttl * 1000)}` : "no end");
    if (one.holds > 1) about.push(`${one.holds} holds`);
    if (one.mode === "permits") about.push(`${one.permits} of ${one.of} permits`);
    else if (one.mode !== "exclusive") about.push(one.mode);
    if (who(one.client)) about.push(who(one.client));
    return person("", one.owner, time(one.held), about.join(" · "));
  }) : [nobody("Nobody: it is free.")]));
  const all = row.waiters + row.polling;
  $("lock-queue-count").textContent = all ? `(${all})` : "";
  const queue = answer.queue.map((one, i) => {
    const about = [];
    if (one.kind === "polling") about.push(one.pause ? `asks every ${time(one.pause)}` : "has asked once");
    if (one.kind === "parked") about.push("its answer is held back");
    if (one.mode !== "exclusive") about.push(one.mode === "permits" ? `wants ${one.permits} permits` : one.mode);
    if (one.priority) about.push(`priority ${one.priority}`);
    if (who(one.client)) about.push(who(one.client));
    const tags = one.deadlock ? [el("span", "tag bad", "deadlock")] : [];
    return person(one.kind === "polling" ? "poll" : String(i + 1), one.owner, time(one.waited), about.join(" · "), tags);
  });
  if (answer.queue.length < all) queue.push(nobody(`and ${all - answer.queue.length} more`));
  $("lock-queue").replaceChildren(...(queue.length ? queue : [nobody("Nobody.")]));
  showHistory(answer.history);
}

function showHistory(history) {
  const table = $("lock-history");
  table.hidden = history.length === 0;
  $("lock-history-empty").textContent = history.length ? "" : "Nothing yet; what happens is written down while you look.";
  const head = el("tr", "", ...["Owner", "Held", "Waited", "Ended, ago", "Fence"].map((title) => el("th", "", title)));
  const ends = {removed: "deleted", expired: "ran out"};
  table.replaceChildren(el("thead", "", head), el("tbody", "", ...history.map((one) => {
    const end = one.end === "released" ? el("td", "", time(one.ago)) : el("td", "bad", `${time(one.ago)}, ${ends[one.end]}`);
    const owner = el("td", "", el("span", "owner", one.owner || "–"));
    owner.title = who(one.client);
    return el("tr", "", owner, el("td", "", time(one.held)), el("td", "", one.waited ? time(one.waited) : "–"), end,
              el("td", "", String(one.fence)));
  })));
}

async function refreshLock() {
  if (!opened) return;
  const asked = opened;
  const answer = await get(`api/lock?database=${asked.database}&key=${asked.id}`);
  if (opened === asked) showLock(answer, samples.at(-1)?.clock ?? 0);
}

/** What the address says after its #. */
function followAddress() {
  const parts = /^#lock\/(\d+)\/(.+)$/.exec(location.hash);
  const before = opened;
  opened = parts ? {database: Number(parts[1]), id: parts[2]} : null;
  $("drawer").hidden = !opened;
  if (opened) {
    if (!before || placeOf(before) !== placeOf(opened)) {
      $("lock-key").textContent = $("lock-told").textContent = "";
      shown = null;
      for (const part of ["lock-facts", "lock-holders", "lock-queue", "lock-queue-count"]) $(part).replaceChildren();
      $("lock-history").replaceChildren();
      $("lock-key").focus();
    }
    refreshLock().catch(() => {});
  }
  if (samples.length) showHot(samples.at(-1));
}

// ---- breaking a lock -------------------------------------------------------------------------------------------

let breaking = null;  // the row that is asked about

function askToBreak() {
  if (!shown?.holders) return;
  breaking = shown;
  $("break-key").textContent = breaking.key;
  const client = who(breaking.client);
  $("break-holder").textContent = `Held by ${breaking.owner || "somebody"}${client ? ` (${client})` : ""} for ${time(breaking.held)}, ` +
    `${count(breaking.waiters + breaking.polling)} in line.`;
  $("break-problem").textContent = $("break-password").value = "";
  $("break-dialog").showModal();
  ($("break-user").value ? $("break-password") : $("break-user")).focus();
}

/** The password goes with this one request, and is kept nowhere. */
async function breakIt() {
  const row = breaking, words = new TextEncoder().encode(`${$("break-user").value}:${$("break-password").value}`);
  const answer = await fetch(`api/break?database=${row.database}&key=${row.id}&fence=${row.fence}`, {
    method: "POST", cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(5000),
    headers: {"X-Lockkeeper": "break", Authorization: `Basic ${btoa(String.fromCharCode(...words))}`},
  });
  const said = (await answer.text()).trim();
  $("break-password").value = "";
  if (!answer.ok) {
    $("break-problem").textContent = `Not broken: ${said}.`;
    return;
  }
  $("break-dialog").close();
  $("lock-told").textContent = `Broken; ${row.owner || "its holder"} had it, with fence ${row.fence}.`;
  await refreshLock();
}

$("break").addEventListener("click", askToBreak);
$("break-no").addEventListener("click", () => $("break-dialog").close());
$("break-dialog").addEventListener("close", () => { $("break-password").value = ""; });
$("break-form").addEventListener("submit", (event) => {
  event.preventDefault();
  breakIt().catch(() => { $("break-problem").textContent = "Not broken, or nobody knows: no answer."; });
});

// ---- search ----------------------------------------------------------------------------------------------------

async function find(text) {
  $("results").hidden = !text;
  if (!text) return;
  $("results-title").textContent = `Locks like ${text}`;
  const answer = await get(`api/search?match=${encodeURIComponent(text)}`);
  if ($("search-text").value.trim() !== text) return;
  showTable($("results-table"), answer.locks, samples.at(-1)?.clock ?? 0);
  $("results-table").hidden = answer.locks.length === 0;
  $("results-empty").hidden = answer.complete && answer.locks.length > 0;
  $("results-empty").textContent = answer.complete ? "No lock of that name is held now."
    : answer.locks.length ? "There are more; say more of the name." : "Not found among the first locks; say the whole name.";
}

let findLater = 0;
$("search-text").addEventListener("input", (event) => {
  clearTimeout(findLater);
  findLater = setTimeout(() => find(event.target.value.trim()).catch(lostTouch), 200);
});
$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(findLater);
  find($("search-text").value.trim()).catch(lostTouch);
});
$("results-close").addEventListener("click", () => { $("search-text").value = ""; $("results").hidden = true; });

// ---- once a second ---------------------------------------------------------------------------------------------

async function get(path) {
  const answer = await fetch(path, {cache: "no-store", signal: AbortSignal.timeout(5000)});
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

function showState(words, kind) {
  $("state").className = `state ${kind}`;
  if ($("state-text").textContent !== words) $("state-text").textContent = words;
}

function lostTouch() {
  showState("no answer", "bad");
}

function showAll(live) {
  showState(live.objections.length ? "not ready" : "ready", live.objections.length ? "bad" : "good");
  const place = live.store === "memory" ? "locks in memory" : "locks on masters";
  $("about").textContent = `${live.version} · ${live.cores} core${live.cores === 1 ? "" : "s"} · ${place} · up ${time(live.uptime)}`;
  $("lock-acts").hidden = !live.mayBreak;
  $("looks").textContent = live.mayBreak ? "Admins can break locks here." : "Only looks, changes nothing.";
  $("objections").hidden = live.objections.length === 0;
  $("objections").replaceChildren(...live.objections.map((why) => el("li", "", why)));
  showTiles(live);
  charts.forEach((chart) => chart.draw());
  showHot(live);
  showStripes(live);
}

let ticks = 0;

async function tick() {
  try {
    if (!paused && !document.hidden) {
      const live = await get("api/live");
      remember(live);
      showAll(live);
      await refreshLock();
      if (ticks++ % 3 === 0) await refreshNotes();
    }
  } catch {
    lostTouch();
  } finally {
    setTimeout(tick, 1000);
  }
}

// ---- keys and buttons ------------------------------------------------------------------------------------------

function togglePause() {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  $("pause").textContent = paused ? "Paused" : "Pause";
}

function toggleTheme() {
  const now = document.documentElement.dataset.theme ??
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", document.documentElement.dataset.theme); } catch { /* as the system has it, then */ }
}

function step(by) {
  const links = [...document.querySelectorAll(".locks a.name")].filter((one) => one.offsetParent);
  const at = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))]?.focus();
}

function closeAll() {
  if (opened) {
    history.replaceState(null, "", "#");
    followAddress();
  } else {
    $("results").hidden = true;
    $("search-text").value = "";
    document.activeElement?.blur();
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("break-dialog").open) return;
  if (event.key === "Escape") return closeAll();
  if (event.target.tagName === "INPUT") return;
  const does = {"/": () => $("search-text").focus(), j: () => step(1), k: () => step(-1), p: togglePause, t: toggleTheme};
  if (does[event.key]) {
    event.preventDefault();
    does[event.key]();
  }
});
document.addEventListener("click", (event) => {
  const row = event.target.closest(".locks tbody tr");
  if (row && !event.target.closest("a")) location.hash = row.querySelector("a.name").hash;
});
$("pause").addEventListener("click", togglePause);
$("theme").addEventListener("click", toggleTheme);
$("drawer-close").addEventListener("click", closeAll);
addEventListener("hashchange", followAddress);

try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* as the system has it */ }
followAddress();
tick();
