// Removes a stop sequence that the server leaves at the end of its text, because OpenAI's answers do not contain it. No
// sequence is empty.

export function withoutStop(text: string, stops: readonly string[]): string {
  const stop = stops.find((word) => text.endsWith(word));
  return stop === undefined ? text : text.slice(0, -stop.length);
}

export type StopTrimmer = ReturnType<typeof stopTrimmer>;

export function stopTrimmer(stops: readonly string[]) {
  const longest = stops.reduce((most, { length }) => Math.max(most, length), 0);
  let held = "";
  return {
    /** Returns the text that can be emitted: all but an end that may be the start of a stop sequence. */
    push(text: string): string {
      const all = held + text;
      const from = Math.max(0, all.length - longest);
      let at = all.length;
      for (let start = from; start < all.length && at === all.length; start++)
        if (stops.some((word) => word.startsWith(all.slice(start)))) at = start;
      held = all.slice(at);
      return all.slice(0, at);
    },
    /** Returns what was held back, without the stop sequence that ended the answer. */
    end(stopped: boolean): string {
      const rest = stopped ? withoutStop(held, stops) : held;
      held = "";
      return rest;
    },
  };
}
