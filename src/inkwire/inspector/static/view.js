"use strict";
// One recording on the page: its trace, the step that is shown, and the panels that show it.

class View {
  constructor(name, app, compact) {
    this.trace = new Trace(name);
    this.at = 0;
    const seek = (number) => app.seek(this, number);
    this.timeline = new TimelineView(this.trace, { seek });
    this.panels = new Panels(this.trace, { compact });
    this.list = compact ? null : new StepList(this.trace, { seek });
    this.issues = new IssueList(this.trace, { seek });
    this.head = h("div", { class: "position" });
    this.verdict = h("span", { class: "verdict-line" });
    this.difference = h("span", { class: "tag" });
  }

  show(number) {
    this.at = Math.max(0, Math.min(number, this.trace.length - 1));
    if (this.trace.length === 0) return;
    const step = this.trace.steps[this.at];
    const about = [say(`moment_${step.moment}`), this.trace.timed && seconds(this.trace.times[this.at])];
    if (this.trace.calls.length > 1) about.unshift(say("call_number", step.call));
    if ((this.trace.calls.find((call) => call.number === step.call)?.attempts ?? 1) > 1) about.push(say("attempt", step.attempt));
    fill(this.head, h("b", { class: "where" }, say("step_of", count(this.at + 1), count(this.trace.length))), h("span", {}, about.filter(Boolean).join(" · ")),
      h("span", { class: "what" }, this.trace.summary(this.at, 70)));
    this.timeline.move(this.at);
    this.list?.move(this.at);
    this.panels.show(this.at);
  }

  grown() {
    this.list?.update();
    this.issues.show();
    this.showVerdict();
    this.timeline.drawn = -1;
  }

  showVerdict() {
    const { trace } = this;
    const last = trace.calls.at(-1);
    const step = last?.end === null || last === undefined ? null : trace.steps[last.end];
    if (step === null) fill(this.verdict, say("verdict_none"));
    else if (step.error) fill(this.verdict, step.error.class);
    else if (step.message) {
      const calls = step.message.parts.filter((part) => part.type === "tool_call");
      const runs = calls.filter((call) => call.executable).length;
      fill(this.verdict, `message_end ${step.message.stop_reason}`, calls.length > 0 && ` · ${say("executable", runs, calls.length)}`);
    } else fill(this.verdict, say(step.moment === "cancelled" ? "verdict_cancelled" : "verdict_unknown"));
    const isGood = step?.message && step.message.parts.every((part) => part.type !== "tool_call" || part.executable);
    this.verdict.className = `verdict-line ${step === null ? "" : isGood ? "good" : "bad"}`;
  }
}
