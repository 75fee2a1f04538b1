// Single writes on a store, each a change of its own by the command line; and the life of tokens in the same way.
import {
  createToken as create,
  type IssuedToken,
  revokeToken as revoke,
  rotateToken as rotate,
  type RotationOptions,
  type TokenRequest,
} from "../../src/auth/tokens/token-admin.ts";
import type { AccessToken } from "../../src/core/identity.ts";
import type { TokenCaps } from "../../src/store/database/identity-fields.ts";
import { type Actor, LOCAL_ACTOR } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import type { Writer } from "../../src/store/writer.ts";

type Writes = Pick<
  Writer,
  | "createTenant"
  | "changeTenant"
  | "removeTenant"
  | "createProject"
  | "changeProject"
  | "removeProject"
  | "createUser"
  | "changeUser"
  | "removeUser"
  | "putMembership"
  | "removeMembership"
  | "createToken"
  | "changeToken"
  | "removeToken"
  | "createResource"
  | "changeResource"
  | "removeResource"
  | "rollBack"
  | "keepAnswer"
  | "createView"
> & { setTokenCaps(tenantId: string, caps: TokenCaps): Promise<unknown> };

export function writes(store: Pick<Store, "change">, actor: Actor = LOCAL_ACTOR): Writes {
  const run = async <T>(work: (writer: Writer) => Promise<T>): Promise<T> => (await store.change(actor, work)).result;
  return {
    createTenant: (tenant) => run((writer) => writer.createTenant(tenant)),
    changeTenant: (...change) => run((writer) => writer.changeTenant(...change)),
    removeTenant: (...what) => run((writer) => writer.removeTenant(...what)),
    createProject: (project) => run((writer) => writer.createProject(project)),
    changeProject: (...change) => run((writer) => writer.changeProject(...change)),
    removeProject: (...what) => run((writer) => writer.removeProject(...what)),
    createUser: (user) => run((writer) => writer.createUser(user)),
    changeUser: (...change) => run((writer) => writer.changeUser(...change)),
    removeUser: (...what) => run((writer) => writer.removeUser(...what)),
    putMembership: (...what) => run((writer) => writer.putMembership(...what)),
    removeMembership: (...what) => run((writer) => writer.removeMembership(...what)),
    createToken: (token) => run((writer) => writer.createToken(token)),
    changeToken: (...change) => run((writer) => writer.changeToken(...change)),
    removeToken: (...what) => run((writer) => writer.removeToken(...what)),
    createResource: (resource) => run((writer) => writer.createResource(resource)),
    changeResource: (...change) => run((writer) => writer.changeResource(...change)),
    removeResource: (...what) => run((writer) => writer.removeResource(...what)),
    rollBack: (...what) => run((writer) => writer.rollBack(...what)),
    keepAnswer: (answer) => run((writer) => writer.keepAnswer(answer)),
    createView: (view) => run((writer) => writer.createView(view)),
    setTokenCaps: (tenantId, tokenCaps) =>
      run((writer) => writer.changeTenant(tenantId, (tenant) => ({ ...tenant, tokenCaps }))),
  };
}

export async function createToken(store: Store, request: TokenRequest, nowMs: number): Promise<IssuedToken> {
  return (await store.change(LOCAL_ACTOR, (writer) => create(writer, request, nowMs))).result;
}
export async function rotateToken(
  store: Store,
  tokenId: string,
  options: RotationOptions,
  nowMs: number,
): Promise<IssuedToken> {
  return (await store.change(LOCAL_ACTOR, (writer) => rotate(writer, tokenId, options, nowMs))).result;
}
export async function revokeToken(store: Store, tokenId: string, nowMs: number): Promise<AccessToken> {
  return (await store.change(LOCAL_ACTOR, (writer) => revoke(writer, tokenId, nowMs))).result;
}
