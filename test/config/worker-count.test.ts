// How many cores the process may use, by affinity mask and control groups of both versions.
import { describe, expect, test } from "bun:test";
import { usableCores } from "../../src/config/worker-count.ts";

const cores = (count: number, cgroup: string | null, files: Readonly<Record<string, string>>): number =>
  usableCores({ cores: count, cgroup, readLimit: (path) => files[path] ?? null });

describe("[d13.1] one worker for each core that the gateway may use", () => {
  test("without a quota that is what the affinity mask says, up to 64", () => {
    expect(cores(8, null, {})).toBe(8);
    expect(cores(8, "0::/\n", { "/cpu.max": "max 100000\n" })).toBe(8);
    expect(cores(128, null, {})).toBe(64);
  });

  test("a quota counts, rounded up, and at least one worker remains", () => {
    expect(cores(8, "0::/\n", { "/cpu.max": "250000 100000\n" })).toBe(3);
    expect(cores(8, "0::/\n", { "/cpu.max": "10000 100000\n" })).toBe(1);
    expect(cores(2, "0::/\n", { "/cpu.max": "800000 100000\n" })).toBe(2);
  });

  test("the least of the groups that the process is in counts", () => {
    const files = { "/a/cpu.max": "200000 100000", "/a/b/cpu.max": "400000 100000" };
    expect(cores(8, "0::/a/b\n", files)).toBe(2);
    expect(cores(8, "0::/a/b/c\n", files)).toBe(2);
  });

  test("the first version of control groups has the quota and its period in two files", () => {
    const files = {
      "/cpu,cpuacct/docker/1/cpu.cfs_quota_us": "150000",
      "/cpu,cpuacct/docker/1/cpu.cfs_period_us": "100000",
    };
    expect(cores(8, "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n", files)).toBe(2);
    expect(
      cores(8, "5:cpu,cpuacct:/\n", {
        "/cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "/cpu,cpuacct/cpu.cfs_period_us": "100000",
      }),
    ).toBe(8);
  });
});
