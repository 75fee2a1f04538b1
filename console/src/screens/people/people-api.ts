// What the screens of users, roles and sessions ask for.
/** All that a place has, in one page. */
export const PAGE = "?limit=1000";
export const TENANT_ROLES = ["viewer", "developer", "maintainer", "admin", "owner"];
export const PROJECT_ROLES = ["viewer", "developer", "maintainer"];
