// The version of the package.
import manifest from "../../package.json" with { type: "json" };

export const VERSION: string = manifest.version;

/** With what the `user-agent` of the command line begins. */
export const CLI_AGENT = "dragoman-cli/";
