// Every place of the console that changes something shows the change as a command and as a request too. A new dialog without one fails here.
import { expect, test } from "bun:test";
import { projectFolder } from "../harness/processes/gateway-program.ts";
import { readTree } from "../architecture/source-tree.ts";

/** What sends and is shown elsewhere, or is no change of anything. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "console/src/configured/use-draft.ts": "keeps what is typed, at each pause",
  "console/src/configured/use-check.ts": "checks what is typed, at each pause",
  "console/src/components/explained-plan.tsx": "is shown where the request is written",
  "console/src/screens/play/use-run.ts": "is shown where the request is written",
  "console/src/screens/people/role-choice.tsx": "is shown by the tables in whose rows it is",
  "console/src/api/api.ts": "sends what others give it",
  "console/src/session/login.tsx": "is the console's own, and no operation",
  "console/src/session/session.tsx": "is the console's own, and no operation",
  "console/src/api/use-write.ts": "sends what others give it",
};
const CHANGES =
  /\bask(<\w+>)?\(|\bsend(<[\w<>]+>)?\(\s*("(POST|PUT|PATCH|DELETE)"|method\b)|\bopen\("POST"|useWrite\(\)/;

test("[d14.1] every file of the console that sends a change shows it as a command", () => {
  const changing = readTree(projectFolder, ["console/src/**/*.{ts,tsx}"]).filter(({ text }) => CHANGES.test(text));
  expect(changing.length).toBeGreaterThan(20);
  const silent = changing.filter(({ text }) => !/<(Actions)?AsCode\b/.test(text)).map(({ path }) => path);
  expect(silent.toSorted()).toEqual(Object.keys(ELSEWHERE).toSorted());
});
