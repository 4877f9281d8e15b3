// What the egress rules of a host's VMs have refused, minute by minute.
//
//   GET    /denials?since_minute=                   VmDenials. Not known to hosts of versions before it

import { Type, type Static } from "typebox";

const closed = { additionalProperties: false } as const;
const Natural = Type.Integer({ minimum: 0 });

/** How long a host remembers them. It forgets them when its process ends; its VMs' rules count on. */
export const DENIALS_KEPT_MINUTES = 15;
/** In one answer; VMs in which nothing was refused are not in it. */
export const VM_DENIALS_MAX = 20_000;

export const VmDenialsQuery = Type.Object({ since_minute: Natural }, closed);

export const VmDenials = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          /** Id of a VM of any life, also of one that has ended. */
          id: Type.String({ maxLength: 64 }),
          /** Since 1970, by the host's clock. */
          minute: Natural,
          packets: Natural,
        },
        closed,
      ),
      { maxItems: VM_DENIALS_MAX },
    ),
  },
  closed,
);
export type VmDenials = Static<typeof VmDenials>;
