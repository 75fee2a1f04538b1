// Values of options, which are refused before anything is asked of a gateway.
import { expect, test } from "bun:test";
import { Command, CommanderError } from "commander";
import { addAdminCommands } from "../../src/cli/admin/commands.ts";
import { addWebhookCommands } from "../../src/cli/gateway-commands.ts";

test("how long the old secret of a webhook signs too is a number, and never the default in place of a wrong word", async () => {
  for (const word of ["soon", "", "-1", "Infinity", "60m"]) {
    const program = new Command("dragoman");
    addAdminCommands(program);
    addWebhookCommands(program, () => {});
    const said: string[] = [];
    const silent = (command: Command): void => {
      command.exitOverride().configureOutput({ writeErr: (text) => void said.push(text) });
      for (const one of command.commands) silent(one);
    };
    silent(program);
    const run = program.parseAsync(["webhook", "rotate", "w", `--overlap-minutes=${word}`], { from: "user" });
    expect([word, await run.catch((thrown: unknown) => thrown)]).toEqual([word, expect.any(CommanderError)]);
    expect(said.join("")).toContain("expected a number of 0 or more");
  }
});
