// What several commands have: their options, what the values of those may be, and how a command is added, found and run.
import { type Command, InvalidArgumentError, Option } from "commander";
import { readEnvironment } from "../config/environment.ts";

/** Sets the exit code of the program. */
export type SetCode = (code: number) => void;

export const json = () => new Option("--json", "print JSON");
export const config = () =>
  new Option("--config <file>", "configuration file (default: DRAGOMAN_CONFIG, or dragoman.yaml in this folder)");
export const data = () => new Option("--data <folder>", "data folder (default: DRAGOMAN_DATA, or ./data)");

/** Adds a command that asks a gateway. `words` are its name and its arguments, such as `get <id>`. */
export function gatewayCommand(parent: Command, words: string, description: string): Command {
  return gatewayOptions(parent.command(words).description(description));
}

export function gatewayOptions(command: Command): Command {
  return command
    .option("--url <address>", "address of the gateway (default: DRAGOMAN_URL, or http://127.0.0.1:4100)")
    .option("--token <token>", "access token (default: DRAGOMAN_TOKEN)")
    .addOption(json());
}

/** The same for a command on what a tenant has. */
export function tenantCommand(parent: Command, words: string, description: string): Command {
  return gatewayCommand(parent, words, description).option("--tenant <id>", "tenant (default: default)");
}

/** The same for a command on what a tenant or one of its projects has. */
export function placedCommand(parent: Command, words: string, description: string): Command {
  return tenantCommand(parent, words, description).option("--project <id>", "project, instead of the tenant");
}

/** Adds a command that works on the database itself. */
export function databaseCommand(parent: Command, words: string, description: string): Command {
  return parent.command(words).description(description).addOption(data()).addOption(config()).addOption(json());
}

type Work = (...given: readonly never[]) => unknown;

/**
 * An action that calls the function of this name, in a file that is loaded only then, with the arguments, the options and
 * the environment. With `setCode`, the function returns the exit code.
 */
export function runs<Name extends string>(
  load: () => Promise<Readonly<Record<Name, Work>>>,
  name: Name,
  setCode?: SetCode,
): (...given: readonly unknown[]) => Promise<void> {
  return async (...given) => {
    const work = (await load())[name] as (...sent: readonly unknown[]) => unknown;
    // the last of what is given is the command itself
    const code = await work(...given.slice(0, -1), readEnvironment());
    setCode?.(code as number);
  };
}

/** Throws InvalidArgumentError. */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError("expected a number above 0");
  return value;
}

/** Throws InvalidArgumentError. */
export function numberFromZero(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!(value >= 0) || !Number.isFinite(value)) throw new InvalidArgumentError("expected a number of 0 or more");
  return value;
}

/** Returns the command of this name, which is there already. */
export function commandOf(program: Command, name: string): Command {
  return program.commands.find((command) => command.name() === name)!;
}
