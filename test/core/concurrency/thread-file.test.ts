// Files of threads are found beside the file that starts them, and inside a single executable.
import { expect, test } from "bun:test";
import { threadFile } from "../../../src/core/concurrency/thread-file.ts";

test("the file of a thread is found beside the file that starts it", () =>
  expect(
    threadFile("file:///app/src/observe/integrations/integrations.ts", "observe/integrations/integration-worker.ts")
      .href,
  ).toBe("file:///app/src/observe/integrations/integration-worker.ts"));
test("in a single executable the file of a thread is found below its root, where all files are one", () => {
  expect(threadFile("file:///$bunfs/root/dragoman", "observe/integrations/integration-worker.ts").href).toBe(
    "file:///$bunfs/root/observe/integrations/integration-worker.ts",
  );
  expect(threadFile("file:///B:/~BUN/root/dragoman.exe", "observe/integrations/integration-worker.ts").href).toBe(
    "file:///B:/~BUN/root/observe/integrations/integration-worker.ts",
  );
});
