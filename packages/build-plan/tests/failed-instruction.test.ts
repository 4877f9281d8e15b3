import { expect, test } from "vitest";
import { failedInstruction } from "../src/plan/failed-instruction.ts";

const STAGES = `ARG A=1
FROM base AS one

RUN first \\
  with more
FROM base
# said
COPY --from=one a <<EOF /b/
c
EOF
RUN <<EOF
make
EOF
`;
const GROUPS = "ARG A\nFROM base\nARG B\n\nRUN a\nCOPY b .\nLABEL c=d\nRUN e\n";

test.each([
  [STAGES, 0, "[1/2] STEP 1/2: FROM base AS one", "FROM base AS one (Dockerfile, line 2)"],
  [STAGES, 0, "[1/2] STEP 2/2: RUN first   with more", "RUN first \\ … (Dockerfile, line 4)"],
  [STAGES, 0, "[2/2] STEP 2/4: COPY --from=one a /b/", "COPY --from=one a <<EOF /b/ … (Dockerfile, line 8)"],
  [
    STAGES,
    0,
    "[2/2] STEP 3/4: COPY --from=skerry-documents 4/EOF /b/",
    "COPY --from=one a <<EOF /b/ … (Dockerfile, line 8)",
  ],
  [STAGES, 0, "[2/2] STEP 4/4: RUN /bin/sh -c make", "RUN <<EOF … (Dockerfile, line 11)"],
  [GROUPS, 0, "STEP 3/3: RUN a", "RUN a (Dockerfile, line 5)"],
  [GROUPS, 1, "STEP 3/4: COPY b .", "COPY b . (Dockerfile, line 6)"],
  [GROUPS, 1, "STEP 5/5: RUN e", "RUN e (Dockerfile, line 8)"],
  // A line that is no instruction of the file is named as it was printed.
  [GROUPS, 1, "STEP 9/9: RUN e", "RUN e"],
  [GROUPS, 1, "STEP 3/4: EVIL", "EVIL"],
  [undefined, 0, "STEP 2/2: RUN e", "RUN e"],
  [GROUPS, 1, "make: *** [all] Error 1", undefined],
  [GROUPS, 1, undefined, undefined],
])("the instruction of %j in step %s is known by %j", (text, group, said, named) => {
  const request = { from: "base", dockerfile: text === undefined ? {} : { text } };
  expect(failedInstruction({ request, group, said })).toBe(named);
  expect(failedInstruction({ request: {}, group, said })).toBeUndefined();
});
