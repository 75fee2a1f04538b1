// The drivers of limits, through the one suite.
import { openMemoryLimits } from "../../src/admission/memory.ts";
import { systemClock } from "../../src/core/clock.ts";
import { limitStoreSuite } from "./limit-store.suite.ts";

limitStoreSuite("memory", () => openMemoryLimits({ clock: systemClock }));
