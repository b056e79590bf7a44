"use strict";
// The list of steps, of which only the rows in sight exist, and the list of issues, worst first.

const ROW_PIXELS = 26;
const SPARE_ROWS = 8;
const SEVERITIES = ["error", "refused", "damage", "warning", "note"];
const FILTERS = {
  all: () => true,
  text: (kind) => kind === "text" || kind === "reasoning",
  call: (kind) => kind === "call",
  wait: (kind) => kind === "wait",
  issue: (kind) => kind === "issue" || kind === "error" || kind === "reset",
  end: (kind, step) => kind === "end" || kind === "error" || step.moment === "head" || step.moment === "again",
};

class StepList {
  constructor(trace, { seek }) {
    this.trace = trace;
    this.seek = seek;
    this.filter = "all";
    this.shown = [];
    this.looked = 0;
    this.at = 0;
    this.rows = h("div", { class: "rows" });
    this.space = h("div", { class: "space" }, this.rows);
    this.element = h("div", { class: "list", tabindex: "0", role: "listbox", onscroll: () => this.draw() }, this.space);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  choose(filter) {
    this.filter = filter;
    this.shown = [];
    this.looked = 0;
    this.update();
    this.move(this.at);
  }

  /** Take in the steps that were loaded since. */
  update() {
    const { trace } = this;
    for (; this.looked < trace.length; this.looked += 1) {
      if (FILTERS[this.filter](trace.kinds[this.looked], trace.steps[this.looked])) this.shown.push(this.looked);
    }
    this.space.style.height = `${this.shown.length * ROW_PIXELS}px`;
    this.draw();
  }

  move(number) {
    this.at = number;
    const row = Math.max(0, upTo(this.shown, number) - 1);
    const top = row * ROW_PIXELS;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop + ROW_PIXELS || top > scrollTop + clientHeight - 3 * ROW_PIXELS) {
      this.element.scrollTop = Math.max(0, top - clientHeight / 2);
    }
    this.draw();
  }

  draw() {
    const { element, trace } = this;
    element.setAttribute("aria-label", say("steps"));
    const first = Math.max(0, Math.floor(element.scrollTop / ROW_PIXELS) - SPARE_ROWS);
    const last = Math.min(this.shown.length, Math.ceil((element.scrollTop + element.clientHeight) / ROW_PIXELS) + SPARE_ROWS);
    this.rows.style.transform = `translateY(${first * ROW_PIXELS}px)`;
    fill(this.rows, this.shown.slice(first, last).map((number) => this.row(number, trace)));
    if (this.shown[upTo(this.shown, this.at) - 1] === this.at) element.setAttribute("aria-activedescendant", `step-${this.at}`);
    else element.removeAttribute("aria-activedescendant");
  }

  row(number, trace) {
    const step = trace.steps[number];
    return h("div", {
      id: `step-${number}`, role: "option", class: `row kind-${trace.kinds[number]}${step.moment === "head" ? " head" : ""}`,
      "aria-selected": number === this.at ? "true" : "false", onclick: () => this.seek(number),
    }, h("span", { class: "dot" }), h("span", { class: "number" }, number + 1), h("span", { class: "gap" }, trace.timed && trace.gap(number) >= 0.0005 ? say("gap", seconds(trace.gap(number))) : ""),
    h("span", { class: "what" }, trace.summary(number, 80)));
  }
}

class IssueList {
  constructor(trace, { seek }) {
    this.trace = trace;
    this.seek = seek;
    this.element = h("section", { class: "issues", "data-panel": "issues", "aria-live": "off" });
  }

  /** All issues, worst first; an attempt that was asked again is no error of the call. */
  get sorted() {
    const rank = (issue) => SEVERITIES.indexOf(this.severity(issue));
    return [...this.trace.issues].sort((one, other) => rank(one) - rank(other) || one.step - other.step);
  }

  severity(issue) {
    return issue.severity === "error" && this.trace.isAskedAgain(issue) ? "note" : issue.severity;
  }

  show() {
    const sorted = this.sorted;
    fill(this.element, h("h2", {}, say("issues"), " ", h("span", { class: "count" }, count(sorted.length))),
      sorted.length === 0 && h("p", { class: "quiet" }, say("issues_none")),
      longList(h("ol", {}), sorted, (issue) => h("li", {},
        h("button", { class: `issue ${this.severity(issue)}`, onclick: () => this.seek(issue.step) },
          h("span", { class: "tag" }, say(`severity_${this.severity(issue)}`)), h("b", {}, kindWords(issue.kind)),
          h("span", { class: "where" }, `${say("step")} ${count(issue.step + 1)}`),
          issue.detail && h("span", { class: "detail" }, shortened(this.trace.said(issue.step, issue.detail), 300)))), { most: 200 }));
  }
}
