import { test, expect } from "bun:test";
import { openAdminWorld } from "./harness/admin.ts";
test("x", async () => {
  const w = await openAdminWorld();
  const t0 = performance.now();
  const r = await w.send(null, "GET", "/api/v1/openapi.json");
  console.log(r.status, performance.now()-t0, r.text.length);
  await Bun.write("/tmp/adm/openapi.json", r.text);
  console.log(Object.keys(r.body.paths).length, Object.keys(r.body.components.schemas).join(" "));
  const k = await w.send("site-only.maintainer", "GET", "/v1/key"); console.log(k.text);
  const k2 = await w.send("acme.owner", "POST", "/api/v1/admin/projects/site/policies", {name: "p", rule: "request.model =="}); console.log(k2.text);
  const k3 = await w.send("acme.owner", "POST", "/api/v1/admin/projects/site/policies", {name: "p", rule: "request.stream"}); console.log(k3.text);
  await w.close();
});
