"use strict";
// One recording on the page: its chunks, its trace, the step that is shown, and the panels that show it.

/** What a jump looks for. */
const JUMPS = {
  issue: (step) => (step.issues ?? []).length > 0,
  call: (step) => (step.events ?? []).some((event) => event.type === "tool_call_start"),
  reset: (step, kind) => kind === "reset" || (step.changes ?? []).some((change) => change.type === "voided"),
  end: (step, kind) => kind === "end" || kind === "error",
};

class View {
  constructor(name, app, compact) {
    this.trace = new Trace(name);
    this.at = 0;
    this.place = 0;
    this.matches = [];
    const seek = (number) => app.seek(this, number);
    this.timeline = new TimelineView(this.trace, { seek });
    this.panels = new Panels(this.trace, { compact });
    this.list = compact ? null : new StepList(this.trace, { seek });
    this.issues = new IssueList(this.trace, { seek });
    this.head = h("div", { class: "position" });
    this.verdict = h("span", { class: "verdict-line" });
    this.difference = h("span", { class: "tag" });
    this.keys = h("kbd", { hidden: true });
  }

  /** Shows a step. A number before the first or after the last is kept as `place`: so two linked views stay aligned. */
  show(number) {
    this.place = number;
    this.at = Math.max(0, Math.min(number, this.trace.length - 1));
    if (this.trace.length > 0) keepingFocus(() => this.draw());
  }

  draw() {
    const step = this.trace.steps[this.at];
    const about = [say(`moment_${step.moment}`), this.trace.timed && seconds(this.trace.times[this.at])];
    if (this.trace.calls.length > 1) about.unshift(say("call_number", step.call));
    if ((this.trace.calls.find((call) => call.number === step.call)?.attempts ?? 1) > 1) about.push(say("attempt", step.attempt));
    fill(this.head, this.keys, h("b", { class: "where" }, say("step_of", count(this.at + 1), count(this.trace.length))), h("span", {}, about.filter(Boolean).join(" · ")),
      h("span", { class: "what" }, this.trace.summary(this.at, 70)));
    this.timeline.move(this.at);
    this.list?.move(this.at);
    this.panels.show(this.at);
  }

  /** How far the nearest step is, on or back, of which a question is true; null if there is none. */
  distance(asked, forward) {
    const { trace, place } = this;
    const by = forward ? 1 : -1;
    let number = forward ? Math.max(0, place + 1) : Math.min(trace.length - 1, place - 1);
    for (; number >= 0 && number < trace.length; number += by) if (asked(trace.steps[number], trace.kinds[number])) return number - place;
    return null;
  }

  get isAtEnd() {
    return this.place >= this.trace.length - 1;
  }

  get told() {
    return `${say("step_of", this.at + 1, this.trace.length)}: ${this.trace.length > 0 ? this.trace.summary(this.at) : ""}`;
  }

  grown() {
    this.list?.update();
    this.issues.show();
    this.showVerdict();
    this.timeline.grown();
  }

  /** How a call of the model ended: a word for it, and the step. */
  endingOf(call) {
    const step = call.end === null ? undefined : this.trace.steps[call.end];
    if (step === undefined || (step.error && this.trace.isAskedAgain(step))) return ["none"];
    if (step.error) return ["error", step];
    if (!step.message) return [step.moment === "cancelled" ? "cancelled" : "unknown", step];
    return [step.message.parts.every((part) => part.type !== "tool_call" || part.executable) ? "message" : "refused", step];
  }

  /** The ending of the call; of several calls how many ended how, in the colour of the worst. */
  showVerdict() {
    const endings = this.trace.calls.map((call) => this.endingOf(call));
    const hows = endings.map(([how]) => how);
    fill(this.verdict, endings.length > 1 ? tally(hows) : endings.length === 1 ? ending(...endings[0]) : say("verdict_none"));
    const isBad = hows.some((how) => how !== "message" && how !== "none");
    const isGood = hows.length > 0 && hows.every((how) => how === "message");
    this.verdict.className = `verdict-line ${isBad ? "bad" : isGood ? "good" : ""}`;
  }
}

function ending(how, step) {
  if (step?.error) return step.error.class;
  if (!step?.message) return say(`verdict_${how}`);
  const calls = step.message.parts.filter((part) => part.type === "tool_call");
  const runs = calls.filter((call) => call.executable).length;
  return [`message_end ${step.message.stop_reason}`, calls.length > 0 && ` · ${say("executable", runs, calls.length)}`];
}

function tally(hows) {
  const told = ["message", "refused", "error", "cancelled", "unknown", "none"].flatMap((kind) => {
    const number = hows.filter((how) => how === kind).length;
    return number === 0 ? [] : [say(`tally_${kind}${number === 1 ? "_one" : ""}`, count(number))];
  });
  return say("tally", count(hows.length), told.join(say("comma")));
}

/** Why no more can be loaded: the key and values of the words for it. */
class LoadError extends Error {
  constructor(...told) {
    super(told.join(" "));
    this.told = told;
  }
}

async function* fetchedChunks(source) {
  for (let number = 0, done = false; !done; ) {
    let chunk;
    try {
      const response = await fetch(`chunk/${source}/${number}`);
      if (!response.ok) throw new LoadError("answered", response.status);
      chunk = await response.json();
    } catch (error) {
      if (error instanceof LoadError) throw error;
      throw new LoadError(error instanceof SyntaxError ? "unreadable" : "gone");
    }
    done = chunk.done;
    if (chunk.steps.length === 0 && !done) continue;
    number += 1;
    yield chunk;
  }
}

async function* unpackedChunks(source) {
  for (const element of document.querySelectorAll(`script.chunk[data-source="${source}"]`)) {
    let chunk;
    try {
      const packed = Uint8Array.from(atob(element.textContent), (char) => char.charCodeAt(0));
      chunk = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
    } catch {
      throw new LoadError("unreadable");
    }
    yield chunk;
  }
}

/** Does what replaces elements, and gives the focus back: to the same control, its namesake, what is in its place, or the panel around. */
function keepingFocus(change) {
  const root = document.getElementById("app");
  const had = document.activeElement;
  if (had === null || had === root || !root.contains(had)) {
    change();
    return;
  }
  const path = [];
  for (let each = had; each !== root; each = each.parentElement) path.unshift([...each.parentElement.children].indexOf(each));
  const around = had.parentElement.closest("[tabindex]");
  change();
  const inPlace = path.reduce((each, index) => each?.children[index], root);
  const heirs = [had, had.dataset.action && root.querySelector(`[data-action="${had.dataset.action}"]`), inPlace?.tagName === had.tagName && inPlace, around];
  heirs.some((each) => {
    if (each && each !== document.activeElement) each.focus({ preventScroll: true });
    return each && each === document.activeElement;
  });
}
