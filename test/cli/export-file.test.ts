// The file into which the command line writes what the gateway exports.
import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeExport } from "../../src/cli/admin/export-file.ts";
import { messageOf } from "../../src/core/thrown.ts";

const streamOf = (parts: readonly string[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });

test("has all parts one after the other, is its owner's only, and replaces no file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "export-"));
  try {
    const file = join(folder, "audit.jsonl");
    const parts = ["a longer line\n", "é\n", "x".repeat(200_000), "\nend\n"];
    await writeExport(streamOf(parts), { out: file });
    expect(readFileSync(file, "utf8")).toBe(parts.join(""));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const refused = await writeExport(streamOf(["other"]), { out: file }).then(
      () => "",
      (thrown: unknown) => messageOf(thrown),
    );
    expect(refused).toContain("An existing file is not replaced");
    expect(readFileSync(file, "utf8")).toBe(parts.join(""));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("is not there after an export that broke off, and is written by the next one", async () => {
  const folder = mkdtempSync(join(tmpdir(), "export-"));
  try {
    const file = join(folder, "usage.csv");
    let parts = 0;
    const broken = new ReadableStream<Uint8Array>({
      pull(controller) {
        parts += 1;
        if (parts === 1) controller.enqueue(new TextEncoder().encode("BillingPeriod,Cost\n"));
        else controller.error(new Error("the gateway ended the connection"));
      },
    });
    const refused = await writeExport(broken, { out: file }).then(
      () => "",
      (thrown: unknown) => messageOf(thrown),
    );
    expect(refused).toContain("broke off");
    expect(refused).toContain("the gateway ended the connection");
    expect(existsSync(file)).toBe(false);
    await writeExport(streamOf(["whole\n"]), { out: file });
    expect(readFileSync(file, "utf8")).toBe("whole\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
