"use strict";
// Two traces in, every place at which they differ out. They are compared call by call and part by part, texts as they are
// joined: so neither the cuts of the wire nor the order of two parts' pieces matters. What it costs is linear.

const MEETING_WINDOW = 200;
const MEETING_SIZE = 12;

/** Each difference: the step of the one and of the other, and words' keys for what differs; in the order of the steps. */
function differences(one, other) {
  const [left, right] = [accountsOf(one), accountsOf(other)];
  const found = new Map();
  const add = (from, to, what) => {
    const key = `${from} ${to}`;
    if (!found.has(key)) found.set(key, { steps: [from, to], what: new Set() });
    found.get(key).what.add(what);
  };
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    const [mine, yours] = [left.get(key), right.get(key)];
    if (mine && yours) compareAccounts(mine, yours, add);
    else add(mine?.from ?? one.length - 1, yours?.from ?? other.length - 1, "differs_attempt");
  }
  return [...found.values()].sort((a, b) => a.steps[0] - b.steps[0] || a.steps[1] - b.steps[1]);
}

/** What one attempt (or what follows a restart in it) tells: points by name, each with its step and value, and the texts. */
class Account {
  constructor(life) {
    this.from = this.to = life.from;
    this.points = new Map();
    this.texts = new Map();
  }

  point(name, step, what, value) {
    this.points.set(name, { step, what, value: JSON.stringify(value) });
  }
}

/** The accounts of a trace by call, attempt and beginning. Ids are left out: every answer has its own. */
function accountsOf(trace) {
  const nth = counter();
  const found = new Map();
  const exchanges = new Set();
  const accounts = trace.lives.map((life) => {
    const account = new Account(life);
    found.set(nth(`${life.call} ${life.attempt}`), account);
    const status = trace.exchanges[life.exchange]?.status;
    if (status && !exchanges.has(life.exchange)) account.point("status", life.from, "differs_status", status);
    exchanges.add(life.exchange);
    return account;
  });
  trace.steps.forEach((step, number) => {
    const account = accounts[trace.lifeAt[number]];
    account.to = number;
    for (const { type, reason } of step.events ?? []) if (type === "retrying" || type === "stream_reset") account.point("again", number, "differs_again", [type, reason]);
    noteEnding(account, step, number);
  });
  trace.lives.forEach((life, number) => noteParts(accounts[number], life));
  return found;
}

function noteEnding(account, step, number) {
  if (step.message) {
    account.point("ending", number, "differs_ending", step.message.stop_reason);
    step.message.parts.filter((part) => part.type === "tool_call")
      .forEach((call, place) => account.point(`verdict ${place}`, number, "differs_verdict", [call.executable, call.refusal]));
  } else if (step.error) {
    const { class: name, kind, status, code, message } = step.error;
    account.point("ending", number, "differs_ending", [name, kind, status, code, message]);
  } else if (step.moment === "cancelled" || step.moment === "unknown") account.point("ending", number, "differs_ending", step.moment);
}

function noteParts(account, life) {
  const nth = counter();
  for (const part of life.parts) {
    const key = nth(part.kind);
    const name = part.names.values.at(-1)?.name ?? "";
    const named = part.names.values.findIndex((each) => each.name === name);
    const what = ["text", "reasoning", "tool_call"].includes(part.kind) ? part.kind : "opaque";
    account.point(key, part.names.steps[named] ?? part.opened, what, name);
    account.texts.set(key, { part, what });
  }
  for (const [step, warning] of life.warnings) account.point(nth(`warning ${warning.kind}`), step, "differs_warning", warning.detail);
  const usage = [...life.facts].filter(([name]) => name.endsWith("_tokens")).map(([name, values]) => `${name} ${values.values.at(-1)}`);
  account.point("usage", account.to, "differs_usage", usage.sort());
}

/** Gives a name its number: the second of a name is another than the first. */
function counter() {
  const counts = new Map();
  return (name) => {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return `${name} ${counts.get(name)}`;
  };
}

/** What one of them lacks is at its end: there it is sure that it does not come. */
function compareAccounts(left, right, add) {
  for (const name of new Set([...left.points.keys(), ...right.points.keys()])) {
    const [mine, yours] = [left.points.get(name), right.points.get(name)];
    if (name === "status" && !(mine && yours)) continue; // a bare body has none
    if (mine?.value !== yours?.value) add(mine?.step ?? left.to, yours?.step ?? right.to, (mine ?? yours).what);
  }
  for (const [key, { part, what }] of left.texts) {
    const twin = right.texts.get(key)?.part;
    if (twin) compareTexts(part.text, twin.text, (mine, yours) => add(stepOf(part, mine, left.to), stepOf(twin, yours, right.to), what));
  }
  const [order, others] = [[...left.texts.keys()].filter((key) => right.texts.has(key)), [...right.texts.keys()].filter((key) => left.texts.has(key))];
  const swapped = order.findIndex((key, place) => key !== others[place]);
  if (swapped >= 0) add(left.texts.get(order[swapped]).part.opened, right.texts.get(others[swapped]).part.opened, "differs_order");
}

/** The step that brought a character of a part; past its end the step after its last piece. */
function stepOf(part, place, last) {
  const { steps, values } = part.sizes;
  return steps[upTo(values, place)] ?? Math.min((steps.at(-1) ?? part.opened) + 1, last);
}

/** Calls `add` with the two places of each difference. */
function compareTexts(one, other, add) {
  for (let met = [0, 0]; met !== null; ) {
    let [mine, yours] = met;
    while (mine < one.length && yours < other.length && one.charCodeAt(mine) === other.charCodeAt(yours)) {
      mine += 1;
      yours += 1;
    }
    if (mine === one.length && yours === other.length) return;
    add(mine, yours);
    met = meeting(one, mine, other, yours);
  }
}

/** Where two texts go on alike after a difference; null if not within the window: then they have parted for good. */
function meeting(one, mine, other, yours) {
  const places = new Map();
  for (let at = Math.min(yours + MEETING_WINDOW, other.length - MEETING_SIZE); at >= yours; at -= 1) places.set(other.slice(at, at + MEETING_SIZE), at);
  for (let at = mine; at <= Math.min(mine + MEETING_WINDOW, one.length - MEETING_SIZE); at += 1) {
    const found = places.get(one.slice(at, at + MEETING_SIZE));
    if (found !== undefined) return [at, found];
  }
  return null;
}

/** Two views' differences: which one the page is at, which comes next, and what each column says of it. */
class Comparison {
  constructor(views) {
    this.views = views;
    this.all = null;
    this.element = h("span", { class: "found" });
  }

  /** Compares, once both traces are whole. */
  update() {
    if (this.views.some((view) => !view.trace.done)) return;
    this.all = differences(...this.views.map((view) => view.trace));
    this.steps = this.views.map((_, side) => this.all.map((each) => each.steps[side]).sort((a, b) => a - b));
  }

  /** How many differences are at or before the step shown (or only before it). */
  passed(isBefore) {
    const [left, right] = this.views.map((view) => view.at);
    const found = this.all.findIndex(({ steps }) => steps[0] > left || (steps[0] === left && (isBefore ? steps[1] >= right : steps[1] > right)));
    return found < 0 ? this.all.length : found;
  }

  /** The difference after the step shown, or before it; undefined if there is none. */
  next(forward) {
    return this.all === null ? undefined : forward ? this.all[this.passed(false)] : this.all[this.passed(true) - 1];
  }

  /** "Difference 2 of 5: usage" where both views are at one; else how many there are. */
  get told() {
    if (this.all === null) return "";
    const number = this.passed(false);
    if (number === this.passed(true)) return this.all.length === 0 ? say("differences_none") : say(this.all.length === 1 ? "differences_one" : "differences", count(this.all.length));
    return say("difference_of", count(number), count(this.all.length), [...this.all[number - 1].what].map((what) => say(what)).join(say("comma")));
  }

  show() {
    if (this.all === null) return;
    fill(this.element, this.told);
    this.views.forEach((view, side) => {
      const steps = this.steps[side];
      const passed = upTo(steps, view.at);
      const state = passed === 0 ? "same" : steps[passed - 1] === view.at ? "differs" : "differs_before";
      view.difference.className = `tag ${state === "same" ? "good" : "bad"}`;
      fill(view.difference, say(state, count((steps[0] ?? 0) + 1)));
    });
  }
}
