import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { memberOperations } from "./member-operations.ts";
import { changeRole, listMembersOf, memberAddition, removeMember } from "./members.ts";

export const memberRoutes = routes(memberOperations, (context) => ({
  listMembers: (request) => listMembersOf(context, callerOf(request), request.query),
  addMember: (request) => memberAddition(context, callerOf(request), request.body),
  updateMember: (request) =>
    changeRole(context, callerOf(request), { userId: request.params.user_id, role: request.body.role }),
  removeMember: (request) => removeMember(context, callerOf(request), request.params.user_id),
}));
