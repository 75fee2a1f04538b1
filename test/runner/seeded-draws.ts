// Loaded before the tests of each process: what fast-check draws follows from the seed of the run, which the run prints.
import fc from "fast-check";
import { runSeed } from "../harness/time/chance.ts";

fc.configureGlobal({ seed: runSeed });
